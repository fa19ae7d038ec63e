//! The log of a test: its standard output.

use std::cell::RefCell;

use crate::timestamp::Timestamp;

thread_local! {
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
}

/// How long one record is at most, in bytes.
const MAX_RECORD: usize = 64 << 10;

/// What a record costs besides its text.
const RECORD_COST: usize = 16;

/// What runs now.
struct Current {
    /// Its virtual time.
    now: Timestamp,
    execution: String,
    /// How much more it may log, in bytes.
    left: usize,
}

impl Current {
    /// What a host keeps of a record; none if it drops it.
    fn admit<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let mut end = text.len().min(MAX_RECORD);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let cost = end + RECORD_COST;
        let fits = cost <= self.left;
        self.left = self.left.saturating_sub(cost);
        fits.then(|| &text[..end])
    }
}

/// Assigns log records to an execution until it is dropped.
pub(crate) struct Scope(Option<Current>);

/// The records of a turn of a workflow, or of an operation of an entity.
pub(crate) fn scope(now: Timestamp, execution: &str) -> Scope {
    limited(now, execution, 256 << 10)
}

/// The records of an attempt of an activity.
pub(crate) fn attempt_scope(now: Timestamp, execution: &str) -> Scope {
    limited(now, execution, 1 << 20)
}

fn limited(now: Timestamp, execution: &str, left: usize) -> Scope {
    let execution = execution.to_owned();
    Scope(CURRENT.replace(Some(Current {
        now,
        execution,
        left,
    })))
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
    CURRENT.with_borrow_mut(|current| {
        let Some(current) = current else { return };
        if let Some(text) = current.admit(text) {
            println!("{} {name} {}: {text}", current.now, current.execution);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_cut_and_not_too_many() {
        let mut current = Current {
            now: Timestamp::UNIX_EPOCH,
            execution: String::new(),
            left: 256 << 10,
        };
        let long = "ä".repeat(MAX_RECORD);
        for _ in 0..3 {
            assert_eq!(current.admit(&long).map(str::len), Some(MAX_RECORD));
        }
        assert_eq!(current.admit(&long), None);
        assert_eq!(current.admit("short"), None, "the rest is dropped");
    }
}
