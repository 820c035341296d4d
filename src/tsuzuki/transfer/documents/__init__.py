"""Files of other programs that are read at once. Pure; run in a parser process."""
