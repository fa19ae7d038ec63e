//! Runs operations of an entity with a state, one after the other.
//!
//! The state is decoded once and encoded once, however many operations there are. An operation that
//! fails has changed nothing: the state is restored.

use std::fmt;

use crate::attempt::Attempt;
use crate::codec::MAX_VALUE;
use crate::codes;
use crate::entity::{EntityContext, OperationDefinition, StatefulEntity, unknown_operation};
use crate::error::{Error, Result};
use crate::host::begin_operation;
use crate::payload;
use crate::wire::{Binary, EntityCall, OperationReply, Operations, OperationsReply, Outcome, Wire};

/// How large a state may be.
const MAX_STATE: usize = 2 << 20;

/// Runs the operations of an invocation.
pub fn run_operations<S: StatefulEntity>(attempt: Attempt) -> Outcome {
    let body = attempt.0.invocation.body.as_deref().unwrap_or_default();
    let operations = match Operations::decode(body) {
        Ok(operations) => operations,
        Err(e) => {
            let message = format!("the operations do not decode: {e}");
            return Outcome::failed(codes::BAD_BODY.fault(message));
        }
    };
    Batch::<S>::run(&attempt, &operations)
        .map_err(|e| e.of_operation())
        .into()
}

/// The state between two operations.
struct Batch<'a, S> {
    attempt: &'a Attempt,
    given: &'a Operations,
    state: Option<S>,
    /// An operation has changed the state.
    changed: bool,
}

/// The state before an operation.
enum Before<S> {
    /// There was no entity.
    Nothing,
    /// The host's input.
    Given,
    Copy(S),
    Encoded(Vec<u8>),
}

impl<'a, S: StatefulEntity> Batch<'a, S> {
    /// The encoded reply. If it is too large, the host has the operations run in smaller
    /// batches, and so finds the one to blame.
    fn run(attempt: &'a Attempt, given: &'a Operations) -> Result<Vec<u8>> {
        let mut batch = Batch::<S> {
            attempt,
            given,
            state: decode_given(attempt, given)?,
            changed: false,
        };
        let calls = given.operations.iter().enumerate();
        let replies = calls
            .map(|(index, call)| {
                begin_operation(index);
                batch.reply(call)
            })
            .collect();
        begin_operation(given.operations.len());
        let (state, version) = batch.end()?;
        let reply = OperationsReply {
            replies,
            state,
            version,
        };
        let reply = reply.encode();
        within("the reply of the operations", reply.len(), MAX_VALUE)?;
        Ok(reply)
    }

    /// The state for the host: its own input, if no operation has changed it.
    fn end(&self) -> Result<(Binary, u32)> {
        if !self.changed {
            return Ok((self.given.state.clone(), self.given.version));
        }
        let state = self.state.as_ref().map(encode_state).transpose()?;
        Ok((state, S::VERSION))
    }

    fn reply(&mut self, call: &EntityCall) -> OperationReply {
        self.perform(call).unwrap_or_else(|e| OperationReply {
            error: Some(e.of_operation()),
            ..OperationReply::default()
        })
    }

    fn perform(&mut self, call: &EntityCall) -> Result<OperationReply> {
        let name = call.operation.as_str();
        let Some(operation) = S::DEFINITION.all().find(|o| o.name == name) else {
            return Err(unknown_operation::<S>(name));
        };
        let input = call.input.as_deref().unwrap_or_default();
        if operation.read_only {
            return self.read(operation, input);
        }
        let before = self.before()?;
        let reply = self.change(operation, input);
        match &reply {
            Ok(_) => self.changed = true,
            Err(_) => self.restore(before)?,
        }
        reply
    }

    /// Runs an operation that may change the state.
    fn change(&mut self, operation: &OperationDefinition, input: &[u8]) -> Result<OperationReply> {
        let cx = EntityContext::new(self.attempt, false);
        let state = match &mut self.state {
            Some(state) => state,
            none => created(none.insert(S::default()), &cx)?,
        };
        let value = state.perform(operation.name, &cx, input)?;
        if cx.destroyed() {
            self.state = None;
        }
        Ok(cx.reply(value))
    }

    /// Runs a read-only operation. For an entity that does not exist it sees the initial state.
    fn read(&mut self, operation: &OperationDefinition, input: &[u8]) -> Result<OperationReply> {
        let cx = EntityContext::new(self.attempt, true);
        let value = match &mut self.state {
            Some(state) => state.perform(operation.name, &cx, input)?,
            None => {
                let mut state = S::default();
                created(&mut state, &EntityContext::new(self.attempt, false))?.perform(
                    operation.name,
                    &cx,
                    input,
                )?
            }
        };
        Ok(cx.reply(value))
    }

    /// Remembers the state. The first operation needs no copy: the host's input is one.
    fn before(&self) -> Result<Before<S>> {
        Ok(match &self.state {
            None => Before::Nothing,
            Some(_) if !self.changed => Before::Given,
            Some(state) => match state.copy() {
                Some(copy) => Before::Copy(copy),
                None => Before::Encoded(encode_state(state)?),
            },
        })
    }

    fn restore(&mut self, before: Before<S>) -> Result<()> {
        self.state = match before {
            Before::Nothing => None,
            Before::Given => decode_given(self.attempt, self.given)?,
            Before::Copy(copy) => Some(copy),
            Before::Encoded(raw) => Some(S::restore(
                &self.attempt.0.invocation.execution,
                &raw,
                S::VERSION,
            )?),
        };
        Ok(())
    }
}

fn created<'s, S: StatefulEntity>(state: &'s mut S, cx: &EntityContext) -> Result<&'s mut S> {
    state.created(cx)?;
    Ok(state)
}

fn decode_given<S: StatefulEntity>(attempt: &Attempt, given: &Operations) -> Result<Option<S>> {
    let Some(raw) = &given.state else {
        return Ok(None);
    };
    if given.version > S::VERSION {
        let message = format!(
            "the state of {} has version {}, and this code knows {} and before",
            S::NAME,
            given.version,
            S::VERSION
        );
        return Err(Error::with_code(&codes::STATE_VERSION, message));
    }
    S::restore(&attempt.0.invocation.execution, raw, given.version).map(Some)
}

fn encode_state<S: StatefulEntity>(state: &S) -> Result<Vec<u8>> {
    let what = format_args!("the state of {}", S::NAME);
    let raw = payload::encode(what, state)?;
    within(what, raw.len(), MAX_STATE)?;
    Ok(raw)
}

fn within(what: impl fmt::Display, size: usize, limit: usize) -> Result<()> {
    if size <= limit {
        return Ok(());
    }
    let message = format!("{what} takes {size} bytes, the limit is {limit}");
    Err(Error::with_code(&codes::PAYLOAD_TOO_LARGE, message))
}
