"""Imports a reader's data from other servers: read once, with the address and the password that the reader gives."""
