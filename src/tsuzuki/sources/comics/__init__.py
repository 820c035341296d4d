"""Comics and where each source has them: made, found, mapped, watched."""
