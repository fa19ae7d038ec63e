//! The handlers of a workflow's updates.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::error::Result;
use crate::named::{Named, find, replace};
use crate::wire::{Delivery, UpdateRequest};

/// Begins to handle an update. `C` is a handle of the execution.
pub(crate) type Handler<C> = Rc<dyn Fn(&C, UpdateRequest)>;

/// Looks at the input of an update.
pub(crate) type Validator = Rc<dyn Fn(&[u8]) -> Result<()>>;

/// Takes in an update that was delivered.
pub(crate) type Take<C> = fn(&C, &Delivery);

/// The updates of a workflow.
pub(crate) struct Updating<C> {
    /// The op that waits for the next one; 0 if the workflow takes none.
    op: Cell<u32>,
    take: Cell<Option<Take<C>>>,
    handlers: Named<Handler<C>>,
    validators: Named<Validator>,
    /// Updates without a handler so far.
    early: RefCell<Vec<UpdateRequest>>,
}

impl<C> Default for Updating<C> {
    fn default() -> Self {
        Updating {
            op: Cell::default(),
            take: Cell::default(),
            handlers: RefCell::default(),
            validators: RefCell::default(),
            early: RefCell::default(),
        }
    }
}

impl<C> Updating<C> {
    /// Whether an update can come that a handler would take. The waits it would wake are unknown:
    /// tasks may wait for anything.
    pub(super) fn waits(&self) -> bool {
        self.op.get() != 0 && !self.handlers.borrow().is_empty()
    }

    pub(super) fn clear(&self) {
        drop((self.handlers.take(), self.validators.take()));
    }

    /// Has a function take in the delivery of an op.
    pub(crate) fn take_by(&self, op: u32, take: Take<C>) {
        self.take.set(Some(take));
        self.op.set(op);
    }

    /// The function that takes in a delivery, if that is an update.
    pub(crate) fn taker(&self, delivery: &Delivery) -> Option<Take<C>> {
        let is_update = delivery.op == self.op.get();
        self.take.get().filter(|_| is_update)
    }

    pub(crate) fn handler(&self, name: &str) -> Option<Handler<C>> {
        find(&self.handlers, name)
    }

    /// Keeps an update until its handler is set.
    pub(crate) fn keep(&self, update: UpdateRequest) {
        self.early.borrow_mut().push(update);
    }

    /// Sets a handler, and returns the updates without one so far.
    pub(crate) fn handle(&self, name: &'static str, handler: Handler<C>) -> Vec<UpdateRequest> {
        let before = replace(&self.handlers, name, handler);
        drop(before);
        self.early.take()
    }

    pub(crate) fn set_validator(&self, name: &'static str, run: Validator) {
        let before = replace(&self.validators, name, run);
        drop(before);
    }

    pub(crate) fn validate(&self, update: &UpdateRequest) -> Result<()> {
        let input = update.input.as_deref().unwrap_or_default();
        match find(&self.validators, &update.name) {
            Some(validator) => validator(input),
            None => Ok(()),
        }
    }
}
