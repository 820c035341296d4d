-- fragment: by_unread
entry
