"""Subscriptions: the feeds of a shelf. The feed behind one is shared by all who follow it (R70)."""
