"""Bookmarks: snapshots that outlive the item, its feed and its source."""
