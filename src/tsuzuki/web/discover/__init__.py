"""Finding something to follow: by its address, or in a source's catalogue."""
