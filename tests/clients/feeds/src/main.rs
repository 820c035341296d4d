//! feeds PROTOCOL BASE NAME PASSWORD FEED: does with a running server what an app does, and prints what it saw.
//!
//! Each line is a word and its values; `seen` has the number of an entry, in the order in which it came. Whoever called
//! compares them with what the server has. FEED is the address of a feed that nobody follows yet.

use std::fmt::Debug;

use greader_api::models::*;
use greader_api::*;
use miniflux_api::models::{EntryFilter, EntryStatus, FeedModification, OrderBy, OrderDirection};
use reqwest::Client;
use url::Url;

const READ: &str = "user/-/state/com.google/read";
const STARRED: &str = "user/-/state/com.google/starred";
const LIST: &str = "user/-/state/com.google/reading-list";

fn must<T, E: Debug>(what: &str, result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => {
            println!("failed {what} {error:?}");
            std::process::exit(1);
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let said: Vec<String> = std::env::args().collect();
    let [_, protocol, base, name, password, feed] = &said[..] else {
        panic!("feeds PROTOCOL BASE NAME PASSWORD FEED");
    };
    let client = Client::new();
    let feed = Url::parse(feed).expect("the address of a feed");
    match protocol.as_str() {
        "fever" => fever(Url::parse(&format!("{base}/fever/")).unwrap(), name, password, &client).await,
        "greader" => greader(Url::parse(&format!("{base}/api/greader.php/")).unwrap(), name, password, &feed, &client).await,
        "miniflux" => miniflux(Url::parse(&format!("{base}/miniflux/")).unwrap(), password, &feed, &client).await,
        other => panic!("no such protocol: {other}"),
    }
    println!("done");
}

async fn fever(url: Url, name: &str, password: &str, client: &Client) {
    use fever_api::models::ItemStatus;
    let api = fever_api::FeverApi::new(&url, name, password);
    println!("valid {}", must("credentials", api.valid_credentials(client).await));
    println!("groups {}", must("groups", api.get_groups(client).await).groups.len());
    println!("feeds {}", must("feeds", api.get_feeds(client).await).feeds.len());
    println!("favicons {}", must("favicons", api.get_favicons(client).await).favicons.len());
    must("links", api.get_links(client).await);
    let mut last = 0;
    let mut seen = Vec::new();
    loop {
        let page = must("items", api.get_items_since(last, client).await).items;
        if page.is_empty() {
            break;
        }
        for item in &page {
            println!("seen {}", item.id);
            seen.push(item.id);
        }
        last = page[page.len() - 1].id;
    }
    println!("unread {}", must("unread", api.get_unread_items(client).await).unread_item_ids.len());
    for id in &seen[..10] {
        must("read", api.mark_item(ItemStatus::Read, *id, client).await);
    }
    must("saved", api.mark_item(ItemStatus::Saved, seen[10], client).await);
    must("saved", api.mark_item(ItemStatus::Saved, seen[10], client).await);
    println!("saved {:?}", must("saved", api.get_saved_items(client).await).saved_item_ids);
    println!("unread {}", must("unread", api.get_unread_items(client).await).unread_item_ids.len());
    let with = must("with", api.get_items_with(seen[..20].to_vec(), client).await);
    println!("with {}", with.items.len());
    must("unread", api.mark_item(ItemStatus::Unread, seen[0], client).await);
    let left = must("unread", api.get_unread_items(client).await).unread_item_ids;
    println!("marked {}", seen[..10].iter().filter(|id| !left.contains(id)).count());
    let before = chrono::Utc::now().timestamp() - 2;
    must("all", api.mark_group(ItemStatus::Read, 0, before, client).await);
    println!("all {}", before * 1000 + 999);
    println!("unread {}", must("unread", api.get_unread_items(client).await).unread_item_ids.len());
}

async fn greader(url: Url, name: &str, password: &str, feed: &Url, client: &Client) {
    let api = GReaderApi::new(url, AuthData::Uninitialized);
    let input = AuthInput::Google(GoogleAuthInput { username: name.into(), password: password.into() });
    must("login", api.login(&input, client).await);
    println!("valid {}", must("user", api.user_info(client).await).user_name == name);
    println!("groups {}", must("tags", api.tag_list(client).await).tags.len());
    println!("feeds {}", must("feeds", api.subscription_list(client).await).subscriptions.len());
    must("counts", api.unread_count(client).await);
    let mut continuation: Option<String> = None;
    let mut seen: Vec<String> = Vec::new();
    loop {
        let query = StreamQuery {
            stream_id: Some(LIST),
            amount: Some(500),
            reverse_order: true,
            continuation: continuation.as_deref(),
            ..Default::default()
        };
        let page = must("ids", api.items_ids(&query, client).await);
        for item in page.item_refs.unwrap_or_default() {
            println!("seen {}", item.id);
            seen.push(item.id);
        }
        continuation = page.continuation;
        if continuation.is_none() {
            break;
        }
    }
    let some: Vec<&str> = seen[..150].iter().map(String::as_str).collect();
    println!("with {}", must("contents", api.items_contents(&some, client).await).items.len());
    let unread = StreamQuery { stream_id: Some(LIST), exclude_stream: Some(READ), amount: Some(50_000), ..Default::default() };
    println!("unread {}", must("unread", api.items_ids(&unread, client).await).item_refs.unwrap_or_default().len());
    must("read", api.tag_edit(&some[..10], &[READ], &[], client).await);
    must("saved", api.tag_edit(&some[10..11], &[STARRED], &[], client).await);
    must("saved", api.tag_edit(&some[10..11], &[STARRED], &[], client).await);
    let saved = StreamQuery { stream_id: Some(STARRED), amount: Some(100), ..Default::default() };
    let kept = must("saved", api.stream_contents(&saved, client).await);
    println!("saved {}", kept.items.len());
    println!("unread {}", must("unread", api.items_ids(&unread, client).await).item_refs.unwrap_or_default().len());
    must("unread", api.tag_edit(&some[..1], &[], &[READ], client).await);
    let left = must("unread", api.items_ids(&unread, client).await).item_refs.unwrap_or_default();
    println!("marked {}", some[..10].iter().filter(|id| !left.iter().any(|one| one.id == **id)).count());
    let before = chrono::Utc::now() - chrono::Duration::seconds(2);
    must("all", api.mark_all_as_read(LIST, Some(before), client).await);
    println!("all {}", before.timestamp_millis());
    println!("unread {}", must("unread", api.items_ids(&unread, client).await).item_refs.unwrap_or_default().len());
    let added = must("quickadd", api.subscription_quickadd(feed, client).await);
    println!("added {}", added.stream_id);
    let label = "user/-/label/From an app";
    must("move", api.subscription_edit(&added.stream_id, Some("Renamed"), None, Some(label), client).await);
    let listed = must("feeds", api.subscription_list(client).await).subscriptions;
    let mine: Vec<&Feed> = listed.iter().filter(|one| one.id == added.stream_id).collect();
    println!("moved {} {}", mine[0].title, mine[0].categories[0].label);
    must("rename", api.tag_rename(StreamType::Stream, label, "user/-/label/Other", client).await);
    must("delete", api.tag_delete(StreamType::Stream, "user/-/label/Other", client).await);
    println!("exported {}", must("export", api.export(client).await).contains("Renamed"));
    must("import", api.import("<opml version=\"2.0\"><body/></opml>", client).await);
    must("unsubscribe", api.subscription_delete(&added.stream_id, client).await);
    println!("feeds {}", must("feeds", api.subscription_list(client).await).subscriptions.len());
}

async fn miniflux(url: Url, password: &str, feed: &Url, client: &Client) {
    let api = must("token", miniflux_api::MinifluxApi::new_from_token(&url, password.to_string()));
    must("me", api.get_current_user(client).await);
    must("version", api.get_version(client).await);
    must("health", api.healthcheck(client).await);
    println!("valid true");
    let categories = must("categories", api.get_categories(client).await);
    println!("groups {}", categories.len());
    println!("feeds {}", must("feeds", api.get_feeds(client).await).len());
    must("counters", api.get_feed_counters(client).await);
    let mut seen = Vec::new();
    let mut filter = EntryFilter::default();
    filter.order = Some(OrderBy::ID);
    filter.direction = Some(OrderDirection::Asc);
    filter.limit = Some(500);
    loop {
        let page = must("entries", api.get_entries(&filter, client).await);
        if page.is_empty() {
            break;
        }
        for entry in &page {
            println!("seen {}", serial(&entry.id));
            seen.push(entry.id);
        }
        filter.after_entry_id = Some(page[page.len() - 1].id);
    }
    let mut unread = EntryFilter::default();
    unread.status = Some(EntryStatus::Unread);
    unread.limit = Some(1);
    println!("unread {}", must("unread", api.get_entry_batch(&unread, client).await).total);
    must("read", api.update_entries_status(seen[..10].to_vec(), EntryStatus::Read, client).await);
    must("saved", api.update_entries_starred(vec![seen[10]], true, client).await);
    must("saved", api.update_entries_starred(vec![seen[10]], true, client).await);
    println!("unread {}", must("unread", api.get_entry_batch(&unread, client).await).total);
    println!("saved {}", must("entry", api.get_entry(seen[10], client).await).starred);
    must("unread", api.update_entries_status(seen[..1].to_vec(), EntryStatus::Unread, client).await);
    let mut read = 0;
    for id in &seen[..10] {
        let status = must("entry", api.get_entry(*id, client).await).status;
        read += usize::from(status == EntryStatus::Read);
    }
    println!("marked {read}");
    for category in &categories {
        must("all", api.mark_category_as_read(category.id, client).await);
    }
    println!("unread {}", must("unread", api.get_entry_batch(&unread, client).await).total);
    println!("all {}", chrono::Utc::now().timestamp_millis());
    let made = must("category", api.create_category("From an app", client).await);
    let added = must("subscribe", api.create_feed(feed, categories[0].id, client).await);
    let changes = FeedModification { title: Some("Renamed".into()), category_id: Some(made.id), ..Default::default() };
    let changed = must("rename", api.update_feed(added, &changes, client).await);
    println!("moved {} {}", changed.title, changed.category.title);
    println!("exported {}", must("export", api.export_opml(client).await).contains("Renamed"));
    must("import", api.import_opml("<opml version=\"2.0\"><body/></opml>", client).await);
    must("unsubscribe", api.delete_feed(added, client).await);
    must("category", api.update_category(made.id, "Other", client).await);
    must("category", api.delete_category(made.id, client).await);
    println!("feeds {}", must("feeds", api.get_feeds(client).await).len());
}

fn serial<T: Debug>(id: &T) -> String {
    format!("{id:?}").chars().filter(char::is_ascii_digit).collect()
}
