"""One pure module per kind of source. A connector asks; it never fetches."""
