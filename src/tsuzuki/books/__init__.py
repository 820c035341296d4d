"""Chapters and articles as files: CBZ and EPUB, for a download, a reader app, or a folder."""
