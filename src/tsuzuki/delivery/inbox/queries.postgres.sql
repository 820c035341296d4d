-- fragment: by_unread
entry

-- fragment: by_unread_published
entry
