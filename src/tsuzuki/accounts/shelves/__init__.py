"""Shelves as people have them: made with each account, shared with named others, deleted with their last owner."""
