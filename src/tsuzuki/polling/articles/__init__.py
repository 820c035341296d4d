"""The whole texts of items whose feeds show only a beginning: fetched when asked for, kept once for everyone."""
