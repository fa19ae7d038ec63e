//! The entities of a test: they run for real, and their states are kept by id.

use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::codes;
use crate::entity::{CallsEntities, Entity, EntityDefinition, StatefulEntity};
use crate::error::{Error, Result};
use crate::payload;
use crate::testing::api::Api;
use crate::testing::entity_store::{Posted, Stored, Target, Work};
use crate::testing::operation;
use crate::testing::request;
use crate::testing::run::{Run, encode};
use crate::testing::words::{hinted, quoted};
use crate::testing::world::World;
use crate::wire::{EntityMessage, Fault, NIL, Settled};

/// How many messages entities may send before a test counts as one without an end.
const MAX_MESSAGES: usize = 100_000;

impl World<Run> {
    /// Checks a call as the host does before it accepts it; `from` is the deployment of the
    /// caller.
    pub(crate) fn accept_call(
        &self,
        from: &str,
        message: &EntityMessage,
    ) -> Result<Target, Box<Fault>> {
        let (name, module, entity) = self.find_entity(from, &message.entity)?;
        let called = &message.operation;
        let Some(operation) = entity.all().find(|o| o.name == called) else {
            return Err(unknown_operation(entity, called));
        };
        let input = message.input.as_deref().unwrap_or(NIL);
        let what = format!("the input of {}", quoted(called, usize::MAX));
        let input = request::fit(&what, operation.input, input).map_err(|fault| {
            match fault.code == codes::BAD_INPUT.code {
                true if fault.message.starts_with(&what) => {
                    codes::OPERATION_INPUT.fault(fault.message)
                }
                true => codes::OPERATION_INPUT.fault(format!("{what}: {}", fault.message)),
                false => fault,
            }
        })?;
        Ok(Target {
            name,
            module,
            entity,
            operation,
            input,
        })
    }

    /// Lets a call run after the calls posted before.
    fn post(self: &Rc<Self>, target: Target, then: impl FnOnce(Settled) + 'static) {
        self.post_work(Work::Operation(target), None, then);
    }

    pub(crate) fn post_work(
        self: &Rc<Self>,
        work: Work,
        from: Option<String>,
        then: impl FnOnce(Settled) + 'static,
    ) {
        let then = Box::new(then);
        let posted = Posted { work, from, then };
        self.entities.borrow_mut().calls.push_back(posted);
        self.plan_call();
    }

    /// Plans the run of one call.
    pub(crate) fn plan_call(self: &Rc<Self>) {
        let world = Rc::downgrade(self);
        self.after(Duration::ZERO, move || {
            if let Some(world) = world.upgrade() {
                world.run_call();
            }
        });
    }

    /// Runs the call that was posted first; returns whether there was one.
    fn run_call(self: &Rc<Self>) -> bool {
        let next = self.entities.borrow_mut().calls.pop_front();
        let Some(posted) = next else {
            return false;
        };
        if self.has_to_wait(&posted) {
            self.entities.borrow_mut().waiting.push(posted);
            return true;
        }
        let Posted { work, then, .. } = posted;
        then(match work {
            Work::Operation(target) => self.operate(&target),
            Work::Lock { entity, by } => {
                self.entities.borrow_mut().locks.insert(entity, by);
                Ok(NIL.to_vec())
            }
        });
        true
    }

    /// Runs one operation now, and posts its messages.
    pub(crate) fn operate(self: &Rc<Self>, target: &Target) -> Settled {
        let from = target.name.split('/').next().unwrap_or_default();
        let reply = operation::run(self, target)?;
        for message in reply.sent.into_iter().flatten() {
            match self.accept_call(from, &message) {
                Ok(target) => self.post(target, unseen),
                Err(fault) => unseen(Err(fault)),
            }
        }
        for call in reply.started.into_iter().flatten() {
            unseen(self.call(from, &call, None).map(|_| Vec::new()));
        }
        Ok(reply.value.unwrap_or_else(|| NIL.to_vec()))
    }

    /// Runs the calls that are left, as a host does also after the end of the execution
    /// that made them.
    pub(crate) fn finish_calls(self: &Rc<Self>) {
        for _ in 0..MAX_MESSAGES {
            if !self.run_call() {
                return;
            }
        }
        panic!("the entities send messages without an end");
    }
}

fn unknown_operation(entity: &EntityDefinition, name: &str) -> Box<Fault> {
    let mut known: Vec<&str> = entity.all().map(|o| o.name).collect();
    known.sort_unstable();
    let message = format!(
        "the entity {} has no operation {}",
        quoted(entity.options.name, usize::MAX),
        quoted(name, 100)
    );
    let hint = format!("It has {}.", known.join(", "));
    hinted(codes::UNKNOWN_OPERATION.fault(message), hint)
}

/// Notes the error of a call that its caller does not wait for.
fn unseen(result: Settled) {
    if let Err(fault) = result {
        log::warn!("{}: {}", fault.code, fault.message);
    }
}

impl Run {
    /// A workflow calls an entity, or sends to it.
    pub(crate) fn call_entity(&self, op: u32, message: &EntityMessage, wait: bool) {
        let now = |result| self.deliver(Duration::ZERO, op, result);
        let world = self.world();
        match world.accept_call(&self.kind.deployment, message) {
            Err(fault) => now(Err(fault)),
            Ok(target) => self.post_call(op, target, wait),
        }
    }

    fn post_call(&self, op: u32, target: Target, wait: bool) {
        let now = |result| self.deliver(Duration::ZERO, op, result);
        let world = self.world();
        match self.refuses_entity(&target, wait) {
            Err(fault) => now(Err(fault)),
            Ok(()) if wait => {
                let (run, from) = (self.me(), Some(self.id.clone()));
                world.post_work(Work::Operation(target), from, move |result| {
                    run.deliver(Duration::ZERO, op, result);
                });
            }
            Ok(()) => {
                world.post(target, unseen);
                now(Ok(NIL.to_vec()));
            }
        }
    }
}

/// The entities of a test. Calls of a client run for real and at once:
///
/// ```
/// use cruster::prelude::*;
/// use cruster::testing::Test;
///
/// #[stateful_entity]
/// #[derive(Default, Serialize, Deserialize, Schema)]
/// pub struct Account {
///     cents: i64,
/// }
///
/// #[operations]
/// impl Account {
///     fn deposit(&mut self, cents: i64) -> i64 {
///         self.cents += cents;
///         self.cents
///     }
/// }
///
/// cruster::module! { entities: [Account] }
///
/// // In a test:
/// # fn main() {
/// let bank = Test::new(&MODULE).entities();
/// assert_eq!(Account::client(&bank, "ada").deposit(500).call().unwrap(), 500);
/// assert_eq!(Account::client(&bank, "ada").deposit(-200).call().unwrap(), 300);
/// assert_eq!(bank.state::<Account>("ada").unwrap().cents, 300);
/// assert!(bank.state::<Account>("bob").is_none());
/// # }
/// ```
///
/// Get them from [`Test::entities`](super::Test::entities), or after a workflow from
/// [`Finished::entities`](super::Finished::entities).
pub struct Entities(pub(crate) Rc<World<Run>>);

impl Entities {
    /// The state of an entity; `None` if there is none.
    ///
    /// # Panics
    ///
    /// If the state does not decode.
    pub fn state<S: StatefulEntity>(&self, id: &str) -> Option<S> {
        let name = format!("{}/{}/{id}", self.0.home_of(S::NAME), S::NAME);
        let stored = self.0.entities.borrow().states.get(&name).cloned()?;
        Some(S::restore(&name, &stored.raw, stored.version).unwrap_or_else(|e| panic!("{e}")))
    }

    /// The ids of the entities of a type that have a state, in order.
    pub fn ids<E: Entity>(&self) -> Vec<String> {
        let prefix = format!("{}/{}/", self.0.home_of(E::NAME), E::NAME);
        let store = self.0.entities.borrow();
        let ids = store.states.keys().filter_map(|k| k.strip_prefix(&prefix));
        ids.map(ToOwned::to_owned).collect()
    }

    /// Lets everything happen that operations have caused: messages to other entities,
    /// and workflows that they started.
    pub fn settle(&self) {
        self.0.settle();
    }
}

impl fmt::Debug for Entities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.entities.borrow().states.keys())
            .finish()
    }
}

impl CallsEntities for Entities {
    type Call<T: DeserializeOwned> = DirectCall<T>;

    fn deployment(&self) -> String {
        self.0.config.deployment.clone()
    }

    fn prepare<T: DeserializeOwned>(&self, message: Result<EntityMessage>) -> DirectCall<T> {
        DirectCall {
            call: message.map(|message| (self.0.clone(), message)),
            result: PhantomData,
        }
    }
}

impl CallsEntities for Api {
    type Call<T: DeserializeOwned> = DirectCall<T>;

    fn deployment(&self) -> String {
        self.world()
            .map_or_else(|_| String::new(), |world| world.config.deployment.clone())
    }

    fn prepare<T: DeserializeOwned>(&self, message: Result<EntityMessage>) -> DirectCall<T> {
        DirectCall {
            call: message.and_then(|message| Ok((self.world()?, message))),
            result: PhantomData,
        }
    }
}

/// A call of an entity by a test, as a client of the host makes it.
#[must_use = "an entity is not called before `call` or `send`"]
pub struct DirectCall<T> {
    call: Result<(Rc<World<Run>>, EntityMessage)>,
    result: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> DirectCall<T> {
    /// Calls the entity and returns the result of the operation.
    pub fn call(self) -> Result<T> {
        let (world, message) = self.call?;
        let target = world
            .accept_call(&world.config.deployment, &message)
            .map_err(Error::from_fault)?;
        if let Some(holder) = world.holder(&target.name) {
            // No caller could wait here.
            let (name, execution) = (&target.name, &holder.execution);
            let message = format!("{name} is locked by {execution}: a host has the call wait");
            return Err(Error::with_code(&codes::IN_SECTION, message));
        }
        let value = world.operate(&target).map_err(Error::from_fault)?;
        let (operation, entity) = (&message.operation, &message.entity);
        let misfit = format_args!("the result of operation {operation} of {entity} does not fit");
        payload::decode(&value, &codes::BAD_BODY, misfit)
    }

    /// Sends the call; it runs when time goes on, at the latest with
    /// [`Entities::settle`].
    pub fn send(self) -> Result<()> {
        let (world, message) = self.call?;
        let target = world
            .accept_call(&world.config.deployment, &message)
            .map_err(Error::from_fault)?;
        world.post(target, unseen);
        Ok(())
    }
}

/// The state that an entity has before a test.
pub(crate) fn stored<S: StatefulEntity>(id: &str, state: &S) -> (String, Stored) {
    let raw = encode(&format!("the state of {}", S::NAME), state);
    let version = S::VERSION;
    (format!("{}/{id}", S::NAME), Stored { raw, version })
}
