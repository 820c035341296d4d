-- fragment: all_entries
former_follow.entries || other.entries

-- fragment: as_values
cast(value ->> 'notify' as boolean), cast(value ->> 'preferences' as jsonb)
