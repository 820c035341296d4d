"""What other servers tell of a reader: asked once, with the address and the password that the reader gives."""
