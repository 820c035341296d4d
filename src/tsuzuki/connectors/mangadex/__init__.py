"""MangaDex by its public API."""
