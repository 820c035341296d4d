"""Crawl jobs in the stream of events."""
