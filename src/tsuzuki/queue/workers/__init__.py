"""The processes that work, as they say of themselves (R125)."""
