//! The simulated host: a virtual clock, a queue of events, and the executions.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use crate::codes;
use crate::definition::{KeyMode, WorkflowDefinition};
use crate::module::{Module, Started};
use crate::testing::canonical::canonical;
use crate::testing::config::{Config, WorkflowStub};
use crate::testing::entities::EntityStore;
use crate::testing::history::History;
use crate::testing::key_host::KeyHost;
use crate::testing::panics;
use crate::testing::places::Moment;
use crate::testing::published::Published;
use crate::testing::refusals::check_key;
use crate::testing::request;
use crate::testing::run::callees::Caller;
use crate::testing::run::{Run, RunKind};
use crate::testing::sha256;
use crate::testing::signals::Unread;
use crate::testing::watchdog;
use crate::testing::words::quoted;
use crate::timestamp::Timestamp;
use crate::wire::{Call, Fault, Invocation, Outcome, Wire};

type Planned = Box<dyn FnOnce()>;

/// How many events a test lets happen before it counts as one without an end.
const MAX_EVENTS: usize = 100_000;

/// When an event happens. Events due at the same time all happen first and are delivered
/// afterwards: work in the order in which it was planned, deliveries in the order in which their
/// ops were issued. A host does the same.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Timestamp,
    /// The number of the op; zero for work.
    issued: u64,
    planned: u64,
}

pub(crate) struct World {
    pub(crate) module: &'static Module,
    pub(crate) config: Config,
    now: Cell<Timestamp>,
    queue: RefCell<BTreeMap<Due, Planned>>,
    /// Counts the work that was planned, and the ops that were issued.
    planned: Cell<u64>,
    issued: Cell<u64>,
    runs: RefCell<BTreeMap<String, Rc<Run>>>,
    pub(crate) entities: RefCell<EntityStore>,
}

impl World {
    pub(crate) fn new(module: &'static Module, config: Config) -> Rc<Self> {
        assert!(
            !config.modules.contains_key(&config.deployment),
            "the test has two modules of the name {:?}",
            config.deployment
        );
        let world = Rc::new(World {
            module,
            now: Cell::new(config.start),
            config,
            queue: RefCell::default(),
            planned: Cell::new(0),
            issued: Cell::new(0),
            runs: RefCell::default(),
            entities: RefCell::default(),
        });
        world.config.api.open(&world);
        for (name, state) in &world.config.entities {
            let entity = name.split('/').next().unwrap_or_default();
            let name = format!("{}/{name}", world.home_of(entity));
            world
                .entities
                .borrow_mut()
                .states
                .insert(name, state.clone());
        }
        world
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.now.get()
    }

    /// Plans work.
    pub(crate) fn after(&self, delay: Duration, apply: impl FnOnce() + 'static) {
        self.deliver_after(delay, 0, apply);
    }

    /// Plans the delivery of an op; `issued` is its number.
    pub(crate) fn deliver_after(
        &self,
        delay: Duration,
        issued: u64,
        apply: impl FnOnce() + 'static,
    ) {
        let due = Due {
            at: self.now() + delay,
            issued,
            planned: next(&self.planned),
        };
        self.queue.borrow_mut().insert(due, Box::new(apply));
    }

    /// The number of the next op, among the ops of all executions.
    pub(crate) fn number_op(&self) -> u64 {
        next(&self.issued)
    }

    /// The number of the last op, among the ops of all executions.
    pub(crate) fn last_op(&self) -> u64 {
        self.issued.get()
    }

    /// The time, or when the host is back if it is away then.
    fn up(&self, mut at: Timestamp) -> Timestamp {
        let start = self.config.start;
        for down in &self.config.down {
            if at >= start && down.contains(&(at - start)) {
                at = start + down.end;
            }
        }
        at
    }

    /// Runs a workflow to its end.
    #[track_caller]
    pub(crate) fn execute(self: &Rc<Self>, workflow: &str, body: Vec<u8>) -> Ended {
        let deployment = &self.config.deployment;
        let found = self.workflow(deployment, workflow);
        let kind = RunKind::of(deployment, workflow, found.as_ref().ok().copied());
        let checked = found.and_then(|found| {
            let body = request::check(found.1, &body)?;
            let key = derive_key(Some(found), &body)?;
            Ok((body, key))
        });
        let (body, key) = match checked {
            Ok((body, key)) => (body, Ok(key)),
            Err(refused) => (body, Err(refused)),
        };
        let id = self.config.execution_id.clone().unwrap_or_else(|| {
            let key = key.as_deref().unwrap_or("bad-key");
            format!("{deployment}/{workflow}/{key}")
        });
        let root = self.add_run(id, kind, body);
        match key {
            Err(fault) => root.finish(Outcome::failed(fault)),
            Ok(_) => {
                for event in &self.config.outside {
                    let (apply, target) = (event.apply.clone(), root.clone());
                    match &event.when {
                        Moment::After(time) => {
                            let at = self.up(self.now() + *time);
                            self.after(at - self.now(), move || apply(&target));
                        }
                        Moment::At { place, nth } => root.places.plan(place, *nth, apply),
                    }
                }
                for (name, value) in &self.config.signals {
                    root.send_from_test(name, value);
                }
                root.begin();
                self.turn(&root);
            }
        }
        let outcome = root.outcome().unwrap_or_default();
        let history = root.take_history(&outcome);
        let unread = root.unread();
        root.places.check();
        for event in self.config.outside.iter().filter(|e| e.question) {
            (event.apply)(&root);
        }
        self.finish_calls();
        self.let_callees_stop();
        self.close();
        Ended {
            outcome,
            history,
            unread,
            published: root.published.borrow().clone(),
            earlier: root.earlier(),
        }
    }

    /// Lets time pass until the execution ends.
    fn turn(&self, root: &Run) {
        while root.outcome().is_none() {
            // A module would end here too, regardless of the test's plans.
            let next = match root.stuck() {
                true => None,
                false => self.queue.borrow_mut().pop_first(),
            };
            let Some((due, apply)) = next else {
                let message = match root.stuck() {
                    true => root.deadlock(),
                    false => format!(
                        "the workflow waits for ever: nothing is left that could happen, and it waits for {}",
                        root.waits_for()
                    ),
                };
                root.finish(Outcome::failed(codes::GUEST_DEADLOCK.fault(message)));
                return;
            };
            self.now.set(self.up(due.at).max(self.now()));
            apply();
        }
    }

    /// Lets abandoned ones clean up.
    fn let_callees_stop(&self) {
        while self.runs_that_are_not_over().any(|run| run.is_stopping()) {
            let next = self.queue.borrow_mut().pop_first();
            let Some((due, apply)) = next else { return };
            self.now.set(self.up(due.at).max(self.now()));
            apply();
        }
    }

    pub(crate) fn runs_that_are_not_over(&self) -> impl Iterator<Item = Rc<Run>> + use<> {
        let runs: Vec<_> = self.runs.borrow().values().cloned().collect();
        runs.into_iter().filter(|run| run.outcome().is_none())
    }

    /// Lets everything happen that is planned.
    pub(crate) fn settle(self: &Rc<Self>) {
        for _ in 0..MAX_EVENTS {
            let next = self.queue.borrow_mut().pop_first();
            let Some((due, apply)) = next else { return };
            self.now.set(self.up(due.at).max(self.now()));
            apply();
        }
        panic!("there is no end of what happens: more than {MAX_EVENTS} events");
    }

    /// Breaks the cycles between the executions and their planned events.
    fn close(&self) {
        let planned = std::mem::take(&mut *self.queue.borrow_mut());
        drop(planned);
        for (_, run) in std::mem::take(&mut *self.runs.borrow_mut()) {
            run.close();
        }
    }

    pub(crate) fn run(&self, id: &str) -> Option<Rc<Run>> {
        self.runs.borrow().get(id).cloned()
    }

    fn add_run(self: &Rc<Self>, id: String, kind: RunKind, body: Vec<u8>) -> Rc<Run> {
        let run = Run::new(self, &id, kind, body);
        self.runs.borrow_mut().insert(id, run.clone());
        run
    }

    /// Starts another workflow or finds the execution that has its key; `from` is the
    /// deployment of the caller.
    pub(crate) fn call(
        self: &Rc<Self>,
        from: &str,
        call: &Call,
        caller: Option<Caller>,
    ) -> Result<Rc<Run>, Box<Fault>> {
        let Accepted {
            id,
            kind,
            input,
            stub,
        } = self.accept_start(from, call)?;
        if let Some(run) = self.run(&id) {
            return Ok(run);
        }
        let run = self.add_run(id, kind, input.clone());
        *run.caller.borrow_mut() = caller;
        let started = run.clone();
        match stub {
            None => self.after(Duration::ZERO, move || started.begin()),
            Some(stub) => self.after(Duration::ZERO, move || {
                if started.outcome().is_none() {
                    let outcome = (stub.borrow_mut())(&input);
                    started.finish(outcome);
                }
            }),
        }
        Ok(run)
    }

    /// Checks a start as the host does before it accepts it.
    pub(crate) fn accept_start(&self, from: &str, call: &Call) -> Result<Accepted, Box<Fault>> {
        let (deployment, name) = World::split_workflow(from, &call.workflow);
        let stub = self.stub_of(deployment, name);
        let found = match (self.workflow(deployment, name), &stub) {
            (Ok(found), _) => Some(found),
            (Err(_), Some(_)) => None,
            (Err(fault), None) => return Err(fault),
        };
        let mut input = call.input.clone().unwrap_or_default();
        if let (Some((_, definition)), None) = (found, &stub) {
            input = request::check(definition, &input)?;
        }
        let key = match call.key_mode.as_str() {
            "hashed" => sha256::hex(&check_key(call.key.clone())?.encode()),
            "raw" => check_key(call.key.clone())?,
            _ => derive_key(found, &input)?,
        };
        Ok(Accepted {
            id: format!("{deployment}/{name}/{key}"),
            kind: RunKind::of(deployment, name, found),
            input,
            stub,
        })
    }

    /// The test's replacement of a workflow.
    fn stub_of(&self, deployment: &str, name: &str) -> Option<Rc<RefCell<WorkflowStub>>> {
        let stubs = &self.config.workflows;
        stubs
            .get(&self.name_in_test(deployment, name))
            .or_else(|| stubs.get(&format!("{deployment}/{name}")))
            .cloned()
    }
}

/// A start that was accepted.
pub(crate) struct Accepted {
    id: String,
    kind: RunKind,
    input: Vec<u8>,
    stub: Option<Rc<RefCell<WorkflowStub>>>,
}

type Found = Option<(&'static Module, &'static WorkflowDefinition)>;

/// Computes the key of a request as the host does. That of a stub is its hash.
fn derive_key(workflow: Found, body: &[u8]) -> Result<String, Box<Fault>> {
    let (answer, raw) = match workflow {
        Some((module, w)) if w.key != KeyMode::Request => {
            let answer = ask_key(module, w.name, body)?;
            (answer, (w.key == KeyMode::FunctionRaw).then_some(w.name))
        }
        _ => (body.to_vec(), None),
    };
    if let Some(name) = raw {
        let key = String::decode(&answer).map_err(|_| {
            let name = quoted(name, usize::MAX);
            let message = format!("the raw key function of {name} did not return a string");
            codes::KEY_FUNCTION.fault(message)
        })?;
        return check_key(key);
    }
    let canonical = canonical(&answer).map_err(|e| codes::BAD_BODY.fault(e.to_string()))?;
    Ok(sha256::hex(&canonical))
}

fn ask_key(module: &'static Module, workflow: &str, body: &[u8]) -> Result<Vec<u8>, Box<Fault>> {
    let invocation = Invocation {
        body: Some(body.to_vec()),
        kind: "key".to_owned(),
        name: workflow.to_owned(),
        ..Invocation::default()
    };
    let failed = |why: &str| {
        let name = quoted(workflow, usize::MAX);
        codes::KEY_FUNCTION.fault(format!("the key function of {name} failed: {why}"))
    };
    let what = format!("the key function of {}", quoted(workflow, usize::MAX));
    let _watched = watchdog::other(what, watchdog::TURN_LIMIT);
    let started = panics::caught(|| module.start(Rc::new(KeyHost), invocation));
    let Started::Over(outcome) = started.map_err(|panic| {
        failed(&format!(
            "{}: the module crashed: {panic}",
            codes::GUEST_TRAP.code
        ))
    })?
    else {
        return Err(failed("it parked"));
    };
    outcome
        .into_result()
        .map_err(|fault| match fault.code == codes::BAD_INPUT.code {
            true => fault,
            false => failed(&fault.message),
        })
}

/// The end of the execution under test.
pub(crate) struct Ended {
    pub(crate) outcome: Outcome,
    pub(crate) history: History,
    pub(crate) unread: Vec<Unread>,
    pub(crate) published: Published,
    pub(crate) earlier: Vec<History>,
}

/// Counts on.
fn next(counter: &Cell<u64>) -> u64 {
    counter.set(counter.get() + 1);
    counter.get()
}
