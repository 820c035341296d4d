"""A series over all its sources, as the reader of a shelf sees it."""
