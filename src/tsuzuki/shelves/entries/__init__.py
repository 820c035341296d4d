"""Entries: what came into a shelf's inbox, read or not, saved or not."""
