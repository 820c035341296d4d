"""Pages of those who pay."""
