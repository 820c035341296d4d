"""Images: fetched through `net`, verified, kept on disk by their content, served."""
