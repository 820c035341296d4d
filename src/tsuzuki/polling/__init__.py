"""When to call a source, and calling it."""
