"""Pages for administrators: how the server fares, and what can be done about it."""
