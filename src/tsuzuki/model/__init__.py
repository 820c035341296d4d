"""The nouns that areas share, and the errors. Pure: nothing here touches a clock, a file or a socket."""
