"""How the server fares: figures of each minute, the pulse of each source, and what is stored."""
