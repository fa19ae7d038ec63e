//! The author's lines, and the waits of futures at them.

use std::fmt;
use std::panic::Location;

/// A line of the author's.
pub(crate) type Site = &'static Location<'static>;

/// The wait of a future.
#[derive(Clone, Copy)]
pub(crate) enum Awaited {
    /// Something of a kind, with a name or without, and the line that asks for it.
    Thing(&'static str, &'static str, Site),
    /// The end of a task.
    Task(u64),
    /// Nothing that the author asked for.
    Hidden,
}

impl Awaited {
    /// Something without a name, at the line of the caller.
    #[track_caller]
    pub(crate) fn here(kind: &'static str) -> Self {
        Awaited::Thing(kind, "", Location::caller())
    }
}

/// "activity charge at src/lib.rs:12".
pub(crate) fn thing_at(kind: &str, name: &str, site: Site) -> String {
    match name {
        "" => format!("{kind} at {}", Line(site)),
        name => format!("{kind} {name} at {}", Line(site)),
    }
}

/// A line as it is shown: the file with the folder it is in.
pub(crate) struct Line(pub(crate) Site);

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", short(self.0.file()), self.0.line())
    }
}

/// The last two parts of a path.
fn short(file: &str) -> &str {
    let mut slashes = file.rmatch_indices(['/', '\\']);
    match slashes.nth(1) {
        Some((at, _)) => &file[at + 1..],
        None => file,
    }
}
