"""A folder of CBZ files and image folders as a source."""
