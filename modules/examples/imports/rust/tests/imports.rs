//! Runs the import and its children without a host.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use cruster::prelude::*;
use cruster::testing::{Rows, Test};
use cruster::{Value, err};
use imports_rust::{FileRequest, Import, ImportRequest, ImportResult, MODULE, Part};

/// The rows that were stored, as they are printed.
type Stored = Rc<RefCell<Vec<String>>>;

fn setup() -> (Test, Stored) {
    let stored = Stored::default();
    let table = stored.clone();
    let test = Test::new(&MODULE).sql(move |_: &str, params: &[Value]| {
        table.borrow_mut().push(format!("{params:?}"));
        Ok(Rows::affected(1))
    });
    (test, stored)
}

fn request(files: impl IntoIterator<Item = String>) -> ImportRequest {
    ImportRequest {
        batch: "b".to_owned(),
        files: files.into_iter().collect(),
        ..ImportRequest::default()
    }
}

fn failed<const N: usize>(files: [(&str, &str); N]) -> BTreeMap<String, String> {
    files
        .map(|(file, why)| (file.to_owned(), why.to_owned()))
        .into()
}

/// Two of fifty children fail; the others are there.
#[test]
fn some_children_fail() {
    let (test, stored) = setup();
    let files = (0..48).map(|n| format!("file-{n:02}"));
    let broken = ["broken-1", "broken-2"].map(str::to_owned);
    let run = test.run::<Import>(request(files.chain(broken)));
    let want = ImportResult {
        rows: 144,
        failed: failed([
            ("broken-1", "broken-1 cannot be read"),
            ("broken-2", "broken-2 cannot be read"),
        ]),
    };
    assert_eq!(run.result.unwrap(), want);
    let stored = stored.borrow();
    assert_eq!(stored.len(), 144);
    assert_eq!(stored.iter().collect::<BTreeSet<_>>().len(), 144);
    run.history.replay().unwrap();
}

/// A part that cannot be stored is tried again; at last its file fails, and no other.
#[test]
fn parts_are_tried_again() {
    let test = Test::new(&MODULE).stub("store", |activity, part: Part| {
        match part.file.file.as_str() {
            "full" => Err(err!("full", "there is no room")),
            "slow" if activity.attempt() < 4 => Err(err!("busy", "not now")),
            _ => Ok(true),
        }
    });
    let files = ["slow", "full", "fine"].map(str::to_owned);
    let run = test.run::<Import>(request(files));
    let want = ImportResult {
        rows: 6,
        failed: failed([("full", "there is no room")]),
    };
    assert_eq!(run.result.unwrap(), want);
}

#[test]
fn at_most_so_many_at_once() {
    let second = Duration::from_secs(1);
    let test = Test::new(&MODULE)
        .takes("open", second)
        .stub("open", |_, _: FileRequest| Ok(0_i64));
    let mut request = request((0..10).map(|n| n.to_string()));
    request.at_once = 4;
    let run = test.run::<Import>(request);
    assert_eq!(run.result.unwrap(), ImportResult::default());
    assert_eq!(run.history.duration(), 3 * second);
}

#[test]
fn no_files_are_no_rows() {
    let run = Test::new(&MODULE).run::<Import>(request([]));
    assert_eq!(run.result.unwrap(), ImportResult::default());
}
