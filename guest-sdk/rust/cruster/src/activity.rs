//! The context of an activity, and how an attempt is run.

use std::future::Future;
use std::rc::Rc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::attempt::Attempt;
use crate::codes;
use crate::effects::{effects, poll_once};
use crate::error::{Error, Result};
use crate::owner::{self, Owner};
use crate::payload;
use crate::wire::Outcome;

/// The effects that an activity may have: `self` in an activity dereferences to
/// this, and this to the fields of the workflow or group.
pub struct ActivityContext<A> {
    attempt: Attempt,
    owner: Rc<A>,
}

#[cfg(not(target_family = "wasm"))]
impl ActivityContext<()> {
    /// The context of an attempt, for the test kit.
    pub(crate) fn of(attempt: Attempt) -> Self {
        ActivityContext {
            attempt,
            owner: Rc::new(()),
        }
    }
}

impl<A> ActivityContext<A> {
    /// The number of this attempt, from 1.
    pub fn attempt(&self) -> u32 {
        u32::try_from(self.invocation().attempt).unwrap_or(u32::MAX)
    }

    /// A key that all attempts of this step share and no other step has. Pass it to
    /// services that do the same thing once per key: an attempt whose outcome was
    /// lost is repeated with the same key.
    pub fn idempotency_key(&self) -> &str {
        &self.invocation().idempotency_key
    }

    /// The id of the execution that called the activity.
    pub fn execution_id(&self) -> &str {
        &self.invocation().execution
    }
}

effects! {
    ActivityContext,
    belongs: "execution",
    attempt: "attempt",
    transaction: "activity",
    result: "the activity's result",
}

/// Runs one attempt. All calls of an activity are immediate, so its body is polled
/// once.
pub fn run_activity<A, In, Out, E, F>(
    attempt: Attempt,
    body: impl FnOnce(ActivityContext<A>, In) -> F,
) -> Outcome
where
    A: Owner,
    In: DeserializeOwned,
    Out: Serialize,
    E: Into<Error>,
    F: Future<Output = std::result::Result<Out, E>>,
{
    let name = attempt.0.invocation.name.clone();
    let input = attempt.0.invocation.body.as_deref().unwrap_or_default();
    let result = decode_input(&name, input).and_then(|input| {
        let context = ActivityContext {
            attempt: attempt.clone(),
            owner: owner::of(attempt.0.given),
        };
        poll_once(format_args!("activity {name}"), body(context, input))
    });
    result
        .and_then(|out| payload::encode(format_args!("the result of activity {name}"), &out))
        .map_err(|e| e.of_activity())
        .into()
}

fn decode_input<In: DeserializeOwned>(name: &str, input: &[u8]) -> Result<In> {
    payload::decode(
        input,
        &codes::BAD_INPUT,
        format_args!("the input does not fit activity {name}"),
    )
}
