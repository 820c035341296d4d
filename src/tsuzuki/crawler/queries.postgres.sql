-- fragment: as_json
cast(value ->> 'meta' as jsonb)
