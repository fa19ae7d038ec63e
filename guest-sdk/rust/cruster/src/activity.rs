//! The context of an activity, and how an attempt is run.

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::attempt::Attempt;
use crate::codes;
use crate::error::{Error, Result};
use crate::http_call::Http;
use crate::module::{self, Owner};
use crate::payload;
use crate::timestamp::Timestamp;
use crate::transaction::Transaction;
use crate::wire::{Invocation, Outcome};

/// The effects that an activity may have: `self` in an activity dereferences to
/// this, and this to the fields of the workflow or group.
pub struct ActivityContext<A> {
    attempt: Attempt,
    owner: Rc<A>,
}

impl<A> Deref for ActivityContext<A> {
    type Target = A;
    fn deref(&self) -> &A {
        &self.owner
    }
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
    fn invocation(&self) -> &Invocation {
        &self.attempt.0.invocation
    }

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

    /// The tenant that the execution belongs to.
    pub fn namespace(&self) -> &str {
        &self.invocation().namespace
    }

    /// A little before the host ends the attempt. Time during which the host did not run does not count: it
    /// may end later.
    pub fn deadline(&self) -> Timestamp {
        self.attempt.deadline()
    }

    /// The real time. A module without WASI has no clock; there it is the time at
    /// which the attempt began.
    pub fn now(&self) -> Timestamp {
        self.attempt.now()
    }

    /// A value of the deployment's configuration.
    pub fn config(&self, name: &str) -> Option<String> {
        self.attempt.config(name)
    }

    /// The transaction of the activity. It begins with the first statement and
    /// commits together with the activity's result, or neither does. A failed
    /// activity is rolled back.
    pub fn transaction(&self) -> Transaction {
        Transaction::new(self.attempt.clone())
    }

    /// HTTP calls, to the hosts that the deployment was granted. The host refuses
    /// them once the transaction has begun: call out first.
    pub fn http(&self) -> Http {
        Http::new(self.attempt.clone())
    }
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
            owner: module::owner(attempt.0.given),
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

/// Runs a future that makes only immediate calls to its end; `what` names it in errors.
pub(crate) fn poll_once<T, E: Into<Error>>(
    what: fmt::Arguments<'_>,
    future: impl Future<Output = std::result::Result<T, E>>,
) -> Result<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result.map_err(Into::into),
        Poll::Pending => Err(waited(what)),
    }
}

fn waited(what: fmt::Arguments<'_>) -> Error {
    let message = format!("{what} waits for a future that is not ready: an attempt runs in one go");
    Error::with_code(&codes::WRONG_CONTEXT, message)
}
