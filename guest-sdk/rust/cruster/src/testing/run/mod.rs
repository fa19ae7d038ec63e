//! One execution in the world, and the host of its workflow.

pub(crate) mod callees;
mod continued;
mod deferreds;
mod perform;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::time::Duration;

use crate::codes;
use crate::execution::Execution;
use crate::host::{Call, Host};
use crate::logging;
use crate::module::Started;
use crate::payload;
use crate::testing::history::{Happening, History};
use crate::testing::published::Published;
use crate::testing::received::received;
use crate::testing::refusals;
use crate::testing::run::callees::Caller;
use crate::testing::signals::Mailbox;
use crate::testing::updates::Updates;
use crate::testing::world::World;
use crate::wire::{Delivery, Fault, Interruption, Outcome, Resume, Settled, Wire};

use deferreds::Promise;

pub(crate) struct Run {
    pub(crate) world: Weak<World>,
    pub(crate) id: String,
    me: Weak<Run>,
    execution: RefCell<Option<Execution>>,
    outcome: RefCell<Option<Outcome>>,
    ops: Cell<u32>,
    /// The ops that were not delivered yet.
    pending: RefCell<BTreeMap<u32, PendingOp>>,
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
    /// Who waits for it, if it was called.
    pub(crate) caller: RefCell<Option<Caller>>,
    /// Its caller has asked it to stop.
    given_up: Cell<bool>,
    history: RefCell<History>,
    /// Those of the runs whose place it has taken.
    earlier: RefCell<Vec<History>>,
}

type Listener = Box<dyn FnOnce(&Outcome)>;

struct PendingOp {
    /// What it is called.
    what: String,
    /// Its number among the ops of all executions.
    issued: u64,
}

/// The name of an activity with its key, or else the hash of its input.
type Identity = (String, String);

impl Run {
    pub(crate) fn new(world: &Rc<World>, id: &str, workflow: &str, input: Vec<u8>) -> Rc<Self> {
        Rc::new_cyclic(|me| Run {
            world: Rc::downgrade(world),
            id: id.to_owned(),
            me: me.clone(),
            execution: RefCell::default(),
            outcome: RefCell::default(),
            ops: Cell::new(0),
            pending: RefCell::default(),
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
                module: world.module,
                namespace: world.config.namespace.clone(),
                workflow: workflow.to_owned(),
                input,
                unread: Vec::new(),
                run: 0,
                outcome: Outcome::default(),
                execution: id.to_owned(),
                start: world.now(),
                events: Vec::new(),
            }),
            earlier: RefCell::default(),
        })
    }

    /// The world, which outlives its executions.
    pub(crate) fn world(&self) -> Rc<World> {
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
        let world = self.world();
        let _log = logging::scope(world.now(), &self.id);
        match world.module.start(self.me(), invocation) {
            Started::Over(outcome) => self.finish(received(outcome)),
            Started::Workflow(execution) => self.keep(execution),
        }
        // A request to stop is also that of the next run.
        let stop = self.stop.borrow().clone();
        if let Some(reason) = stop {
            self.interrupt(&reason);
        }
    }

    /// Keeps the workflow for its next turn, unless it is over.
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

    /// What has happened by now.
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

    /// Calls `tell` when the execution is over, or now if it is.
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

    /// The number of an op among those of all executions.
    pub(crate) fn issued(&self, op: u32) -> u64 {
        self.pending.borrow().get(&op).map_or(0, |p| p.issued)
    }

    /// The name of its workflow.
    pub(crate) fn workflow(&self) -> String {
        self.history.borrow().workflow.clone()
    }

    /// Makes a delivery due after some time.
    pub(crate) fn deliver(&self, delay: Duration, op: u32, result: Settled) {
        let Outcome { error, value, .. } = result.into();
        let run = self.me();
        let issued = self.issued(op);
        self.world().deliver_after(delay, issued, move || {
            run.resume(Delivery { error, op, value });
        });
    }

    /// Notes that an attempt failed and is repeated.
    pub(crate) fn retried(&self, op: u32, fault: &Fault) {
        let error = format!("{}: {}", fault.code, fault.message);
        if self.waits(op) {
            let what = Happening::Retried { error };
            self.history.borrow_mut().add(self.world().now(), op, what);
        }
    }

    pub(crate) fn resume(&self, delivery: Delivery) {
        if !self.waits(delivery.op) {
            return;
        }
        let now = self.world().now();
        self.pending.borrow_mut().remove(&delivery.op);
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
            execution.resume(Resume {
                deliveries: vec![delivery],
                entries: 0,
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

    /// A call before an op that waits for its answer.
    pub(crate) fn awaits_answer(&self, op: u32) -> Option<String> {
        let pending = self.pending.borrow();
        let mut calls = pending.range(..op).map(|(_, pending)| &pending.what);
        calls
            .find(|what| what.starts_with("call ") || what.starts_with("entity_call "))
            .cloned()
    }

    /// The histories of the runs whose place it has taken.
    pub(crate) fn earlier(&self) -> Vec<History> {
        self.earlier.borrow().clone()
    }

    /// What the workflow waits for, for a message.
    pub(crate) fn waits_for(&self) -> String {
        let pending = self.pending.borrow();
        let names: Vec<String> = pending
            .iter()
            .filter(|(op, _)| **op != self.interrupt_op.get())
            .map(|(op, pending)| format!("{} (op {op})", pending.what))
            .collect();
        if names.is_empty() {
            let execution = self.execution.borrow();
            let waits = execution.as_ref().map(Execution::waits);
            format!("its own tasks: {}", waits.unwrap_or_default().join("; "))
        } else {
            names.join(", ")
        }
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
    codes::EXECUTION_NOT_FOUND.fault(format!("there is no execution {id}"))
}

impl Host for Run {
    fn issue(&self, call: &'static Call, body: &[u8]) -> Result<u32, Box<Fault>> {
        refusals::check(call.name, body)?;
        let op = self.ops.get() + 1;
        let pending = PendingOp {
            what: call.name.to_owned(),
            issued: self.world().number_op(),
        };
        self.pending.borrow_mut().insert(op, pending);
        match self.perform(call.name, body, op) {
            Err(e) => {
                self.pending.borrow_mut().remove(&op);
                Err(codes::BAD_BODY.fault(e.to_string()))
            }
            Ok(name) => {
                self.ops.set(op);
                if let Some(pending) = self.pending.borrow_mut().get_mut(&op) {
                    pending.what = format!("{} {name}", call.name).trim_end().to_owned();
                }
                let what = Happening::Issued {
                    kind: call.name.to_owned(),
                    name,
                    body: body.to_vec(),
                };
                self.history.borrow_mut().add(self.world().now(), op, what);
                Ok(op)
            }
        }
    }

    fn cancel(&self, op: u32) {
        let mut history = self.history.borrow_mut();
        if !history.forget(op) {
            history.add(self.world().now(), op, Happening::Canceled);
        }
        drop(history);
        self.pending.borrow_mut().remove(&op);
        self.give_up(op);
        if self.section.get() == op {
            self.unlock();
        }
    }

    fn perform(&self, call: &'static Call, _: &[u8]) -> Result<Vec<u8>, Box<Fault>> {
        Err(codes::WRONG_CONTEXT.fault(format!("{} was called in a workflow", call.name)))
    }
}

/// The encoding of a value that a test gives.
pub(crate) fn encode<T: serde::Serialize>(what: &str, value: &T) -> Vec<u8> {
    payload::encode(what, value).unwrap_or_else(|e| panic!("{e}"))
}
