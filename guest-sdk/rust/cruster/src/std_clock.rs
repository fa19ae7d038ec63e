//! The clock of the standard library in tests, with the feature `std-clock`.
//!
//! On a host `SystemTime::now()` and `Instant::now()` of a workflow are journal time: the sandbox
//! says so. A test has no sandbox, and the standard library asks the C library for the time. The
//! linker does not take functions that a program defines from a shared library, so this module
//! defines the one function that the standard library calls. While a workflow takes a turn, it
//! answers its thread with the time of that turn; everyone else gets the kernel's time, as without
//! it.
//!
//! It is a feature, and for tests, because a library that replaces a function of the C library
//! should be asked to.

use std::cell::Cell;
use std::ffi::{c_int, c_long};

use crate::timestamp::Timestamp;

thread_local! {
    /// The time of the turn that this thread takes.
    static NOW: Cell<Option<Timestamp>> = const { Cell::new(None) };
}

/// A turn of a workflow. The clock stands still until it is dropped.
pub(crate) struct Turn(Option<Timestamp>);

pub(crate) fn turn(now: Timestamp) -> Turn {
    Turn(NOW.replace(Some(now)))
}

impl Drop for Turn {
    fn drop(&mut self) {
        NOW.set(self.0);
    }
}

/// `struct timespec`, which is the same on all 64-bit kernels.
#[repr(C)]
struct Timespec {
    seconds: i64,
    nanos: c_long,
}

/// The clocks of `SystemTime` and `Instant`.
const CLOCK_REALTIME: c_int = 0;
const CLOCK_MONOTONIC: c_int = 1;

#[cfg(target_arch = "x86_64")]
const SYS_CLOCK_GETTIME: c_long = 228;
#[cfg(not(target_arch = "x86_64"))]
const SYS_CLOCK_GETTIME: c_long = 113;

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
}

/// Reads a clock, as POSIX says.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int {
    let is_ours = matches!(clock, CLOCK_REALTIME | CLOCK_MONOTONIC);
    match NOW.try_with(Cell::get) {
        Ok(Some(now)) if is_ours && !time.is_null() => {
            let nanos = now.unix_nanos();
            let read = Timespec {
                seconds: nanos.div_euclid(1_000_000_000),
                nanos: nanos.rem_euclid(1_000_000_000) as c_long,
            };
            // SAFETY: the caller hands over a place for one.
            unsafe { time.write(read) };
            0
        }
        // SAFETY: the kernel checks its arguments.
        _ => unsafe { syscall(SYS_CLOCK_GETTIME, c_long::from(clock), time) as c_int },
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant, SystemTime};

    use super::*;

    #[test]
    fn a_turn_has_a_time_of_its_own() {
        let real = SystemTime::now();
        let then = Timestamp::from_unix_nanos(1_893_456_000_000_000_007);
        let outer = turn(then);
        let began = Instant::now();
        assert_eq!(Timestamp::from(SystemTime::now()), then);
        {
            let _inner = turn(then + Duration::from_secs(5));
            assert_eq!(began.elapsed(), Duration::from_secs(5));
            let elsewhere = std::thread::spawn(SystemTime::now).join().unwrap();
            assert!(elsewhere >= real && Timestamp::from(elsewhere) < then);
        }
        assert_eq!(Timestamp::from(SystemTime::now()), then);
        drop(outer);
        assert!(Timestamp::from(SystemTime::now()) < then);
    }
}
