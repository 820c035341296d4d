-- fragment: item_json
cast(value ->> 'categories' as jsonb), cast(value ->> 'enclosures' as jsonb), cast(value ->> 'page_urls' as jsonb)
