"""Programs for developers; the Makefile names them."""
