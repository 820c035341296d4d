"""Breakers of series, which close when their source answers anybody (R99)."""
