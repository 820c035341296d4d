"""A series: its chapters, its sources, and how it is followed."""
