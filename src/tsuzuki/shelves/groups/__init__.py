"""Groups: how a reader sorts what is followed."""
