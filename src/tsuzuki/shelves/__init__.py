"""What a reader reads from: shelves, groups, subscriptions, follows, entries, bookmarks, progress, search."""
