//! The context of an operation.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::rc::Rc;

use serde::Serialize;

use crate::attempt::Attempt;
use crate::codes;
use crate::error::{Error, Result};
use crate::payload;
use crate::timestamp::Timestamp;
use crate::wire::{self, EntityMessage, OperationReply};
use crate::workflow::Workflow;

/// The capabilities of an operation of an entity with a state, besides changing it. An operation
/// that takes a `&EntityContext` as its first parameter is given one.
///
/// Messages and starts take effect once the operation is durable, and not at all if the operation
/// fails. It cannot wait for anything: entities that waited for each other could stop each other
/// for ever. To wait, let the operation start a workflow.
///
/// ```
/// use cruster::prelude::*;
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
///
///     fn give(&mut self, cx: &EntityContext, to: String, cents: i64) -> Result<i64, Error> {
///         if cents > self.cents {
///             cruster::bail!("too_poor", "{} has only {} cents", cx.id(), self.cents);
///         }
///         Account::client(cx, to).deposit(cents).send()?;
///         Ok(self.deposit(-cents))
///     }
///
///     fn close(&mut self, cx: &EntityContext) -> Result<(), Error> {
///         cx.destroy()
///     }
/// }
/// ```
pub struct EntityContext(Rc<Shared>);

struct Shared {
    attempt: Attempt,
    /// None of its effects are kept.
    read_only: bool,
    sent: RefCell<Vec<EntityMessage>>,
    started: RefCell<Vec<wire::Call>>,
    destroyed: Cell<bool>,
}

impl EntityContext {
    pub(crate) fn new(attempt: &Attempt, read_only: bool) -> Self {
        EntityContext(Rc::new(Shared {
            attempt: attempt.clone(),
            read_only,
            sent: RefCell::default(),
            started: RefCell::default(),
            destroyed: Cell::new(false),
        }))
    }

    pub(crate) fn attempt(&self) -> &Attempt {
        &self.0.attempt
    }

    pub(crate) fn handle(&self) -> Self {
        EntityContext(self.0.clone())
    }

    /// The id of the entity.
    pub fn id(&self) -> &str {
        self.0.attempt.entity_id()
    }

    /// The tenant that the entity belongs to.
    pub fn namespace(&self) -> &str {
        &self.0.attempt.0.invocation.namespace
    }

    /// The real time.
    pub fn now(&self) -> Timestamp {
        self.0.attempt.now()
    }

    /// A value of the deployment's configuration.
    pub fn config(&self, name: &str) -> Option<String> {
        self.0.attempt.config(name)
    }

    /// Destroys the entity once the operation has succeeded. The next operation creates it
    /// anew. It is an error in an operation that is read-only.
    pub fn destroy(&self) -> Result<()> {
        self.check("destroy its entity")?;
        self.0.destroyed.set(true);
        Ok(())
    }

    /// A workflow of this module, which the operation can start.
    ///
    /// ```
    /// # use cruster::prelude::*;
    /// # #[workflow]
    /// # pub struct SendReminder;
    /// # #[workflow_impl]
    /// # impl SendReminder {
    /// #     async fn execute(&self, to: String) -> Result<(), Error> {
    /// #         log::info!("a reminder for {to}");
    /// #         Ok(())
    /// #     }
    /// # }
    /// # #[stateful_entity]
    /// # #[derive(Default, Serialize, Deserialize, Schema)]
    /// # pub struct Cart {
    /// #     items: u32,
    /// # }
    /// # #[operations]
    /// # impl Cart {
    /// fn add(&mut self, cx: &EntityContext, items: u32) -> Result<u32, Error> {
    ///     self.items += items;
    ///     cx.workflow::<SendReminder>().with_key(cx.id()).start(cx.id().to_owned())?;
    ///     Ok(self.items)
    /// }
    /// # }
    /// ```
    pub fn workflow<W: Workflow>(&self) -> WorkflowStarter<'_, W> {
        WorkflowStarter {
            cx: self,
            key: String::new(),
            mode: "",
            workflow: PhantomData,
        }
    }

    /// Refuses the effects forbidden to a read-only operation.
    fn check(&self, what: &str) -> Result<()> {
        if !self.0.read_only {
            return Ok(());
        }
        let message = format!("a read-only operation cannot {what}: nothing of it is kept");
        Err(Error::with_code(&codes::WRONG_CONTEXT, message))
    }

    pub(crate) fn send(&self, message: EntityMessage) -> Result<()> {
        self.check("send to an entity")?;
        self.0.sent.borrow_mut().push(message);
        Ok(())
    }

    pub(crate) fn destroyed(&self) -> bool {
        self.0.destroyed.get()
    }

    /// The reply of an operation that succeeded, with everything that it sent.
    pub(crate) fn reply(&self, value: Vec<u8>) -> OperationReply {
        OperationReply {
            error: None,
            sent: some(self.0.sent.take()),
            started: some(self.0.started.take()),
            value: Some(value),
        }
    }
}

/// Starts a workflow from an operation; see [`EntityContext::workflow`].
#[must_use = "a workflow is started with `start`"]
pub struct WorkflowStarter<'a, W> {
    cx: &'a EntityContext,
    key: String,
    mode: &'static str,
    workflow: PhantomData<fn(W)>,
}

impl<W: Workflow> WorkflowStarter<'_, W> {
    /// Uses the SHA-256 of `key` as the idempotency key, instead of the key derived from the
    /// request.
    pub fn with_key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self.mode = "hashed";
        self
    }

    /// Uses `key` itself as the idempotency key.
    pub fn with_key_raw(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self.mode = "raw";
        self
    }

    /// Starts the workflow once the operation is durable, unless it was started with the
    /// same key before.
    pub fn start(self, request: W::Request) -> Result<()> {
        self.cx.check("start a workflow")?;
        let call = wire::Call {
            input: Some(encode(W::NAME, &request)?),
            key: self.key,
            key_mode: self.mode.to_owned(),
            on_cancel: String::new(),
            workflow: W::NAME.to_owned(),
        };
        self.cx.0.started.borrow_mut().push(call);
        Ok(())
    }
}

fn some<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

fn encode<T: Serialize>(workflow: &str, request: &T) -> Result<Vec<u8>> {
    payload::encode(format_args!("the request of workflow {workflow}"), request)
}
