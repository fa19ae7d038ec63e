//! A running workflow: its tasks, its waits, and the order in which they run.
//!
//! A workflow is one main task and the tasks that it spawned. Exactly one runs at a
//! time; a task that becomes runnable goes to the end of a queue. After each
//! delivery, tasks run until all of them wait. So the order of events depends on
//! the order of deliveries alone, and a replay repeats it.

mod ops;
mod places;
mod ready;
mod tasks;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};

use crate::condition::Condition;
use crate::definition::{DeferredDefinition, WorkflowDefinition};
use crate::generator::Generator;
use crate::host::{Host, INTERRUPTED};
use crate::inbox::Inbox;
use crate::module::Given;
use crate::numbered::Numbered;
use crate::publish::Publisher;
use crate::query::Answering;
use crate::std_clock;
use crate::timestamp::Timestamp;
use crate::update::Updating;
use crate::wire::{
    Delivery, Interrupted, Interruption, Invocation, Outcome, Resume, Settled, Wire,
};

#[cfg(not(target_family = "wasm"))]
pub(crate) use places::thing_at;
pub(crate) use places::{Awaited, Site};

use ready::Ready;
use tasks::Task;

/// A future of a single thread.
pub type LocalFuture<T> = Pin<Box<dyn Future<Output = T>>>;

/// A handle of the execution, for the code of the workflow.
#[derive(Clone)]
pub struct ContextCore(pub(crate) Rc<Shared>);

/// The arguments of a workflow's code.
pub struct Start {
    pub(crate) core: ContextCore,
    pub(crate) body: Vec<u8>,
    pub(crate) given: &'static [Given],
}

/// An execution that can be resumed.
pub(crate) struct Execution {
    core: ContextCore,
}

pub(crate) struct Shared {
    pub(crate) host: Rc<dyn Host>,
    pub(crate) invocation: Invocation,
    /// The deferreds of the workflow.
    deferreds: &'static [DeferredDefinition],
    now: Cell<Timestamp>,
    /// How many entries the journal has, as far as the run was told.
    entries: Cell<u64>,
    random: RefCell<Option<Generator>>,
    ready: Arc<Ready>,
    tasks: RefCell<Numbered<Task>>,
    spawned: Cell<u64>,
    /// The running task, and whether interrupts reach its current work.
    running: Cell<u64>,
    shielded: Cell<bool>,
    waits: RefCell<Numbered<Wait>>,
    waited: Cell<u64>,
    ops: RefCell<Numbered<Op>>,
    interrupt_op: Cell<u32>,
    /// The op that began the critical section; 0 if there is none.
    pub(crate) section: Cell<u32>,
    /// The changes of the code that the run takes, and the changes it does not.
    patches: RefCell<Vec<(String, bool)>>,
    /// Waits of tasks for something other than an op.
    conditions: RefCell<Vec<Condition>>,
    /// The state of the signals the workflow has asked for.
    pub(crate) inboxes: RefCell<Vec<Inbox>>,
    /// How the workflow answers queries.
    pub(crate) answering: Answering,
    /// How the workflow handles updates.
    pub(crate) updating: Updating,
    /// The published values of the workflow.
    pub(crate) publisher: RefCell<Option<Publisher>>,
    /// The reason of the interrupt, once there was one.
    stopping: RefCell<Option<String>>,
    outcome: RefCell<Option<Outcome>>,
    /// The execution has ended: dropping a future no longer cancels its op.
    closed: Cell<bool>,
}

/// A future that waits, and its waker.
struct Wait {
    task: u64,
    shielded: bool,
    /// It waits for the interrupt itself.
    watch: bool,
    awaited: Awaited,
    waker: Waker,
}

/// An op that was issued: its result once there is one, and the wait for it.
struct Op {
    result: Option<Settled>,
    wait: u64,
}

impl ContextCore {
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
}

impl Execution {
    /// Runs a workflow up to its first wait.
    pub(crate) fn start(
        host: Rc<dyn Host>,
        workflow: &WorkflowDefinition,
        mut invocation: Invocation,
        given: &'static [Given],
    ) -> Self {
        let body = invocation.body.take().unwrap_or_default();
        let core = ContextCore(Rc::new(Shared {
            host,
            deferreds: workflow.deferreds,
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
            conditions: RefCell::default(),
            inboxes: RefCell::default(),
            answering: Answering::default(),
            updating: Updating::default(),
            publisher: RefCell::default(),
            stopping: RefCell::default(),
            outcome: RefCell::default(),
            closed: Cell::new(false),
        }));
        let execution = Execution { core };
        let _clock = std_clock::turn(execution.core.0.now.get());
        execution.core.begin(workflow, body, given);
        execution.core.end_turn();
        execution
    }

    /// Applies deliveries in order, and runs all runnable tasks after each of them.
    pub(crate) fn resume(&self, resume: Resume) {
        let shared = &*self.core.0;
        shared.now.set(Timestamp::from_unix_nanos(resume.time));
        let _clock = std_clock::turn(shared.now.get());
        let counted = shared.entries.get() + resume.deliveries.len() as u64;
        let told = u64::try_from(resume.entries).unwrap_or(0);
        shared.entries.set(counted.max(told));
        for delivery in resume.deliveries {
            if shared.outcome.borrow().is_some() {
                // Only signals matter now: they are the next run's, if there is one.
                shared.deliver(delivery);
                continue;
            }
            if !self.core.take_update(&delivery) {
                shared.deliver(delivery);
            }
            shared.dispatch();
        }
        self.core.end_turn();
    }

    /// Whether the workflow is in a deadlock: it waits, but for no op that is open, and
    /// no task waits for an interrupt, and no handler waits for an update. An interrupt would end the waits for tasks, but the
    /// tasks themselves would stay stuck, and the deadlock would go unnoticed.
    pub(crate) fn stuck(&self) -> bool {
        let shared = &*self.core.0;
        shared.outcome.borrow().is_none()
            && !shared.updating.waits()
            && shared
                .ops
                .borrow()
                .iter()
                .all(|(_, op)| op.result.is_some() || op.wait == 0)
            && !shared.waits.borrow().iter().any(|(_, wait)| wait.watch)
    }

    /// Where each task began, its wait and where it waits, in the author's lines.
    pub(crate) fn waits(&self) -> Vec<String> {
        self.core.0.waits_of_tasks()
    }

    pub(crate) fn core(&self) -> &ContextCore {
        &self.core
    }

    /// How the workflow ended; `None` while it waits for deliveries.
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        self.core.0.outcome.borrow().clone()
    }
}

/// Breaks the cycles between an execution, its tasks and its answers.
impl Drop for Execution {
    fn drop(&mut self) {
        self.core.0.closed.set(true);
        let tasks = std::mem::take(&mut *self.core.0.tasks.borrow_mut());
        drop(tasks);
        self.core.0.answering.clear();
        self.core.0.updating.clear();
        self.core.0.conditions.take();
    }
}

impl ContextCore {
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

    /// Does the remaining work when all tasks wait, or the workflow has ended.
    fn end_turn(&self) {
        self.publish_changes();
        let mut outcome = self.0.outcome.borrow_mut();
        if let Some(next) = outcome.as_mut().and_then(|o| o.next.as_mut()) {
            let kept = self.kept_signals();
            next.unread = Some(kept.into_iter().map(|s| s.0.to_owned()).collect());
        }
    }

    fn begin(&self, workflow: &WorkflowDefinition, body: Vec<u8>, given: &'static [Given]) {
        let shared = &*self.0;
        // The wait for an interrupt is the first op of every workflow, so that the host
        // can deliver one at any time.
        match shared.host.issue(&INTERRUPTED, &Interrupted {}.encode()) {
            Ok(op) => shared.interrupt_op.set(op),
            Err(fault) => {
                shared.finish(Outcome::failed(fault));
                return;
            }
        }
        if let Some(listen) = workflow.listen {
            if let Err(fault) = listen(self) {
                shared.finish(Outcome::failed(fault));
                return;
            }
        }
        let unread = match self.ask_for_unread(workflow) {
            Ok(unread) => unread,
            Err(refused) => {
                shared.finish(Outcome::failed(refused.of_workflow("")));
                return;
            }
        };
        let run = (workflow.run)(Start {
            core: self.clone(),
            body,
            given,
        });
        let core = self.clone();
        self.add_task(
            Some(workflow.begins),
            Box::pin(async move {
                unread.await;
                let outcome = run.await;
                core.0.finish(outcome);
            }),
        );
        shared.dispatch();
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
}

impl Shared {
    fn finish(&self, outcome: Outcome) {
        self.outcome.borrow_mut().get_or_insert(outcome);
    }

    fn deliver(&self, delivery: Delivery) {
        let op = delivery.op;
        let result = delivery.into_result();
        if op == self.interrupt_op.get() {
            if let Ok(raw) = result {
                self.interrupt(&raw);
            }
            return;
        }
        let mut ops = self.ops.borrow_mut();
        let Some(op) = ops.get_mut(u64::from(op)) else {
            return; // cancelled meanwhile, or no one waits for it
        };
        op.result = Some(result);
        let wait = op.wait;
        drop(ops);
        self.wake(wait);
    }

    fn wake(&self, wait: u64) {
        let waker = self.waits.borrow().get(wait).map(|w| w.waker.clone());
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Wakes the tasks whose condition has come true.
    fn check_conditions(&self) {
        if self.conditions.borrow().is_empty() {
            return;
        }
        // A condition is code of the author's.
        let conditions = self.conditions.take();
        let (met, others): (Vec<_>, Vec<_>) = conditions.into_iter().partition(Condition::look);
        *self.conditions.borrow_mut() = others;
        for condition in &met {
            self.wake(condition.wait);
        }
    }

    /// Wakes every wait that is not shielded, the oldest task's first.
    fn interrupt(&self, raw: &[u8]) {
        let reason = Interruption::decode(raw)
            .map(|i| i.reason)
            .unwrap_or_default();
        *self.stopping.borrow_mut() = Some(reason);
        let mut wakers: Vec<(u64, u64, Waker)> = self
            .waits
            .borrow()
            .iter()
            .filter(|(_, w)| !w.shielded)
            .map(|(id, w)| (w.task, id, w.waker.clone()))
            .collect();
        wakers.sort_by_key(|(task, id, _)| (*task, *id));
        for (_, _, waker) in wakers {
            waker.wake();
        }
    }
}
