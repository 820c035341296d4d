"""Views of a shelf as feeds at secret addresses, and the hub that tells subscribers of what is new in them."""
