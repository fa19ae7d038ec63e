//! Where log records of tests go: to the output of the test.

use std::cell::RefCell;

use crate::timestamp::Timestamp;

thread_local! {
    /// Who runs now, and at which virtual time.
    static CURRENT: RefCell<Option<(Timestamp, String)>> = const { RefCell::new(None) };
}

/// Marks what is logged until it is dropped as that of an execution.
pub(crate) struct Scope(Option<(Timestamp, String)>);

pub(crate) fn scope(now: Timestamp, execution: &str) -> Scope {
    Scope(CURRENT.replace(Some((now, execution.to_owned()))))
}

impl Drop for Scope {
    fn drop(&mut self) {
        CURRENT.replace(self.0.take());
    }
}

/// Writes one record.
pub(crate) fn write(level: i32, text: &str) {
    let name = match level {
        8.. => "ERROR",
        4.. => "WARN",
        0.. => "INFO",
        _ => "DEBUG",
    };
    CURRENT.with_borrow(|current| {
        if let Some((now, execution)) = current {
            println!("{now} {name} {execution}: {text}");
        }
    });
}
