-- fragment: by_unread
entry

-- fragment: by_unread_published
entry

-- fragment: by_saved
entry

-- fragment: first_page
item.page_urls ->> 0
