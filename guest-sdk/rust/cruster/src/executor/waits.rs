//! Deadlocks, and the wait of each task, as they are shown when a workflow hangs.

use super::context_core::{Shared, Wait};
use crate::awaited::{Awaited, Line, thing_at};

/// How many tasks a report lists, and how many things one waits for.
const MAX_TASKS: usize = 20;
const MAX_THINGS: usize = 4;

impl Shared {
    /// Whether the workflow is in a deadlock: it waits, but for no op that is open, and
    /// no task waits for an interrupt, and no handler waits for an update. An interrupt would end the waits for tasks, but the
    /// tasks themselves would stay stuck, and the deadlock would go unnoticed.
    pub(crate) fn stuck(&self) -> bool {
        self.outcome.borrow().is_none()
            && !self.updating.waits()
            && self
                .ops
                .borrow()
                .iter()
                .all(|(_, op)| op.result.is_some() || op.wait == 0)
            && !self.waits.borrow().iter().any(|(_, wait)| wait.watch)
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
