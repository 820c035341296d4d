"""Backups of Mihon and its relatives (.tachibk), in and out."""
