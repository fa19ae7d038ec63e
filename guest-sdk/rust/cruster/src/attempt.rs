//! One attempt of an activity: its invocation, and the host it calls.

use std::rc::Rc;

use crate::codes;
use crate::error::{Error, Result};
use crate::host::{CONFIG, Call, Host};
use crate::owner::Given;
use crate::timestamp::Timestamp;
use crate::wire::{ConfigReply, ConfigRequest, Invocation, Wire};

/// One attempt of an activity, or one invocation of an entity.
#[derive(Clone)]
pub struct Attempt(pub(crate) Rc<AttemptCore>);

pub(crate) struct AttemptCore {
    pub(crate) host: Rc<dyn Host>,
    pub(crate) invocation: Invocation,
    /// The values of the module's structs.
    pub(crate) given: &'static [Given],
}

impl Attempt {
    pub(crate) fn new(host: Rc<dyn Host>, invocation: Invocation, given: &'static [Given]) -> Self {
        Attempt(Rc::new(AttemptCore {
            host,
            invocation,
            given,
        }))
    }

    /// The id of the entity: the part after the second `/` of its name.
    pub(crate) fn entity_id(&self) -> &str {
        let name = &self.0.invocation.execution;
        name.splitn(3, '/').nth(2).unwrap_or(name)
    }

    /// The real time. A module without WASI has no clock; there it is the time at which
    /// the invocation began.
    pub(crate) fn now(&self) -> Timestamp {
        #[cfg(all(target_family = "wasm", target_os = "wasi"))]
        return std::time::SystemTime::now().into();
        #[cfg(not(all(target_family = "wasm", target_os = "wasi")))]
        Timestamp::from_unix_nanos(self.0.invocation.time)
    }

    /// When the host ends it.
    pub(crate) fn deadline(&self) -> Timestamp {
        Timestamp::from_unix_nanos(self.0.invocation.deadline)
    }

    /// A value of the deployment's configuration.
    pub(crate) fn config(&self, name: &str) -> Option<String> {
        let request = ConfigRequest {
            name: name.to_owned(),
        };
        match self.perform::<ConfigReply>(&CONFIG, &request) {
            Ok(reply) => reply.found.then_some(reply.value),
            Err(e) => panic!("{e}"), // only a host that breaks the ABI gets here
        }
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
