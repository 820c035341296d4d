"""The library: what a shelf follows of series, and what was read last."""
