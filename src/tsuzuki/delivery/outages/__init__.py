"""Sources that broke and healed, and that each is told once."""
