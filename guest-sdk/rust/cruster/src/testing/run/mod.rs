//! One execution in the world, and the host of its workflow.

mod callees;
pub(crate) mod caller;
mod continued;
mod deferreds;
mod perform;
mod promise;
mod waits;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;

use crate::codes;
use crate::definition::WorkflowDefinition;
use crate::execution::Execution;
use crate::host::{Call, Host};
use crate::logging;
use crate::module::{Module, Started};
use crate::payload;
use crate::testing::described;
use crate::testing::history::{AT_THE_START, Happening, History};
use crate::testing::mailbox::Mailbox;
use crate::testing::pending::Pending;
use crate::testing::places::Places;
use crate::testing::published::Published;
use crate::testing::received::received;
use crate::testing::refusals::{self, OpLimits};
use crate::testing::run::caller::Caller;
use crate::testing::run::promise::Promise;
use crate::testing::update_inbox::Updates;
use crate::testing::watchdog;
use crate::testing::words::quoted;
use crate::testing::world::World;
use crate::timestamp::Timestamp;
use crate::wire::{Delivery, Fault, Interruption, Malformed, Outcome, Resume, Settled, Wire};

/// The subject of a run.
pub(crate) struct RunKind {
    pub(crate) deployment: String,
    /// The name of the workflow, without the deployment.
    pub(crate) workflow: String,
    /// The module that has it; none if there is only a stub of it.
    pub(crate) code: Option<(&'static Module, &'static WorkflowDefinition)>,
}

impl RunKind {
    pub(crate) fn of(
        deployment: &str,
        workflow: &str,
        code: Option<(&'static Module, &'static WorkflowDefinition)>,
    ) -> Self {
        RunKind {
            deployment: deployment.to_owned(),
            workflow: workflow.to_owned(),
            code,
        }
    }
}

pub(crate) struct Run {
    pub(crate) world: Weak<World<Run>>,
    pub(crate) id: String,
    pub(crate) kind: RunKind,
    me: Weak<Run>,
    execution: RefCell<Option<Execution>>,
    outcome: RefCell<Option<Outcome>>,
    ops: Cell<u32>,
    /// The ops that were not delivered yet.
    pending: RefCell<BTreeMap<u32, PendingOp>>,
    limits: OpLimits,
    /// How often an activity occurred.
    steps: RefCell<BTreeMap<Identity, u32>>,
    deferreds: RefCell<BTreeMap<String, Promise>>,
    pub(crate) mailbox: RefCell<Mailbox>,
    pub(crate) updates: RefCell<Updates>,
    pub(crate) published: RefCell<Published>,
    /// The op that began the critical section; 0 if there is none.
    pub(crate) section: Cell<u32>,
    interrupt_op: Cell<u32>,
    /// The reason of a request to stop, once there was one.
    stop: RefCell<Option<String>>,
    /// Called at the end.
    listeners: RefCell<Vec<Listener>>,
    /// The caller that waits for it, if it was called.
    pub(crate) caller: RefCell<Option<Caller>>,
    /// Its caller has asked it to stop.
    given_up: Cell<bool>,
    history: RefCell<History>,
    pub(crate) places: Places<Apply>,
    /// Those of the runs whose place it has taken.
    earlier: RefCell<Vec<History>>,
}

/// An event of an execution.
pub(crate) type Apply = Rc<dyn Fn(&Run)>;

type Listener = Box<dyn FnOnce(&Outcome)>;

struct PendingOp {
    /// Its name.
    what: Arc<str>,
    kind: &'static str,
    /// Its number among the ops of all executions, and when it was issued.
    issued: u64,
    at: Timestamp,
}

/// The ops that a host has to do something for.
const NEEDS_HOST: [&str; 10] = [
    "activity",
    "call",
    "send",
    "resolve",
    "poll",
    "signal",
    "entity_call",
    "entity_send",
    "lock",
    "interrupt",
];

/// The name of an activity with its key, or else the hash of its input.
type Identity = (String, String);

impl Run {
    pub(crate) fn new(world: &Rc<World<Run>>, id: &str, kind: RunKind, input: Vec<u8>) -> Rc<Self> {
        Rc::new_cyclic(|me| Run {
            world: Rc::downgrade(world),
            id: id.to_owned(),
            me: me.clone(),
            execution: RefCell::default(),
            outcome: RefCell::default(),
            ops: Cell::new(0),
            pending: RefCell::default(),
            limits: OpLimits::default(),
            steps: RefCell::default(),
            deferreds: RefCell::default(),
            mailbox: RefCell::default(),
            updates: RefCell::default(),
            published: RefCell::default(),
            section: Cell::new(0),
            interrupt_op: Cell::new(0),
            stop: RefCell::default(),
            listeners: RefCell::default(),
            caller: RefCell::default(),
            given_up: Cell::new(false),
            history: RefCell::new(History {
                module: kind.code.map_or(world.module, |(module, _)| module),
                namespace: world.config.namespace.clone(),
                workflow: kind.workflow.clone(),
                input,
                unread: Vec::new(),
                run: 0,
                outcome: Outcome::default(),
                execution: id.to_owned(),
                start: world.now(),
                events: Vec::new(),
            }),
            places: Places::default(),
            earlier: RefCell::default(),
            kind,
        })
    }

    /// The world, which outlives its executions.
    pub(crate) fn world(&self) -> Rc<World<Run>> {
        self.world
            .upgrade()
            .expect("an execution does not outlive its world")
    }

    pub(crate) fn me(&self) -> Rc<Run> {
        self.me.upgrade().expect("an execution that runs exists")
    }

    /// Starts the workflow.
    pub(crate) fn begin(&self) {
        if self.outcome.borrow().is_some() {
            return; // terminated
        }
        let invocation = self.history.borrow().invocation();
        self.limits.begin_turn();
        let world = self.world();
        let _log = logging::scope(world.now(), &self.id);
        let _watched = watchdog::turn(world.config.turn_limit, Pending::default());
        match self.module().start(self.me(), invocation) {
            Started::Over(outcome) => self.finish(received(outcome)),
            Started::Workflow(execution) => self.keep(execution),
        }
        // A request to stop passes to the next run.
        let stop = self.stop.borrow().clone();
        if let Some(reason) = stop {
            self.interrupt(&reason);
        }
    }

    /// Keeps the workflow for its next turn, unless it has ended.
    fn keep(&self, execution: Execution) {
        let outcome = execution.outcome();
        if let Some(next) = outcome.as_ref().and_then(|o| o.next.clone()) {
            self.put_back(execution.core().kept_signals());
            drop(execution);
            self.continue_as_new(&outcome.unwrap_or_default(), *next);
            return;
        }
        *self.execution.borrow_mut() = Some(execution);
        if let Some(outcome) = outcome {
            self.finish(received(outcome));
        }
    }

    pub(crate) fn finish(&self, outcome: Outcome) {
        let listeners = std::mem::take(&mut *self.listeners.borrow_mut());
        *self.outcome.borrow_mut() = Some(outcome.clone());
        self.unlock();
        self.give_up_all();
        self.leave_updates_unanswered();
        for tell in listeners {
            tell(&outcome);
        }
    }

    /// Whether the workflow is in a deadlock.
    pub(crate) fn stuck(&self) -> bool {
        self.execution
            .borrow()
            .as_ref()
            .is_some_and(Execution::stuck)
    }

    /// Whether the workflow has begun, and waits.
    pub(crate) fn parked(&self) -> bool {
        self.execution.borrow().is_some()
    }

    /// The events so far.
    pub(crate) fn history_so_far(&self) -> History {
        self.history.borrow().clone()
    }

    /// The signals that were delivered and that the workflow has not looked at.
    pub(crate) fn kept_signals(&self) -> Vec<(&'static str, Vec<u8>)> {
        let execution = self.execution.borrow();
        execution
            .as_ref()
            .map_or_else(Vec::new, |execution| execution.core().kept_signals())
    }

    pub(crate) fn outcome(&self) -> Option<Outcome> {
        self.outcome.borrow().clone()
    }

    /// Calls `tell` when the execution ends, or now if it has ended.
    fn on_end(&self, tell: impl FnOnce(&Outcome) + 'static) {
        match self.outcome() {
            Some(outcome) => tell(&outcome),
            None => self.listeners.borrow_mut().push(Box::new(tell)),
        }
    }

    pub(crate) fn close(&self) {
        let execution = self.execution.borrow_mut().take();
        drop(execution);
        self.listeners.borrow_mut().clear();
    }

    pub(crate) fn take_history(&self, outcome: &Outcome) -> History {
        let mut history = self.history_so_far();
        history.outcome = outcome.clone();
        history
    }

    /// Whether the workflow runs and waits for the op.
    pub(crate) fn waits(&self, op: u32) -> bool {
        self.outcome.borrow().is_none() && self.pending.borrow().contains_key(&op)
    }

    /// The number of an op among the ops of all executions.
    pub(crate) fn issued(&self, op: u32) -> u64 {
        self.pending.borrow().get(&op).map_or(0, |p| p.issued)
    }

    /// Its workflow, unless there is only a stub of it.
    pub(crate) fn definition(&self) -> Option<&'static WorkflowDefinition> {
        self.kind.code.map(|(_, workflow)| workflow)
    }

    /// The module of its code.
    pub(crate) fn module(&self) -> &'static Module {
        self.history.borrow().module
    }

    /// Makes a delivery due after some time.
    ///
    /// Ops due at the same time come in the order of issue. A host takes time for its own work,
    /// however short: an op that needs such work comes behind all ops of its turn that are ready as
    /// soon as they are issued.
    pub(crate) fn deliver(&self, delay: Duration, op: u32, result: Settled) {
        let Outcome { error, value, .. } = result.into();
        let delivery = Delivery { error, op, value };
        let due = self.world().now() + delay;
        let takes_time = |p: &PendingOp| !NEEDS_HOST.contains(&p.kind) || due > p.at;
        if self.pending.borrow().get(&op).is_none_or(takes_time) {
            self.deliver_as(self.issued(op), delay, delivery);
            return;
        }
        let run = self.me();
        self.world().after(Duration::ZERO, move || {
            let behind = run.world().last_op();
            run.deliver_as(behind, Duration::ZERO, delivery);
        });
    }

    /// Makes a delivery due, at a place among the deliveries due at the same time.
    fn deliver_as(&self, place: u64, delay: Duration, delivery: Delivery) {
        let run = self.me();
        self.world()
            .deliver_after(delay, place, move || run.resume(delivery));
    }

    /// Notes that an attempt failed and is repeated.
    pub(crate) fn retried(&self, op: u32, fault: &Fault) {
        let error = format!("{}: {}", fault.code, fault.message);
        if self.waits(op) {
            self.limits.retry();
            let what = Happening::Retried { error };
            self.history.borrow_mut().add(self.world().now(), op, what);
        }
    }

    /// Runs the events the test planned at a place.
    fn reach(&self, kind: &str, name: &str) {
        if AT_THE_START.contains(&kind) {
            return;
        }
        for apply in self.places.reach(kind, name) {
            let run = self.me();
            self.world().after(Duration::ZERO, move || apply(&run));
        }
    }

    pub(crate) fn resume(&self, delivery: Delivery) {
        if !self.waits(delivery.op) {
            return;
        }
        let now = self.world().now();
        if let Err(mut fault) = self.limits.deliver() {
            fault.message += &self.pending().to_string();
            return self.finish(Outcome::failed(fault));
        }
        self.pending.borrow_mut().remove(&delivery.op);
        self.limits.remove(delivery.op);
        self.limits.begin_turn();
        let error = delivery
            .error
            .as_ref()
            .map(|f| format!("{}: {}", f.code, f.message));
        let what = Happening::Delivered {
            value: delivery.value.clone(),
            error,
            fault: delivery.error.clone(),
        };
        self.history.borrow_mut().add(now, delivery.op, what);
        let execution = self.execution.borrow_mut().take();
        if let Some(execution) = execution {
            let _log = logging::scope(now, &self.id);
            let _watched = watchdog::turn(self.world().config.turn_limit, self.pending());
            execution.resume(Resume {
                deliveries: vec![delivery],
                entries: self.limits.entries(),
                time: now.unix_nanos(),
            });
            self.keep(execution);
        }
    }

    pub(crate) fn interrupt(&self, reason: &str) {
        *self.stop.borrow_mut() = Some(reason.to_owned());
        let op = self.interrupt_op.get();
        if op != 0 {
            let body = Interruption {
                reason: reason.to_owned(),
            }
            .encode();
            self.deliver(Duration::ZERO, op, Ok(body));
        }
    }

    /// A call before an op that waits for its answer: its kind, and the workflow or the operation.
    pub(crate) fn awaits_answer(&self, op: u32) -> Option<(String, String)> {
        let pending = self.pending.borrow();
        let mut calls = pending.range(..op).map(|(_, pending)| &pending.what);
        calls.find_map(|what| {
            let (kind, name) = what.split_once(' ')?;
            let called = name.rsplit(' ').next()?;
            ["call", "entity_call"]
                .contains(&kind)
                .then(|| (kind.to_owned(), called.to_owned()))
        })
    }

    /// The histories of the runs whose place it has taken.
    pub(crate) fn earlier(&self) -> Vec<History> {
        self.earlier.borrow().clone()
    }

    pub(crate) fn state(&self) -> &'static str {
        match &*self.outcome.borrow() {
            None => "running",
            Some(Outcome { error: None, .. }) => "completed",
            Some(Outcome { error: Some(e), .. })
                if e.code == codes::INTERRUPTED.code || e.code == codes::TERMINATED.code =>
            {
                "interrupted"
            }
            Some(_) => "failed",
        }
    }
}

pub(crate) fn no_execution(id: &str) -> Box<Fault> {
    codes::EXECUTION_NOT_FOUND.fault(format!("there is no execution {}", quoted(id, 300)))
}

impl Host for Run {
    fn issue(&self, call: &'static Call, body: &[u8]) -> Result<u32, Box<Fault>> {
        self.limits.check(call.name, body)?;
        let malformed = |e: Malformed| codes::BAD_BODY.fault(e.to_string());
        let name = described::name(call.name, body).map_err(malformed)?;
        let op = self.ops.get() + 1;
        let pending = PendingOp {
            what: format!("{} {name}", call.name).trim_end().into(),
            kind: call.name,
            issued: self.world().number_op(),
            at: self.world().now(),
        };
        self.pending.borrow_mut().insert(op, pending);
        if let Err(e) = self.perform(call.name, body, op) {
            self.pending.borrow_mut().remove(&op);
            return Err(malformed(e));
        }
        self.ops.set(op);
        self.limits.add(op, call.name, body.len());
        self.reach(call.name, &name);
        let what = Happening::Issued {
            kind: call.name.to_owned(),
            name,
            body: body.to_vec(),
        };
        self.history.borrow_mut().add(self.world().now(), op, what);
        Ok(op)
    }

    fn cancel(&self, op: u32) {
        let mut history = self.history.borrow_mut();
        if !history.forget(op) {
            history.add(self.world().now(), op, Happening::Canceled);
        }
        drop(history);
        self.pending.borrow_mut().remove(&op);
        self.limits.remove(op);
        self.give_up(op);
        if self.section.get() == op {
            self.unlock();
        }
    }

    fn perform(&self, call: &'static Call, _: &[u8]) -> Result<Vec<u8>, Box<Fault>> {
        Err(refusals::in_execute(call))
    }
}

/// The encoding of a value that a test gives.
pub(crate) fn encode<T: serde::Serialize>(what: &str, value: &T) -> Vec<u8> {
    payload::encode(what, value).unwrap_or_else(|e| panic!("{e}"))
}
