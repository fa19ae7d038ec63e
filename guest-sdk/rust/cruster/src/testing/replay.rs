//! Replays a workflow against its history.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use crate::codes;
use crate::error::{Error, Result};
use crate::execution::Execution;
use crate::host::{Call, Host};
use crate::module::{Module, Started};
use crate::testing::canonical;
use crate::testing::described;
use crate::testing::history::{Event, Happening, History, forgettable};
use crate::testing::pending::Pending;
use crate::testing::received::received;
use crate::testing::refusals::{self, OpLimits};
use crate::testing::watchdog;
use crate::timestamp::Timestamp;
use crate::wire::{Delivery, Fault, Outcome, Resume, Wire};

impl History {
    /// Checks that the workflow is deterministic: runs it again with the recorded
    /// deliveries, and fails if it does anything else than it did. Neither activities
    /// nor other workflows run. Changes of the code that the history does not know are
    /// not taken: [`patched`](crate::WorkflowContext::patched) is false for them, as for
    /// a run that is moved.
    pub fn replay(&self) -> Result<()> {
        replay(self).map_err(|difference| Error::new("not_deterministic", difference))
    }

    /// [`replay`](History::replay) on another module: does the history fit the code of
    /// that one?
    pub fn replay_on(&self, module: &'static Module) -> Result<()> {
        let mut moved = self.clone();
        moved.module = module;
        moved.replay()
    }
}

/// Runs the workflow of a history again; the error is the first difference.
fn replay(history: &History) -> Result<(), String> {
    let replayer = Replayer::new(history);
    let ended = match replayer.run() {
        Started::Over(outcome) => Some(outcome),
        Started::Workflow(execution) => execution.outcome(),
    }
    .map(received);
    replayer.conclude(ended);
    replayer.problem().map_or(Ok(()), Err)
}

/// Runs a workflow that waits once more, up to where it is; the error is the first difference.
pub(crate) fn copy(history: &History) -> Result<Execution, String> {
    let replayer = Replayer::new(history);
    let started = replayer.run();
    match (replayer.problem(), started) {
        (None, Started::Workflow(execution)) if execution.outcome().is_none() => Ok(execution),
        (Some(problem), _) => Err(problem),
        _ => Err(format!(
            "{} is not deterministic: it waits, and is over when it is run again",
            history.execution
        )),
    }
}

/// A host that performs nothing: it compares each request with the history.
struct Replayer {
    /// Without attempts that are repeated, which the workflow does not see.
    history: History,
    /// How many entries the journal has with each event.
    entries: Vec<i64>,
    next: Cell<usize>,
    ops: Cell<u32>,
    limits: OpLimits,
    now: Cell<Timestamp>,
    /// Questions about changes that the history does not know: the execution had
    /// passed that point before. They have numbers of their own.
    asked: Cell<u32>,
    unpatched: RefCell<VecDeque<u32>>,
    forgotten: Cell<u32>,
    problem: RefCell<Option<String>>,
}

/// Above the numbers of all ops of a history.
const FIRST_UNPATCHED: u32 = 1 << 31;

/// The numbers of ops that no history knows, as no one waits for them.
const FIRST_FORGOTTEN: u32 = 3 << 30;

impl Replayer {
    fn new(history: &History) -> Rc<Self> {
        let mut seen = history.clone();
        let (mut entries, mut count) = (Vec::new(), 0);
        seen.events.retain(|event| {
            let retried = matches!(event.what, Happening::Retried { .. });
            if retried || matches!(event.what, Happening::Delivered { .. }) {
                count += 1;
            }
            if !retried {
                entries.push(count);
            }
            !retried
        });
        Rc::new(Replayer {
            history: seen,
            entries,
            next: Cell::new(0),
            ops: Cell::new(0),
            limits: OpLimits::default(),
            now: Cell::new(history.start),
            asked: Cell::new(0),
            unpatched: RefCell::default(),
            forgotten: Cell::new(0),
            problem: RefCell::default(),
        })
    }

    /// Runs the workflow to the end of the history, or to the first difference.
    fn run(self: &Rc<Self>) -> Started {
        let (module, invocation) = (self.history.module, self.history.invocation());
        let watched = watchdog::turn(watchdog::TURN_LIMIT, Pending::default());
        let started = module.start(self.clone(), invocation);
        drop(watched);
        if let Started::Workflow(execution) = &started {
            while execution.outcome().is_none() {
                let Some(resume) = self.next_delivery() else {
                    break;
                };
                let _watched = watchdog::turn(watchdog::TURN_LIMIT, Pending::default());
                execution.resume(resume);
            }
        }
        started
    }

    fn problem(&self) -> Option<String> {
        self.problem.borrow_mut().take()
    }

    /// Notes the first difference. Both sides are in the same words.
    fn differ(&self, now: &str) {
        let at = self.next.get();
        let then = match self.history.events.get(at) {
            None if waited_for_ever(&self.history.outcome) => WAITS.to_owned(),
            None => described::outcome(&self.history.outcome),
            Some(Event { op, what, .. }) => match what {
                Happening::Issued { kind, body, .. } => issued(*op, kind, body),
                // It waited, or else it would have issued something.
                Happening::Delivered { .. } => WAITS.to_owned(),
                _ => self.history.events[at].to_string(),
            },
        };
        let execution = &self.history.execution;
        let before = match at.checked_sub(1) {
            None => "its start".to_owned(),
            Some(last) => format!("event {at}: {}", self.history.events[last]),
        };
        self.problem.borrow_mut().get_or_insert_with(|| {
            format!(
                "{execution} is not deterministic, after {before}\n  then: {then}\n  now:  {now}\n{HINT}"
            )
        });
    }

    fn failed(&self) -> bool {
        self.problem.borrow().is_some()
    }

    /// Passes the next event if it is as expected.
    fn expect(&self, matches: impl FnOnce(u32, &Happening) -> bool) -> Option<u32> {
        let event = self.history.events.get(self.next.get())?;
        if self.failed() || !matches(event.op, &event.what) {
            return None;
        }
        self.next.set(self.next.get() + 1);
        Some(event.op)
    }

    fn next_delivery(&self) -> Option<Resume> {
        if self.failed() {
            return None;
        }
        if let Some(op) = self.unpatched.borrow_mut().pop_front() {
            self.limits.remove(op);
            self.limits.begin_turn();
            let (error, value) = (None, Some(false.encode()));
            return Some(Resume {
                deliveries: vec![Delivery { error, op, value }],
                entries: 0,
                time: self.now.get().unix_nanos(),
            });
        }
        let at = self.next.get();
        let event = self.history.events.get(at)?;
        let Happening::Delivered { value, fault, .. } = &event.what else {
            self.differ(WAITS);
            return None;
        };
        self.next.set(at + 1);
        self.limits.remove(event.op);
        self.limits.begin_turn();
        self.now.set(event.time);
        let delivery = Delivery {
            error: fault.clone(),
            op: event.op,
            value: value.clone(),
        };
        Some(Resume {
            deliveries: vec![delivery],
            entries: self.entries[at],
            time: event.time.unix_nanos(),
        })
    }

    fn conclude(&self, ended: Option<Outcome>) {
        let then = &self.history.outcome;
        match ended {
            _ if self.failed() => {}
            None if waited_for_ever(then) => {}
            None => self.differ(WAITS),
            Some(now) if self.next.get() < self.history.events.len() => {
                self.differ(&described::outcome(&now));
            }
            Some(now) if !same_outcome(&now, then) => self.differ(&described::outcome(&now)),
            Some(_) => {}
        }
    }
}

impl Host for Replayer {
    fn issue(&self, call: &'static Call, body: &[u8]) -> Result<u32, Box<Fault>> {
        self.limits.check(call.name, body)?;
        let same = |_: u32, what: &Happening| matches!(what, Happening::Issued { kind, body: then, .. } if kind == call.name && canonical::same(then, body));
        if let Some(op) = self.expect(same) {
            self.ops.set(self.ops.get() + 1);
            self.limits.add(op, call.name, body.len());
            return Ok(op);
        }
        if call.name == "patched" {
            self.asked.set(self.asked.get() + 1);
            let op = FIRST_UNPATCHED + self.asked.get();
            self.unpatched.borrow_mut().push_back(op);
            self.limits.add(op, call.name, body.len());
            return Ok(op);
        }
        if forgettable(call.name) {
            self.forgotten.set(self.forgotten.get() + 1);
            let op = FIRST_FORGOTTEN + self.forgotten.get();
            self.limits.add(op, call.name, body.len());
            return Ok(op);
        }
        self.ops.set(self.ops.get() + 1);
        self.differ(&issued(self.ops.get(), call.name, body));
        Ok(self.ops.get())
    }

    fn cancel(&self, op: u32) {
        self.limits.remove(op);
        if op >= FIRST_FORGOTTEN {
            return;
        }
        if self
            .expect(|then, what| then == op && matches!(what, Happening::Canceled))
            .is_none()
        {
            self.differ(&format!("canceled {op}"));
        }
    }

    fn perform(&self, call: &'static Call, _: &[u8]) -> Result<Vec<u8>, Box<Fault>> {
        Err(refusals::in_execute(call))
    }
}

fn waited_for_ever(outcome: &Outcome) -> bool {
    outcome
        .error
        .as_ref()
        .is_some_and(|e| e.code == codes::GUEST_DEADLOCK.code)
}

fn same_outcome(a: &Outcome, b: &Outcome) -> bool {
    if a.next.is_some() || b.next.is_some() {
        return a.next == b.next;
    }
    match (&a.error, &b.error) {
        (None, None) => canonical::same(
            a.value.as_deref().unwrap_or_default(),
            b.value.as_deref().unwrap_or_default(),
        ),
        (Some(a), Some(b)) => (&a.code, &a.message, &a.kind) == (&b.code, &b.message, &b.kind),
        _ => false,
    }
}

/// How an op that was issued is shown.
fn issued(op: u32, kind: &str, body: &[u8]) -> String {
    format!("issued {op} {}", described::op(kind, body))
}

/// The step of a workflow that has nothing more to do.
const WAITS: &str = "waits";

/// The likely cause of a difference here and not on a host, where the sandbox repeats it.
const HINT: &str = "  A test has no sandbox: the random state of a HashMap or HashSet and random numbers of other crates differ from run to run here, while a host repeats them. Iterate over a BTreeMap, or sort; use self.random().";
