"""Import from ReedMe and Fusion."""
