"""Notices on their way out: what is to be told, to whom, through which channel."""
