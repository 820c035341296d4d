"""What came into a shelf's inbox, newest first."""
