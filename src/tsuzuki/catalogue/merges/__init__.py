"""Two series that are one work made one, and one that is two made two, without losing what anybody read (I9)."""
