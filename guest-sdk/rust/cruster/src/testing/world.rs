//! The simulated host: a virtual clock, a queue of events, and the executions.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use crate::codes;
use crate::definition::{KeyMode, WorkflowDefinition};
use crate::module::{Module, Started};
use crate::testing::canonical::canonical;
use crate::testing::config::Config;
use crate::testing::entities::EntityStore;
use crate::testing::history::History;
use crate::testing::published::Published;
use crate::testing::request;
use crate::testing::run::Run;
use crate::testing::run::callees::Caller;
use crate::testing::sha256;
use crate::testing::signals::Unread;
use crate::timestamp::Timestamp;
use crate::wire::{Call, Fault, Invocation, Outcome, Wire};

type Planned = Box<dyn FnOnce()>;

/// How many events a test lets happen before it counts as one without an end.
const MAX_EVENTS: usize = 100_000;

/// When an event happens. What is due at the same time happens first and is
/// delivered afterwards: work in the order in which it was planned, deliveries in
/// the order in which their ops were issued. A host does the same.
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
            let name = format!("{}/{name}", world.config.deployment);
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

    /// The number of the next op, among those of all executions.
    pub(crate) fn number_op(&self) -> u64 {
        next(&self.issued)
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
    pub(crate) fn execute(self: &Rc<Self>, workflow: &str, body: Vec<u8>) -> Ended {
        let checked = self
            .workflow(workflow)
            .and_then(|definition| request::check(definition, &body));
        let (body, key) = match checked {
            Ok(body) => {
                let key = self.derive_key(workflow, &body);
                (body, key)
            }
            Err(refused) => (body, Err(refused)),
        };
        let id =
            self.config.execution_id.clone().unwrap_or_else(|| {
                self.execution_id(workflow, key.as_deref().unwrap_or("bad-key"))
            });
        let root = self.add_run(id, workflow, body);
        match key {
            Err(fault) => root.finish(Outcome::failed(fault)),
            Ok(_) => {
                for event in &self.config.outside {
                    let (apply, target) = (event.apply.clone(), root.clone());
                    let at = self.up(self.now() + event.after);
                    self.after(at - self.now(), move || apply(&target));
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

    /// Lets time pass until the execution is over.
    fn turn(&self, root: &Run) {
        while root.outcome().is_none() {
            // A module would end here too, whatever the test has planned.
            let next = match root.stuck() {
                true => None,
                false => self.queue.borrow_mut().pop_first(),
            };
            let Some((due, apply)) = next else {
                let message = format!(
                    "the workflow waits for ever: nothing is left that could happen, and it waits for {}",
                    root.waits_for()
                );
                root.finish(Outcome::failed(codes::GUEST_DEADLOCK.fault(message)));
                return;
            };
            self.now.set(self.up(due.at).max(self.now()));
            apply();
        }
    }

    /// Lets those that were given up clean up.
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

    fn add_run(self: &Rc<Self>, id: String, workflow: &str, body: Vec<u8>) -> Rc<Run> {
        let run = Run::new(self, &id, workflow, body);
        self.runs.borrow_mut().insert(id, run.clone());
        run
    }

    /// Starts another workflow or finds the execution that has its key.
    pub(crate) fn call(
        self: &Rc<Self>,
        call: &Call,
        caller: Option<Caller>,
    ) -> Result<Rc<Run>, Box<Fault>> {
        let stub = self.config.workflows.get(&call.workflow).cloned();
        let name = match &stub {
            Some(_) => call.workflow.as_str(),
            None => self.own(&call.workflow)?,
        };
        let mut input = call.input.clone().unwrap_or_default();
        if stub.is_none() {
            input = request::check(self.workflow(name)?, &input)?;
        }
        let key = match call.key_mode.as_str() {
            "hashed" => sha256::hex(&check_key(call.key.clone())?.encode()),
            "raw" => check_key(call.key.clone())?,
            _ => self.derive_key(name, &input)?,
        };
        let id = self.execution_id(name, &key);
        if let Some(run) = self.run(&id) {
            return Ok(run);
        }
        let run = self.add_run(id, name, input.clone());
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

    /// The name of a workflow without that of the deployment, which must be the one
    /// under test.
    fn own<'a>(&self, workflow: &'a str) -> Result<&'a str, Box<Fault>> {
        match workflow.split_once('/') {
            None => Ok(workflow),
            Some((deployment, name)) if deployment == self.config.deployment => Ok(name),
            Some((deployment, _)) => {
                let message = format!("there is no deployment {deployment:?} in this test");
                let mut fault = codes::DEPLOYMENT_NOT_FOUND.fault(message);
                fault.hint =
                    "Replace workflows of other deployments with Test::stub_workflow.".to_owned();
                Err(fault)
            }
        }
    }

    fn workflow(&self, name: &str) -> Result<&'static WorkflowDefinition, Box<Fault>> {
        self.module.workflow(name).ok_or_else(|| {
            codes::UNKNOWN_WORKFLOW.fault(format!("there is no workflow {name} in this module"))
        })
    }

    /// Computes the key of a request as the host does.
    fn derive_key(self: &Rc<Self>, workflow: &str, body: &[u8]) -> Result<String, Box<Fault>> {
        let definition = self.module.workflow(workflow);
        let answer = match definition {
            Some(w) if w.key != KeyMode::Request => self.ask_key(workflow, body)?,
            _ => body.to_vec(),
        };
        if definition.is_some_and(|w| w.key == KeyMode::FunctionRaw) {
            let key =
                String::decode(&answer).map_err(|e| codes::KEY_FUNCTION.fault(e.to_string()))?;
            return check_key(key);
        }
        let canonical = canonical(&answer).map_err(|e| codes::BAD_BODY.fault(e.to_string()))?;
        Ok(sha256::hex(&canonical))
    }

    fn execution_id(&self, workflow: &str, key: &str) -> String {
        match workflow.contains('/') {
            true => format!("{workflow}/{key}"),
            false => format!("{}/{workflow}/{key}", self.config.deployment),
        }
    }

    fn ask_key(self: &Rc<Self>, workflow: &str, body: &[u8]) -> Result<Vec<u8>, Box<Fault>> {
        let invocation = Invocation {
            body: Some(body.to_vec()),
            kind: "key".to_owned(),
            name: workflow.to_owned(),
            ..Invocation::default()
        };
        let Started::Over(outcome) = self
            .module
            .start(Rc::new(super::key_host::KeyHost), invocation)
        else {
            return Err(codes::GUEST_PROTOCOL.fault("a key function cannot wait"));
        };
        outcome.into_result()
    }
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

/// Refuses keys that the host refuses.
pub(crate) fn check_key(key: String) -> Result<String, Box<Fault>> {
    let begin: String = key.chars().take(40).collect();
    if key.is_empty() || key.len() > 512 {
        let message = format!("the key {begin:?} is empty or longer than 512 bytes");
        return Err(codes::BAD_KEY.fault(message));
    }
    if key.contains(char::is_control) {
        let message = format!("the key {begin:?} has a control character");
        return Err(codes::BAD_KEY.fault(message));
    }
    Ok(key)
}
