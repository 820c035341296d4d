"""The words of items that no index has: after a database was copied."""
