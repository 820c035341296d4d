-- name: get_preferences
-- inline: by primary key, at every page
select preferences from user_account where id = :id;

-- name: set_preferences
update user_account set preferences = :preferences, updated_at = :now where id = :id;
