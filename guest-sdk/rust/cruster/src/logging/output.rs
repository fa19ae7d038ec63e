//! The log of a test: its standard output.

use std::cell::RefCell;

use crate::timestamp::Timestamp;

thread_local! {
    /// The execution that runs now, and its virtual time.
    static CURRENT: RefCell<Option<(Timestamp, String)>> = const { RefCell::new(None) };
}

/// Assigns log records to an execution until it is dropped.
pub(crate) struct Scope(Option<(Timestamp, String)>);

pub(crate) fn scope(now: Timestamp, execution: &str) -> Scope {
    Scope(CURRENT.replace(Some((now, execution.to_owned()))))
}

/// Drops log records until it is dropped itself.
pub(crate) fn silence() -> Scope {
    Scope(CURRENT.take())
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
