//! Ends a test whose code does not come back.
//!
//! A host stops a turn that does not end, and an attempt at its timeout. In a test the author's
//! code runs on the test's own thread, which cannot be stopped from outside: the test would hang
//! until someone ends the process, without a word about where. So one thread watches all tests of
//! the process. If something takes longer than it may, it says so in the words of a host, and ends
//! the process; the other tests end with it.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::codes;
use crate::testing::pending::Pending;
use crate::testing::words::{duration, quoted};
use crate::where_it_is::{self, Place, here};
use crate::wire::Fault;

/// How long a turn may take unless the test says otherwise, in real time.
pub(super) const TURN_LIMIT: Duration = Duration::from_secs(10);

/// How often the watching thread looks.
const LOOKS: Duration = Duration::from_millis(100);

/// The exit status of a test process that has failed, as `cargo test` knows it.
const FAILED: i32 = 101;

/// Something that must come back. Dropping it says that it has.
pub(super) struct Watched(u64);

struct Entry {
    until: Instant,
    /// The name of the test.
    test: String,
    what: What,
    place: Arc<Place>,
}

enum What {
    Turn {
        pending: Pending,
    },
    /// A key function, or the answer to a query.
    Other(String),
    Operation(String),
    Late(String),
}

static ENTRIES: Mutex<BTreeMap<u64, Entry>> = Mutex::new(BTreeMap::new());

/// A turn of a workflow begins on this thread, while these ops are pending.
pub(super) fn turn(limit: Duration, pending: Pending) -> Watched {
    where_it_is::runs(0, None); // earlier code here is another's
    watch(limit, What::Turn { pending })
}

/// Something else that must not wait begins on this thread.
pub(super) fn other(what: String, limit: Duration) -> Watched {
    watch(limit, What::Other(what))
}

/// An operation of an entity with a state begins on this thread.
pub(super) fn operation(name: &str, limit: Duration) -> Watched {
    watch(limit, What::Operation(quoted(name, usize::MAX)))
}

/// An attempt of an activity, or a call of an entity without a state, begins on this thread. It has a timeout, and
/// is not ended for that before other code would be.
pub(super) fn attempt(what: &str, timeout: Duration, limit: Duration) -> Watched {
    let late = format!("{what} took longer than {}", duration(timeout));
    watch(timeout.max(limit), What::Late(late))
}

fn watch(limit: Duration, what: What) -> Watched {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    static WATCHING: Once = Once::new();
    let number = NUMBERS.fetch_add(1, Relaxed);
    let Some(until) = Instant::now().checked_add(limit) else {
        return Watched(number); // it may take for ever
    };
    let entry = Entry {
        until,
        test: thread::current().name().unwrap_or("a test").to_owned(),
        what,
        place: here(),
    };
    entries().insert(number, entry);
    WATCHING.call_once(|| drop(thread::spawn(look)));
    Watched(number)
}

impl Drop for Watched {
    fn drop(&mut self) {
        entries().remove(&self.0);
    }
}

fn entries() -> MutexGuard<'static, BTreeMap<u64, Entry>> {
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All limits have passed.
static PASSED: AtomicBool = AtomicBool::new(false);

/// Lets all limits pass now, for the kit's own tests. The clock of a turn does not tell the time.
#[doc(hidden)]
pub fn pass_limits() {
    PASSED.store(true, Relaxed);
}

/// Looks for code that has not returned, for as long as there are tests.
fn look() {
    loop {
        thread::sleep(LOOKS);
        let now = Instant::now();
        let is_late = |entry: &&Entry| PASSED.load(Relaxed) || entry.until < now;
        if let Some(late) = entries().values().find(is_late) {
            let fault = late.fault();
            // Not eprintln!, whose text would be kept for the end of a test.
            let _ = writeln!(
                std::io::stderr(),
                "\n{}: {}: {}\nhint: {}{}\nThe process of the tests ends here: what does not come back cannot be stopped. \
                 Test::turn_limit sets for how long it is waited for.",
                late.test,
                fault.code,
                fault.message,
                fault.hint,
                late.what.more_to_look_for(),
            );
            std::process::exit(FAILED);
        }
    }
}

impl What {
    /// Advice that the hint of a host lacks: there a lock that is taken twice is a crash.
    fn more_to_look_for(&self) -> &'static str {
        match self {
            What::Late(_) => "",
            _ => " Look for a lock of the standard library that is taken twice, too.",
        }
    }
}

impl Entry {
    fn fault(&self) -> Box<Fault> {
        match &self.what {
            What::Turn { pending } => codes::GUEST_TIMEOUT.fault(format!(
                "the module did not return from its turn before its deadline ({}){pending}",
                self.place.words()
            )),
            What::Other(what) => codes::GUEST_TIMEOUT.fault(format!(
                "{what}: the module did not return before its deadline"
            )),
            What::Operation(name) => codes::OPERATION_CRASHED.fault(format!(
                "operation {name}: the module did not return from its turn before its deadline"
            )),
            What::Late(message) => codes::ACTIVITY_TIMEOUT.fault(message.as_str()),
        }
    }
}
