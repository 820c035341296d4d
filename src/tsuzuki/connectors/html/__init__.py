"""Markup from outside, made harmless: absolute addresses, real images, no trackers, an allow-list. Pure."""
