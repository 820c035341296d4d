"""Where files are kept that every process must see: a folder, or a store that speaks S3."""
