"""Search: what a person typed, what it finds, and how a hit is shown."""
