"""What is stored already gets sealed: secrets from before there was a key, or from another one (R123)."""
