-- fragment: by_unread
entry

-- fragment: by_saved
entry
