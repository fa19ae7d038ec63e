//! How long the transaction of an attempt is open.
//!
//! A host rolls back a transaction open for too long. A test does so when the attempt uses it the
//! next time: no one else waits for it. The time is real, as the code of an attempt sees it.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::codes;
use crate::testing::words::duration;
use crate::wire::Fault;

/// How long it may be open unless the test says otherwise, in real time: as on the embedded store.
pub(super) const LIMIT: Duration = Duration::from_secs(2);

/// The transaction of one attempt, if it has begun.
#[derive(Default)]
pub(super) struct Open(Cell<State>);

#[derive(Clone, Copy, Default)]
enum State {
    /// No statement has begun it.
    #[default]
    Not,
    Since(Instant),
    /// It was rolled back after its limit.
    Over,
}

impl Open {
    /// Whether the attempt has begun a transaction, and has not ended it itself.
    pub(super) fn is_begun(&self) -> bool {
        !matches!(self.0.get(), State::Not)
    }

    pub(super) fn begin(&self, now: Instant) {
        self.0.set(State::Since(now));
    }

    /// Refuses to go on with a transaction that is open for too long, after a rollback.
    pub(super) fn check(
        &self,
        now: Instant,
        limit: Duration,
        rollback: impl FnOnce(),
    ) -> Result<(), Box<Fault>> {
        match self.0.get() {
            State::Since(began) if now.duration_since(began) >= limit => {
                self.0.set(State::Over);
                rollback();
            }
            State::Over => {}
            _ => return Ok(()),
        }
        let message = format!(
            "the transaction was open for longer than {}",
            duration(limit)
        );
        Err(codes::TX_TOO_LONG.fault(message))
    }

    /// Ends it; returns whether there is something to commit or to roll back.
    pub(super) fn end(&self) -> bool {
        matches!(self.0.take(), State::Since(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_is_over_after_its_limit() {
        let began = Instant::now();
        let rollbacks = Cell::new(0);
        let open = Open::default();
        let check = |after: Duration| {
            let rollback = || rollbacks.set(rollbacks.get() + 1);
            open.check(began + after, LIMIT, rollback)
        };
        assert!(check(LIMIT).is_ok() && !open.is_begun());
        open.begin(began);
        assert!(check(LIMIT - Duration::from_nanos(1)).is_ok() && open.is_begun());
        for after in [LIMIT, LIMIT * 2, Duration::ZERO] {
            let fault = check(after).unwrap_err();
            assert_eq!(fault.code, "CR-3103");
            assert_eq!(fault.message, "the transaction was open for longer than 2s");
            assert!(fault.retryable && open.is_begun());
        }
        assert_eq!(rollbacks.get(), 1);
        assert!(!open.end());
        open.begin(began + LIMIT);
        assert!(check(LIMIT * 2 - Duration::from_nanos(1)).is_ok());
        assert!(open.end() && !open.is_begun());
        assert_eq!(rollbacks.get(), 1);
    }
}
