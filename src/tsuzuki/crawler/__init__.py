"""Crawl jobs: recorded runs over a source, their logs, and how each source fares."""
