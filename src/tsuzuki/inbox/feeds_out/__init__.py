"""Views of a shelf as feeds at secret addresses, and the hub that pushes what is new to subscribers."""
