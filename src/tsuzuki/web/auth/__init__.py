"""The ways in and out: the first visit, signing in and out, an invitation. One module per page."""
