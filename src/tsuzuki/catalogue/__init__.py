"""Browse any source: lists, details, chapters and pages, answered from the database while they are fresh."""
