"""Images for readers: pages, covers and pictures of articles; audio and video; downloaded chapters."""
