"""Search over all that a shelf has."""
