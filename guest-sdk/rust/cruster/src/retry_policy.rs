//! Retry policies of activities.

use std::time::Duration;

use crate::nanos::{clamp, nanos};
use crate::wire;

/// The policy after a failed attempt of an activity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryPolicy {
    /// How many attempts may follow the first.
    pub retries: u32,
    /// The delays between them; the host's default if there is none.
    pub backoff: Option<Backoff>,
    /// The largest fraction, 0 to 1, by which a delay is shortened at random.
    pub jitter: f64,
}

impl RetryPolicy {
    /// One attempt.
    pub const NONE: RetryPolicy = RetryPolicy {
        retries: 0,
        backoff: None,
        jitter: 0.0,
    };

    pub(crate) fn to_wire(self) -> wire::Retry {
        let (backoff, base) = match self.backoff {
            None => ("", 0),
            Some(Backoff {
                exponential: true,
                base,
            }) => ("exponential", base),
            Some(Backoff {
                exponential: false,
                base,
            }) => ("constant", base),
        };
        wire::Retry {
            backoff: backoff.to_owned(),
            base: clamp(base),
            jitter: self.jitter,
            retries: self.retries,
        }
    }
}

/// The delays between the attempts of an activity. None is longer than a
/// minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    exponential: bool,
    /// In nanoseconds; 0 leaves it to the host: one second.
    base: u64,
}

impl Backoff {
    /// Waits `base` before the first retry and twice as long before each further
    /// one.
    pub const fn exponential(base: Duration) -> Self {
        Backoff {
            exponential: true,
            base: nanos(base),
        }
    }

    /// Waits `delay` before each retry.
    pub const fn constant(delay: Duration) -> Self {
        Backoff {
            exponential: false,
            base: nanos(delay),
        }
    }

    /// For macros: the base in nanoseconds, 0 if it was not given.
    #[doc(hidden)]
    pub const fn __of(exponential: bool, base: u64) -> Self {
        Backoff { exponential, base }
    }
}
