-- What many follow is delivered in portions, in the order of the shelves (docs/decisions/0091-delivery-in-portions.md).
drop index subscription_feed;
create index subscription_feed on subscription (feed_id, shelf_id);
drop index follow_series;
create index follow_series on follow (series_id, shelf_id);
