"""Storage for files that every process must see: a folder, or an S3 store."""
