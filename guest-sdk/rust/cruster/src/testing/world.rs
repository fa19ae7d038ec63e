//! The simulated world: a virtual clock, a queue of events, and the executions.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use crate::module::Module;
use crate::testing::config::Config;
use crate::testing::entity_store::EntityStore;
use crate::timestamp::Timestamp;

type Planned = Box<dyn FnOnce()>;

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

/// The surroundings of executions, which are an `R` each.
pub(crate) struct World<R> {
    pub(crate) module: &'static Module,
    pub(crate) config: Config,
    now: Cell<Timestamp>,
    queue: RefCell<BTreeMap<Due, Planned>>,
    /// Counts the work that was planned, and the ops that were issued.
    planned: Cell<u64>,
    issued: Cell<u64>,
    runs: RefCell<BTreeMap<String, Rc<R>>>,
    pub(crate) entities: RefCell<EntityStore>,
}

impl<R> World<R> {
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
    pub(crate) fn up(&self, mut at: Timestamp) -> Timestamp {
        let start = self.config.start;
        for down in &self.config.down {
            if at >= start && down.contains(&(at - start)) {
                at = start + down.end;
            }
        }
        at
    }

    /// Lets the next event happen; returns whether there was one.
    pub(crate) fn happens_next(&self) -> bool {
        let next = self.queue.borrow_mut().pop_first();
        let Some((due, apply)) = next else {
            return false;
        };
        self.now.set(self.up(due.at).max(self.now()));
        apply();
        true
    }

    /// Forgets all planned events.
    pub(crate) fn forget_events(&self) {
        let planned = std::mem::take(&mut *self.queue.borrow_mut());
        drop(planned);
    }

    /// All executions, in the order of their ids.
    pub(crate) fn runs(&self) -> Vec<Rc<R>> {
        self.runs.borrow().values().cloned().collect()
    }

    pub(crate) fn add(&self, id: String, run: Rc<R>) {
        self.runs.borrow_mut().insert(id, run);
    }

    /// Removes all executions.
    pub(crate) fn take_runs(&self) -> Vec<Rc<R>> {
        std::mem::take(&mut *self.runs.borrow_mut())
            .into_values()
            .collect()
    }

    pub(crate) fn run(&self, id: &str) -> Option<Rc<R>> {
        self.runs.borrow().get(id).cloned()
    }
}

/// Counts on.
fn next(counter: &Cell<u64>) -> u64 {
    counter.set(counter.get() + 1);
    counter.get()
}
