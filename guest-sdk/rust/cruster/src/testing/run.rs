//! One execution in the world, and the host of its workflow.

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
use crate::testing::attempt::{self, Step};
use crate::testing::canonical::canonical;
use crate::testing::history::{Happening, History};
use crate::testing::received::received;
use crate::testing::refusals;
use crate::testing::sha256;
use crate::testing::signals::Mailbox;
use crate::testing::world::World;
use crate::wire::{
    self, Delivery, Fault, Interruption, Malformed, NIL, Outcome, Resume, Settled, Wire,
};

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
    interrupt_op: Cell<u32>,
    /// Called at the end.
    listeners: RefCell<Vec<Listener>>,
    history: RefCell<History>,
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

/// A deferred of the execution.
#[derive(Default)]
struct Promise {
    settled: Option<Settled>,
    waiting: Vec<u32>,
}

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
            interrupt_op: Cell::new(0),
            listeners: RefCell::default(),
            history: RefCell::new(History {
                module: world.module,
                namespace: world.config.namespace.clone(),
                workflow: workflow.to_owned(),
                input,
                outcome: Outcome::default(),
                execution: id.to_owned(),
                start: world.now(),
                events: Vec::new(),
            }),
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
        let invocation = self.history.borrow().invocation();
        let world = self.world();
        let _log = logging::scope(world.now(), &self.id);
        match world.module.start(self.me(), invocation) {
            Started::Over(outcome) => self.finish(received(outcome)),
            Started::Workflow(execution) => self.keep(execution),
        }
    }

    /// Keeps the workflow for its next turn, unless it is over.
    fn keep(&self, execution: Execution) {
        let outcome = execution.outcome();
        *self.execution.borrow_mut() = Some(execution);
        if let Some(outcome) = outcome {
            self.finish(received(outcome));
        }
    }

    pub(crate) fn finish(&self, outcome: Outcome) {
        let listeners = std::mem::take(&mut *self.listeners.borrow_mut());
        *self.outcome.borrow_mut() = Some(outcome.clone());
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

    /// The signals that were delivered and that the workflow has not looked at.
    pub(crate) fn kept_signals(&self) -> Vec<(&'static str, Vec<u8>)> {
        let execution = self.execution.borrow();
        execution
            .as_ref()
            .map_or_else(Vec::new, Execution::kept_signals)
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
        let mut history = self.history.borrow().clone();
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
        let Outcome { error, value } = result.into();
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
                time: now.unix_nanos(),
            });
            self.keep(execution);
        }
    }

    /// Settles a deferred; returns whether it was open.
    pub(crate) fn settle(&self, name: &str, result: Settled) -> bool {
        let mut deferreds = self.deferreds.borrow_mut();
        let promise = deferreds.entry(name.to_owned()).or_default();
        if promise.settled.is_some() {
            return false;
        }
        promise.settled = Some(result.clone());
        for op in std::mem::take(&mut promise.waiting) {
            self.deliver(Duration::ZERO, op, result.clone());
        }
        true
    }

    /// Whether it has ended with the deferred open.
    fn is_over_without(&self, name: &str) -> bool {
        let settled = |d: &Promise| d.settled.is_some();
        self.outcome.borrow().is_some() && !self.deferreds.borrow().get(name).is_some_and(settled)
    }

    pub(crate) fn interrupt(&self, reason: &str) {
        let op = self.interrupt_op.get();
        if op != 0 {
            let body = Interruption {
                reason: reason.to_owned(),
            }
            .encode();
            self.deliver(Duration::ZERO, op, Ok(body));
        }
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
            "its own tasks".to_owned()
        } else {
            names.join(", ")
        }
    }

    pub(crate) fn state(&self) -> &'static str {
        match &*self.outcome.borrow() {
            None => "running",
            Some(Outcome { error: None, .. }) => "completed",
            Some(Outcome { error: Some(e), .. }) if e.code == codes::INTERRUPTED.code => {
                "interrupted"
            }
            Some(_) => "failed",
        }
    }

    /// Schedules the outcome of an op, and returns its name.
    fn perform(&self, kind: &str, body: &[u8], op: u32) -> Result<String, Malformed> {
        Ok(match kind {
            "sleep" => {
                let body = wire::Sleep::decode(body)?;
                let time = Duration::from_nanos(u64::try_from(body.duration).unwrap_or(0));
                self.deliver(time, op, Ok(NIL.to_vec()));
                format!("{time:?}")
            }
            "activity" => {
                let activity = wire::Activity::decode(body)?;
                let name = activity.name.clone();
                let step = Step {
                    op,
                    name: self.step(&activity)?,
                    activity,
                };
                let run = self.me();
                self.world().after(Duration::ZERO, move || {
                    attempt::attempt(&run, step, 1);
                });
                name
            }
            "deferred" => {
                let body = wire::Deferred::decode(body)?;
                self.await_deferred(&body.name, op);
                body.name
            }
            "resolve" => {
                let body = wire::Resolve::decode(body)?;
                let name = body.name.clone();
                self.resolve(op, body);
                name
            }
            "call" | "send" => {
                let body = wire::Call::decode(body)?;
                self.call(op, &body, kind == "call");
                body.workflow
            }
            "poll" => {
                let body = wire::Poll::decode(body)?;
                self.poll(op, &body.execution);
                body.execution
            }
            "receive" => {
                let body = wire::Receive::decode(body)?;
                self.receive(op, &body.name);
                body.name
            }
            "signal" => {
                let body = wire::Signal::decode(body)?;
                self.deliver(Duration::ZERO, op, self.world().signal(&body));
                body.name
            }
            "patched" => {
                let id = wire::Patched::decode(body)?.id;
                let patched = !self.world().config.unpatched.contains(&id);
                self.deliver(Duration::ZERO, op, Ok(patched.encode()));
                id
            }
            _ => {
                self.interrupt_op.set(op);
                String::new()
            }
        })
    }

    /// Names a step of the execution by what it is and by how many alike came before
    /// it, as the host does, so that a change of the code that inserts other steps
    /// leaves the name as it is.
    fn step(&self, activity: &wire::Activity) -> Result<String, Malformed> {
        let identity = match activity.key.as_str() {
            "" => {
                let input = activity.input.as_deref().unwrap_or_default();
                sha256::hex(&canonical(input)?)[..8].to_owned()
            }
            key => key.to_owned(),
        };
        let name = &activity.name;
        let mut steps = self.steps.borrow_mut();
        let occurrence = steps
            .entry((name.clone(), identity.clone()))
            .and_modify(|n| *n += 1)
            .or_insert(1);
        Ok(format!("{name}/{identity}/{occurrence}"))
    }

    fn await_deferred(&self, name: &str, op: u32) {
        let mut deferreds = self.deferreds.borrow_mut();
        let promise = deferreds.entry(name.to_owned()).or_default();
        match promise.settled.clone() {
            Some(result) => self.deliver(Duration::ZERO, op, result),
            None => promise.waiting.push(op),
        }
    }

    fn resolve(&self, op: u32, body: wire::Resolve) {
        let owner = match body.execution.as_str() {
            "" => Some(self.me()),
            id => self.world().run(id),
        };
        let result = match owner {
            None => Err(no_execution(&body.execution)),
            Some(owner) if owner.is_over_without(&body.name) => {
                let message = format!("{} is {}", owner.id, owner.state());
                Err(codes::ALREADY_OVER.fault(message))
            }
            Some(owner) => {
                let value = body.value.unwrap_or_else(|| NIL.to_vec());
                let result = body.error.map_or(Ok(value), Err);
                Ok(owner.settle(&body.name, result).encode())
            }
        };
        self.deliver(Duration::ZERO, op, result);
    }

    fn call(&self, op: u32, body: &wire::Call, wait: bool) {
        let now = |result| self.deliver(Duration::ZERO, op, result);
        match self.world().call(body) {
            Err(fault) => now(Err(fault)),
            Ok(other) if other.id == self.id => {
                let message = format!("{} called itself with its own key", self.id);
                now(Err(codes::CALL_TO_ITSELF.fault(message)));
            }
            Ok(other) if !wait => now(Ok(other.id.encode())),
            Ok(other) => {
                let run = self.me();
                other.on_end(move |outcome| {
                    run.deliver(Duration::ZERO, op, outcome.clone().into_result());
                });
            }
        }
    }

    fn poll(&self, op: u32, id: &str) {
        let result = match self.world().run(id) {
            None => Err(no_execution(id)),
            Some(run) => {
                let outcome = run.outcome().map(Box::new);
                Ok(wire::PollReply {
                    outcome,
                    state: run.state().to_owned(),
                }
                .encode())
            }
        };
        self.deliver(Duration::ZERO, op, result);
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
        self.history
            .borrow_mut()
            .add(self.world().now(), op, Happening::Canceled);
        self.pending.borrow_mut().remove(&op);
    }

    fn perform(&self, call: &'static Call, _: &[u8]) -> Result<Vec<u8>, Box<Fault>> {
        Err(codes::WRONG_CONTEXT.fault(format!("{} was called in a workflow", call.name)))
    }
}

/// The host of key functions, which may call nothing.
pub(crate) struct KeyHost;

impl Host for KeyHost {
    fn issue(&self, call: &'static Call, _: &[u8]) -> Result<u32, Box<Fault>> {
        Err(codes::WRONG_CONTEXT.fault(format!("{} was called in a key function", call.name)))
    }

    fn cancel(&self, _: u32) {}

    fn perform(&self, call: &'static Call, _: &[u8]) -> Result<Vec<u8>, Box<Fault>> {
        Err(codes::WRONG_CONTEXT.fault(format!("{} was called in a key function", call.name)))
    }
}

/// The encoding of a value that a test gives.
pub(crate) fn encode<T: serde::Serialize>(what: &str, value: &T) -> Vec<u8> {
    payload::encode(what, value).unwrap_or_else(|e| panic!("{e}"))
}
