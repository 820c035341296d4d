"""Definitions that come with Tsuzuki: data, not code."""
