//! Runs the table of tests/conformance on the test kit of the Rust SDK: the kit behaves as a host
//! does. `table/kits.json` lists the cases that a kit cannot run.

mod case;
mod database;
mod history;
mod messages;
mod value;

use std::panic::{AssertUnwindSafe, catch_unwind};

use case::Case;

#[test]
fn the_kit_does_what_a_host_does() {
    let cases = case::for_kit();
    assert!(cases.len() >= 200, "{} cases", cases.len());
    let failed: Vec<&str> = cases
        .iter()
        .filter(|case| catch_unwind(AssertUnwindSafe(|| case.check())).is_err())
        .map(|case| case.name.as_str())
        .collect();
    assert!(
        failed.is_empty(),
        "{} cases failed: {failed:#?}",
        failed.len()
    );
}

/// Fails with the name of the case.
#[track_caller]
fn expect(case: &Case, ok: bool, what: impl std::fmt::Display) {
    assert!(ok, "case {:?}: {what}", case.name);
}
