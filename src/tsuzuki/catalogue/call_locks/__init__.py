"""Who calls a source for a cold key, among all processes that share a database (R102)."""
