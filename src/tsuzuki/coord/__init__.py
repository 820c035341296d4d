"""What more than one process needs to agree on: pace, wake-ups, caches. In memory, or through Redis."""
