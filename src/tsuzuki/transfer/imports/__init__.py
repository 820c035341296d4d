"""Imports of files from anywhere: recognised, shown before anything is written, imported, and undone."""
