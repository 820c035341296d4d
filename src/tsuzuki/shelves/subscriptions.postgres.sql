-- fragment: name_has_part
-- By bytes: to lower all letters that there are takes twice as long, and what is not ASCII is taken anyway.
strpos(lower((feed.title || ' ' || feed.link || ' ' || subscription.name) collate "C"), :part) > 0
