-- fragment: bytes
bytea
