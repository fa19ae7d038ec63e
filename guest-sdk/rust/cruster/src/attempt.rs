//! One attempt of an activity: its invocation, and the host it calls.

use std::rc::Rc;

use crate::codes;
use crate::error::{Error, Result};
use crate::host::{Call, Host};
use crate::wire::{Invocation, Wire};

/// One attempt of an activity.
#[derive(Clone)]
pub struct Attempt(pub(crate) Rc<AttemptCore>);

pub(crate) struct AttemptCore {
    pub(crate) host: Rc<dyn Host>,
    pub(crate) invocation: Invocation,
}

impl Attempt {
    pub(crate) fn new(host: Rc<dyn Host>, invocation: Invocation) -> Self {
        Attempt(Rc::new(AttemptCore { host, invocation }))
    }

    /// Performs an immediate call of the host.
    pub(crate) fn perform<T: Wire>(&self, call: &'static Call, body: &impl Wire) -> Result<T> {
        let raw = self
            .0
            .host
            .perform(call, &body.encode())
            .map_err(Error::from_fault)?;
        T::decode(&raw).map_err(|e| {
            Error::with_code(
                &codes::GUEST_PROTOCOL,
                format!("the reply of {} does not decode: {e}", call.name),
            )
        })
    }
}
