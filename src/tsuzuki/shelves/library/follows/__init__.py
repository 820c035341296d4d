"""Follows: the series of a shelf."""
