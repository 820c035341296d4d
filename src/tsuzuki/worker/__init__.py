"""Loops only: what is done in them stands in the areas."""
