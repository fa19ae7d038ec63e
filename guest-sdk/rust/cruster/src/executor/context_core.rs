//! The state of a running workflow, and the handle of it that its futures have.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};

use super::answering::Answering;
use super::conditions::Conditions;
use super::inboxes::Inboxes;
use super::publisher::Publisher;
use super::ready::Ready;
use super::task::Task;
use super::updating::Updating;
use crate::awaited::Awaited;
use crate::declared::DeferredDefinition;
use crate::generator::Generator;
use crate::host::Host;
use crate::numbered::Numbered;
use crate::timestamp::Timestamp;
use crate::where_it_is;
use crate::wire::{Invocation, Outcome, Settled};

/// A handle of the execution, for the code of the workflow.
#[derive(Clone)]
pub struct ContextCore(pub(crate) Rc<Shared>);

pub(crate) struct Shared {
    pub(crate) host: Rc<dyn Host>,
    pub(crate) invocation: Invocation,
    /// The deferreds of the workflow.
    pub(super) deferreds: &'static [DeferredDefinition],
    pub(super) now: Cell<Timestamp>,
    /// How many entries the journal has, as far as the run was told.
    pub(super) entries: Cell<u64>,
    pub(super) random: RefCell<Option<Generator>>,
    pub(super) ready: Arc<Ready>,
    pub(super) tasks: RefCell<Numbered<Task>>,
    pub(super) spawned: Cell<u64>,
    /// The running task, and whether interrupts reach its current work.
    pub(super) running: Cell<u64>,
    pub(super) shielded: Cell<bool>,
    pub(super) waits: RefCell<Numbered<Wait>>,
    pub(super) waited: Cell<u64>,
    pub(super) ops: RefCell<Numbered<Op>>,
    pub(super) interrupt_op: Cell<u32>,
    /// The op that began the critical section; 0 if there is none.
    pub(crate) section: Cell<u32>,
    /// The changes of the code that the run takes, and the changes it does not.
    pub(super) patches: RefCell<Vec<(String, bool)>>,
    /// Waits of tasks for something other than an op.
    pub(crate) conditions: Conditions,
    /// The state of the signals the workflow has asked for.
    pub(crate) inboxes: Inboxes,
    /// How the workflow answers queries.
    pub(crate) answering: Answering,
    /// How the workflow handles updates.
    pub(crate) updating: Updating<ContextCore>,
    /// The published values of the workflow.
    pub(crate) publisher: RefCell<Option<Publisher>>,
    /// The reason of the interrupt, once there was one.
    pub(super) stopping: RefCell<Option<String>>,
    pub(crate) outcome: RefCell<Option<Outcome>>,
    /// The execution has ended: dropping a future no longer cancels its op.
    pub(super) closed: Cell<bool>,
}

/// A future that waits, and its waker.
pub(super) struct Wait {
    pub(super) task: u64,
    pub(super) shielded: bool,
    /// It waits for the interrupt itself.
    pub(super) watch: bool,
    pub(super) awaited: Awaited,
    pub(super) waker: Waker,
}

/// An op that was issued: its result once there is one, and the wait for it.
pub(super) struct Op {
    pub(super) result: Option<Settled>,
    pub(super) wait: u64,
}

impl ContextCore {
    /// The execution of an invocation, before its first task.
    pub(crate) fn new(
        host: Rc<dyn Host>,
        deferreds: &'static [DeferredDefinition],
        invocation: Invocation,
    ) -> Self {
        ContextCore(Rc::new(Shared {
            host,
            deferreds,
            now: Cell::new(Timestamp::from_unix_nanos(invocation.time)),
            entries: Cell::new(0),
            invocation,
            random: RefCell::default(),
            ready: Arc::default(),
            tasks: RefCell::default(),
            spawned: Cell::new(0),
            running: Cell::new(0),
            shielded: Cell::new(false),
            waits: RefCell::default(),
            waited: Cell::new(0),
            ops: RefCell::default(),
            interrupt_op: Cell::new(0),
            section: Cell::new(0),
            patches: RefCell::default(),
            conditions: Conditions::default(),
            inboxes: Inboxes::default(),
            answering: Answering::default(),
            updating: Updating::default(),
            publisher: RefCell::default(),
            stopping: RefCell::default(),
            outcome: RefCell::default(),
            closed: Cell::new(false),
        }))
    }

    /// Panics unless the workflow lists a deferred; `does` names the attempted use.
    #[track_caller]
    pub(crate) fn must_accept(&self, does: &str, deferred: &str) {
        let accepted = self.0.deferreds.iter().any(|d| d.has(deferred));
        assert!(
            accepted,
            "CR-4002: workflow {} {does} deferred {deferred:?}, which it does not accept: list it, as in #[workflow_impl(deferreds(APPROVED))]",
            self.0.invocation.name
        );
    }

    /// The known state of a change of the code.
    pub(crate) fn patch(&self, id: &str) -> Option<bool> {
        let patches = self.0.patches.borrow();
        patches.iter().find(|p| p.0 == id).map(|p| p.1)
    }

    /// Keeps the answer about a change, unless another task had one before.
    pub(crate) fn keep_patch(&self, id: &str, answer: bool) -> bool {
        self.patch(id).unwrap_or_else(|| {
            self.0.patches.borrow_mut().push((id.to_owned(), answer));
            answer
        })
    }

    /// Whether an interrupt reaches the running task.
    pub(crate) fn interrupted(&self) -> bool {
        !self.0.shielded.get() && self.0.stopping.borrow().is_some()
    }

    /// Whether there was an interrupt, also within a shield.
    pub(crate) fn stopping(&self) -> bool {
        self.0.stopping.borrow().is_some()
    }

    /// The reason of the interrupt, also within a shield.
    pub(crate) fn interrupt_reason(&self) -> Option<String> {
        self.0.stopping.borrow().clone()
    }

    pub(crate) fn shielded(&self) -> bool {
        self.0.shielded.get()
    }

    /// Sets the shield and returns its previous value.
    pub(crate) fn set_shielded(&self, on: bool) -> bool {
        self.0.shielded.replace(on)
    }

    /// The journal time.
    pub(crate) fn now(&self) -> Timestamp {
        self.0.now.get()
    }

    /// How many entries the journal of the run has.
    pub(crate) fn entries(&self) -> u64 {
        self.0.entries.get()
    }

    /// Draws from the random source of the execution. The host gives it a seed that
    /// is the run's own: a replay draws the same numbers and none are stored, and a
    /// later run of the same name draws others.
    pub(crate) fn draw(&self) -> u64 {
        let inv = &self.0.invocation;
        let mut random = self.0.random.borrow_mut();
        random
            .get_or_insert_with(|| Generator::seeded(inv.seed.as_deref().unwrap_or_default()))
            .next()
    }

    /// Registers a wait under `id`, or a new one if that is 0, and returns it.
    pub(crate) fn wait(
        &self,
        id: u64,
        shielded: bool,
        watch: bool,
        awaited: Awaited,
        cx: &Context<'_>,
    ) -> u64 {
        let shared = &*self.0;
        let id = if id != 0 {
            id
        } else {
            shared.waited.set(shared.waited.get() + 1);
            shared.waited.get()
        };
        let wait = Wait {
            task: shared.running.get(),
            shielded,
            watch,
            awaited,
            waker: cx.waker().clone(),
        };
        // A waker of another crate may run any code when it is dropped.
        let old = shared.waits.borrow_mut().insert(id, wait);
        drop(old);
        id
    }

    /// Ends a wait, if there is one.
    pub(crate) fn unwait(&self, id: u64) {
        if id != 0 {
            let old = self.0.waits.borrow_mut().remove(id);
            if let Some(wait) = &old {
                self.0.reached(wait.task, wait.awaited);
            }
            drop(old);
        }
    }

    /// Wakes the future that waits under `id`.
    pub(crate) fn wake(&self, id: u64) {
        self.0.wake(id);
    }

    /// The running task begins to wait for something.
    pub(crate) fn reached(&self, awaited: Awaited) {
        self.0.reached(self.0.running.get(), awaited);
    }

    /// Whether the execution has ended: drops from now on have no effects.
    pub(crate) fn closed(&self) -> bool {
        self.0.closed.get()
    }

    /// Ends the execution, and breaks the cycles between it, its tasks and its answers.
    pub(crate) fn close(&self) {
        self.0.closed.set(true);
        let tasks = std::mem::take(&mut *self.0.tasks.borrow_mut());
        drop(tasks);
        self.0.answering.clear();
        self.0.updating.clear();
        self.0.conditions.clear();
    }
}

impl Shared {
    pub(crate) fn has_outcome(&self) -> bool {
        self.outcome.borrow().is_some()
    }

    pub(crate) fn finish(&self, outcome: Outcome) {
        self.outcome.borrow_mut().get_or_insert(outcome);
    }

    pub(super) fn wake(&self, wait: u64) {
        let waker = self.waits.borrow().get(wait).map(|w| w.waker.clone());
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// A task begins to wait for something, or does not wait for it any more. Only waits with a
    /// line count.
    fn reached(&self, task: u64, awaited: Awaited) {
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
}
