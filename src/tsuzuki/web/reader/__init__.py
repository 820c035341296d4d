"""Reading a chapter."""
