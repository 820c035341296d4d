"""The inbox: everything new, of every kind, in one list."""
