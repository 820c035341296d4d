"""Images for readers: pages, covers and the pictures of articles; sounds and films; downloaded chapters."""
