"""How often a sign-in may fail."""
