//! comics PROTOCOL BASE PAIR SERIES: does with a running server what a comic app does, and prints what it saw.
//!
//! Each line is a word and its values. Whoever called compares them with what the server has. PAIR is what HTTP Basic
//! sends for name and password; SERIES is the id of a series with chapters. For `opds`, PAIR is NAME:PASSWORD and SERIES
//! the title.

use std::fmt::Debug;

mod komga;
mod opds;

pub fn must<T, E: Debug>(what: &str, result: Result<T, E>) -> T {
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
    let [_, protocol, base, pair, series] = &said[..] else {
        panic!("comics PROTOCOL BASE PAIR SERIES");
    };
    match protocol.as_str() {
        "komga" => komga::run(base, pair, series).await,
        "opds" => opds::run(base, pair, series).await,
        other => panic!("no such protocol: {other}"),
    }
    println!("done");
}
