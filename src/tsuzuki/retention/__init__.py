"""What is removed when it is old: articles that were read, crawl jobs, the audit log."""
