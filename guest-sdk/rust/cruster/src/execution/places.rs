//! The author's lines: where tasks begin, their waits and where they wait. They are shown when a
//! workflow hangs.

use std::fmt;
use std::panic::Location;

use super::{ContextCore, Shared, Wait};
use crate::where_it_is;

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

/// How many tasks a report lists, and how many things one waits for.
const MAX_TASKS: usize = 20;
const MAX_THINGS: usize = 4;

impl ContextCore {
    /// The running task begins to wait for something.
    pub(crate) fn reached(&self, awaited: Awaited) {
        self.0.reached(self.0.running.get(), awaited);
    }
}

impl Shared {
    /// A task begins to wait for something, or does not wait for it any more. Only waits with a
    /// line count.
    pub(super) fn reached(&self, task: u64, awaited: Awaited) {
        if !matches!(awaited, Awaited::Thing(..)) {
            return;
        }
        if let Some(task) = self.tasks.borrow().get(task) {
            task.last.set(Some(awaited));
        }
        if task == self.running.get() {
            where_it_is::at(awaited);
        }
    }

    /// For each task where it began, its wait and where it waits.
    pub(crate) fn waits_of_tasks(&self) -> Vec<String> {
        let tasks = self.tasks.borrow();
        let listed = tasks.iter().take(MAX_TASKS);
        let mut lines: Vec<String> = listed
            .map(|(id, task)| {
                let began = match (id, task.began) {
                    (0, _) => "the workflow itself".to_owned(),
                    (_, Some(site)) => format!("begun at {}", Line(site)),
                    (_, None) => "begun for an update".to_owned(),
                };
                format!("task {id}, {began}, waits for {}", self.things_of(id))
            })
            .collect();
        let rest = tasks.iter().count().saturating_sub(MAX_TASKS);
        if rest > 0 {
            lines.push(format!("and {rest} more"));
        }
        lines
    }

    /// The wait of a task.
    fn things_of(&self, task: u64) -> String {
        let waits = self.waits.borrow();
        let own = |wait: &&Wait| wait.task == task && !matches!(wait.awaited, Awaited::Hidden);
        let all: Vec<&Wait> = waits.iter().map(|(_, wait)| wait).filter(own).collect();
        let mut things: Vec<String> = all
            .iter()
            .take(MAX_THINGS)
            .map(|wait| self.thing(wait.awaited))
            .collect();
        match all.len() {
            0 => return self.foreign(task),
            n if n > MAX_THINGS => things.push(format!("{} more", n - MAX_THINGS)),
            _ => {}
        }
        things.join(" or ")
    }

    /// A future that the SDK knows nothing of, and the nearest known place: the last durable call
    /// of the task, or where the workflow begins.
    fn foreign(&self, task: u64) -> String {
        let tasks = self.tasks.borrow();
        let known = tasks.get(task).map(|task| (task.last.get(), task.began));
        let near = match known {
            Some((Some(last), _)) => format!(", after {}", self.thing(last)),
            Some((None, Some(site))) if task == 0 => format!(", after its start at {}", Line(site)),
            _ => String::new(),
        };
        format!("a future that is not the SDK's{near}")
    }

    fn thing(&self, awaited: Awaited) -> String {
        match awaited {
            Awaited::Thing(kind, name, site) => thing_at(kind, name, site),
            Awaited::Task(id) => match self.tasks.borrow().get(id).and_then(|task| task.began) {
                Some(site) => format!("task {id}, begun at {}", Line(site)),
                None => format!("task {id}"),
            },
            Awaited::Hidden => String::new(),
        }
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
struct Line(Site);

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
