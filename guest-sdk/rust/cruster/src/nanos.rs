//! Durations as the ABI has them: nanoseconds in an i64.

use std::time::Duration;

/// A duration in nanoseconds; the longest that fits if it does not.
pub(crate) const fn nanos(d: Duration) -> u64 {
    let n = d.as_nanos();
    if n > u64::MAX as u128 {
        u64::MAX
    } else {
        n as u64
    }
}

/// Nanoseconds in the form of the wire.
pub(crate) fn clamp(nanos: u64) -> i64 {
    i64::try_from(nanos).unwrap_or(i64::MAX)
}
