"""Sounds and films of articles, passed on to the page that plays them. Nothing of them is stored."""
