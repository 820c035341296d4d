-- fragment: these
-- In their order: see the same fragment of the inbox.
= any (array(select cast(value as bigint) from json_each(cast(:ids as text))))
