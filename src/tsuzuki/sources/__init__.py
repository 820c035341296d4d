"""Sources, series, feeds, and the watches on them."""
