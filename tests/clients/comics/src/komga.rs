//! Komga's API, as the crate made of its OpenAPI document calls it: every answer must have all that it requires.

use ::komga::apis::configuration::Configuration;
use ::komga::apis::{
    book_controller_api as books, library_controller_api as libraries, referential_controller_api as names,
    series_collection_controller_api as collections, series_controller_api as series, user_controller_api as users,
};
use ::komga::models::{ReadProgressUpdateDto, TachiyomiReadProgressUpdateV2Dto};
use reqwest011::header::HeaderMap;

use crate::must;

const SIZE: i32 = 7;

pub async fn run(base: &str, pair: &str, id: &str) {
    let mut api = Configuration::new();
    api.base_path = format!("{base}/komga");
    let mut headers = HeaderMap::new();
    headers.insert("Authorization", format!("Basic {pair}").parse().unwrap());
    api.client = reqwest011::Client::builder().default_headers(headers).build().unwrap();
    println!("me {}", must("me", users::get_me(&api).await).email);
    println!("libraries {}", must("libraries", libraries::get_all2(&api).await).len());
    println!("genres {}", must("genres", names::get_genres(&api, None, None).await).len());
    println!("authors {}", must("authors", names::get_authors_v1(&api, None, None, None, None).await).len());
    list(&api).await;
    read(&api, id).await;
}

/// Every series, page by page.
async fn list(api: &Configuration) {
    let sort = Some(vec!["metadata.titleSort,asc".to_string()]);
    for page in 0.. {
        let found = must(
            "series",
            series::get_all_series(
                api, None, None, None, None, None, None, None, None, None, None, None, None, Some(false), None, None, None,
                None, Some(page), Some(SIZE), sort.clone(), None,
            )
            .await,
        );
        for one in found.content.unwrap_or_default() {
            println!("seen {}", one.id);
        }
        if found.last.unwrap_or(true) {
            break;
        }
    }
    let held = must("collections", collections::get_all4(api, None, None, Some(true), None, None).await);
    println!("collections {}", held.content.unwrap_or_default().len());
    let deck = must("on deck", books::get_books_on_deck(api, None, None, None).await);
    println!("deck {}", deck.content.unwrap_or_default().len());
    let latest = must("latest", books::get_latest_books(api, Some(true), None, None).await);
    println!("latest {}", latest.content.unwrap_or_default().len());
}

/// One series, as a tracker and as a reader.
async fn read(api: &Configuration, id: &str) {
    println!("title {}", must("one", series::get_one_series(api, id).await).name);
    let found = must(
        "books",
        series::get_all_books_by_series(api, id, None, None, None, Some(false), Some(true), None, None, None, None).await,
    );
    let found = found.content.unwrap_or_default();
    for book in &found {
        println!("book {} {}", book.id, book.metadata.number_sort);
    }
    let upto = TachiyomiReadProgressUpdateV2Dto::new(found[1].metadata.number_sort);
    must("track", series::mark_read_progress_tachiyomi_v2(api, id, upto).await);
    let last = &found[found.len() - 1].id;
    let page = ReadProgressUpdateDto { page: Some(2), completed: None };
    must("page", books::mark_read_progress(api, last, page).await);
    let book = must("book", books::get_one_book(api, last).await);
    println!("page {}", book.read_progress.expect("it was begun").page);
    let told = must("progress", series::get_read_progress_tachiyomi_v2(api, id).await);
    println!("counts {} {} {}", told.books_read_count, told.books_in_progress_count, told.books_unread_count);
    println!("reached {}", told.last_read_continuous_number_sort);
    let next = must("next", books::get_book_sibling_next1(api, &found[0].id).await);
    println!("next {}", next.id);
}
