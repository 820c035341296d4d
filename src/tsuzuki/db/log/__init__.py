"""Where the rows of the crawl log are kept: months, partitions, and the archive of old ones (R52)."""
