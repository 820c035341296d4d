"""Who did what: written with the deed, never changed."""
