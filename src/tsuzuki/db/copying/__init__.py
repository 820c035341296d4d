"""Everything of a SQLite file into a PostgreSQL database: in chunks, resumable, and compared at the end."""
