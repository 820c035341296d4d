"""How a person likes their pages."""
