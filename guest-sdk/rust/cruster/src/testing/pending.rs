//! The pending ops of a run, in words.

use std::fmt;
use std::sync::Arc;

/// How many ops the message of a limit names.
pub(super) const MOST: usize = 10;

/// The first ops that are pending, and how many more there are. Another thread may put them into words.
#[derive(Default)]
pub(super) struct Pending {
    pub(super) ops: Vec<(u32, Arc<str>)>,
    pub(super) more: usize,
}

/// The part of a message about the pending ops when a limit has ended the run.
impl fmt::Display for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = "; pending: ";
        for (op, what) in &self.ops {
            write!(f, "{before}{what} (op {op})")?;
            before = ", ";
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
