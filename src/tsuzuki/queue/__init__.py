"""Tasks in the database: written with their cause, finished with their effect, taken again when their worker dies.

See docs/decisions/0007-queue-in-the-database.md.
"""
