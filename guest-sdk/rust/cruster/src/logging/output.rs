//! The log of a test: its standard output.

use std::cell::RefCell;

use crate::timestamp::Timestamp;

thread_local! {
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
}

/// How long one record is at most, in bytes.
const MAX_RECORD: usize = 64 << 10;

/// The overhead of a record besides its text.
const RECORD_COST: usize = 16;

/// The running code.
struct Current {
    /// Its virtual time.
    now: Timestamp,
    execution: String,
    /// How much more it may log, in bytes.
    left: usize,
}

impl Current {
    /// The part of a record a host keeps; none if it drops it.
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

    /// The line of a record; none if a host drops it.
    fn line(&mut self, level: i32, at: (Option<&str>, Option<u32>), text: &str) -> Option<String> {
        let text = self.admit(text)?;
        let name = match level {
            8.. => "ERROR",
            4.. => "WARN",
            0.. => "INFO",
            _ => "DEBUG",
        };
        let place = match at {
            (Some(file), Some(line)) => format!("{file}:{line}: "),
            _ => String::new(),
        };
        let Current { now, execution, .. } = self;
        Some(format!("{place}{now} {name} {execution}: {text}"))
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

/// Writes one record, which was logged at a line of a file.
pub(crate) fn write(level: i32, at: (Option<&str>, Option<u32>), text: &str) {
    CURRENT.with_borrow_mut(|current| {
        if let Some(line) = current.as_mut().and_then(|c| c.line(level, at, text)) {
            println!("{line}");
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

    #[test]
    fn a_line_begins_with_the_place_of_its_record() {
        let mut current = Current {
            now: Timestamp::UNIX_EPOCH,
            execution: "shop/Order/42".to_owned(),
            left: 256 << 10,
        };
        let mut line = |at| current.line(4, at, "charged cents=500").unwrap();
        let now = Timestamp::UNIX_EPOCH;
        assert_eq!(
            line((Some("src/lib.rs"), Some(41))),
            format!("src/lib.rs:41: {now} WARN shop/Order/42: charged cents=500")
        );
        assert_eq!(
            line((None, None)),
            format!("{now} WARN shop/Order/42: charged cents=500")
        );
    }
}
