//! Runs the crawl without a host, in virtual time.

use std::cell::RefCell;
use std::rc::Rc;

use crawl_rust::{Crawl, CrawlRequest, CrawlResult, MODULE};
use cruster::prelude::*;
use cruster::testing::{Rows, Test};
use cruster::{HttpRequest, HttpResponse, Value};

const SECOND: Duration = Duration::from_secs(1);
const MISSING: &str = "https://example.com/7";
const BUSY: &str = "https://example.com/8";

/// A test in which a page takes a second, and the pages that were noted.
fn setup() -> (Test, Rc<RefCell<Vec<Value>>>) {
    let noted = Rc::new(RefCell::new(Vec::new()));
    let table = noted.clone();
    let test = Test::new(&MODULE)
        .takes("fetch", SECOND)
        .http(|request: HttpRequest| {
            Ok(match request.url.as_str() {
                MISSING => HttpResponse::new(404, ""),
                BUSY => HttpResponse::new(503, ""),
                _ => HttpResponse::new(200, "page"),
            })
        })
        .sql(move |_: &str, params: &[Value]| {
            table.borrow_mut().push(params[1].clone());
            Ok(Rows::affected(1))
        });
    (test, noted)
}

fn urls(numbers: std::ops::Range<u32>) -> Vec<String> {
    numbers
        .map(|n| format!("https://example.com/{n}"))
        .collect()
}

/// 200 pages, ten at a time and a second each, but for a missing one; late pages
/// are named.
#[test]
fn late_pages_are_named() {
    let (test, _) = setup();
    let mut request = CrawlRequest {
        run: "r".to_owned(),
        urls: urls(0..200),
        deadline_ms: 15_500,
        ..CrawlRequest::default()
    };
    request.urls.retain(|url| url != BUSY);
    let late = request.urls[150..].to_vec();
    let run = test.run::<Crawl>(request);
    let want = CrawlResult {
        pages: 149,
        bytes: 4 * 149,
        failed: vec![MISSING.to_owned()],
        late,
    };
    assert_eq!(run.result.unwrap(), want);
    assert_eq!(run.history.duration(), Duration::from_millis(15_500));
    run.history.replay().unwrap();
}

/// A page that is not to be had is tried three times, a missing one once; the others are
/// fetched meanwhile.
#[test]
fn failed_pages_are_named() {
    let (test, noted) = setup();
    let run = test.run::<Crawl>(CrawlRequest {
        run: "r".to_owned(),
        urls: urls(5..10),
        at_once: 2,
        ..CrawlRequest::default()
    });
    let want = CrawlResult {
        pages: 3,
        bytes: 12,
        failed: vec![MISSING.to_owned(), BUSY.to_owned()],
        late: vec![],
    };
    assert_eq!(run.result.unwrap(), want);
    assert_eq!(
        run.history.duration(),
        4 * SECOND + Duration::from_millis(20)
    );
    let want = [5, 6, 9].map(|n| Value::from(format!("https://example.com/{n}")));
    assert_eq!(*noted.borrow(), want);
    run.history.replay().unwrap();
}

#[test]
fn an_interrupt_ends_it() {
    let (test, _) = setup();
    let run = test
        .interrupt_after(SECOND / 2, "enough")
        .run::<Crawl>(CrawlRequest {
            run: "r".to_owned(),
            urls: urls(0..3),
            ..CrawlRequest::default()
        });
    assert!(run.result.unwrap_err().is_interrupted());
    run.history.replay().unwrap();
}
