"""Items that no feed holds: what a merge, a move or an import brought, for the shelves that have it."""
