"""The library: series that a shelf follows, how far each chapter was read, and a series as its reader sees it."""
