"""One article, for reading."""
