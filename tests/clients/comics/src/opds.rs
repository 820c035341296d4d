//! OPDS, as the crate of a comic reader speaks it: from where a catalogue begins to the pages and the file of a chapter.

use opds_client::models::feed::Feed;
use opds_client::models::publication::Publication;
use opds_client::OpdsClient;

use crate::must;

/// PAIR is the name and the password with a colon between them, SERIES the title of a series.
pub async fn run(base: &str, pair: &str, title: &str) {
    let (name, password) = pair.split_once(':').expect("NAME:PASSWORD");
    for version in ["v1.2", "v2"] {
        let client = OpdsClient::new(format!("{base}/opds/{version}/catalog"), reqwest::Client::new())
            .with_basic_auth(name.to_string(), Some(password.to_string()));
        let root = must("catalog", client.catalog().await);
        let library = target(&root, "Library");
        let mut found = None;
        for feed in pages(&client, library).await {
            for place in feed.all_navigation() {
                println!("{version} series {}", place.title());
                if place.title() == title {
                    found = Some(place.link.href.clone());
                }
            }
        }
        read(&client, version, found.expect("the series")).await;
    }
}

fn target(feed: &Feed, title: &str) -> String {
    feed.all_navigation().find(|place| place.title() == title).expect(title).link.href.clone()
}

/// Every page of a feed.
async fn pages(client: &OpdsClient, first: String) -> Vec<Feed> {
    let mut feeds = vec![must("feed", client.feed(&first).await)];
    while let Some(link) = feeds.last().unwrap().next() {
        let href = link.href.clone();
        feeds.push(must("next", client.feed(&href).await));
    }
    feeds
}

async fn read(client: &OpdsClient, version: &str, href: String) {
    let feeds = pages(client, href).await;
    let chapters: Vec<&Publication> = feeds.iter().flat_map(|feed| feed.all_publications()).collect();
    for chapter in &chapters {
        println!("{version} chapter {}", chapter.metadata.title);
    }
    let chapter = chapters[0];
    println!("{version} count {}", chapter.page_count().unwrap_or(0));
    if let Some(stream) = chapter.page_stream() {
        for page in 0..chapter.page_count().unwrap() {
            println!("{version} page {}", must("page", client.stream_page(stream, page).await).len());
        }
    }
    if let Some(link) = chapter.manifest_link() {
        let manifest = must("manifest", client.manifest(&link.href).await);
        for page in manifest.pages() {
            println!("{version} page {}", must("page", client.bytes(&page.href).await).len());
        }
    }
    let place = std::env::temp_dir().join(format!("tsuzuki-{}-{version}.cbz", std::process::id()));
    let size = must("download", client.download(&chapter.open_access()[0].href, &place).await);
    must("remove", std::fs::remove_file(&place));
    println!("{version} file {size}");
    if let Some(cover) = chapter.cover() {
        println!("{version} cover {}", must("cover", client.bytes(&cover.href).await).len());
    }
}
