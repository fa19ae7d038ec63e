//! Calls of activities.

use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::awaited::Awaited;
use crate::context::InWorkflow;
use crate::definition::ActivityDefinition;
use crate::error::{Error, Result};
use crate::executor::ContextCore;
use crate::host::ACTIVITY;
use crate::nanos::{clamp, nanos};
use crate::op::RawOp;
use crate::payload;
use crate::retry_policy::{Backoff, RetryPolicy};
use crate::wire::{self, Wire};

/// How long the key of a call may be.
const MAX_KEY: usize = 512;

/// A call of an activity. Await it for its result; its error is the last attempt's.
///
/// The activity is issued when the call is first polled. Until then the options of
/// this one call can be changed:
///
/// ```
/// # use cruster::prelude::*;
/// # #[workflow]
/// # pub struct Example;
/// # #[workflow_impl]
/// # impl Example {
/// async fn execute(&self, items: Vec<String>) -> Result<u32, Error> {
///     self.reserve(items).retries(1).timeout(Duration::from_secs(5)).key("order-42").await
/// }
/// # #[activity]
/// # async fn reserve(&self, items: Vec<String>) -> Result<u32, Error> {
/// #     Ok(items.len() as u32)
/// # }
/// # }
/// ```
#[must_use = "activities are not performed unless their call is awaited"]
pub struct ActivityCall<T> {
    definition: &'static ActivityDefinition,
    awaited: Awaited,
    state: State,
    result: PhantomData<fn() -> T>,
}

enum State {
    New {
        core: ContextCore,
        request: Box<Request>,
    },
    Issued(RawOp),
}

struct Request {
    input: Result<Vec<u8>>,
    key: String,
    retry: RetryPolicy,
    timeout: u64,
}

/// A call of an activity with the options that it was defined with.
#[track_caller]
pub fn activity_call<T, I>(
    cx: &impl InWorkflow,
    definition: &'static ActivityDefinition,
    input: &I,
) -> ActivityCall<T>
where
    T: DeserializeOwned,
    I: Serialize + ?Sized,
{
    let input = payload::encode(
        format_args!("the input of activity {}", definition.name),
        input,
    );
    ActivityCall::new(cx.context().clone(), definition, input)
}

impl<T: DeserializeOwned> ActivityCall<T> {
    #[track_caller]
    fn new(
        core: ContextCore,
        definition: &'static ActivityDefinition,
        input: Result<Vec<u8>>,
    ) -> Self {
        let request = Box::new(Request {
            input,
            key: String::new(),
            retry: definition.retry,
            timeout: definition.timeout,
        });
        ActivityCall {
            definition,
            awaited: Awaited::Thing("activity", definition.name, Location::caller()),
            state: State::New { core, request },
            result: PhantomData,
        }
    }

    fn change(mut self, change: impl FnOnce(&mut Request)) -> Self {
        match &mut self.state {
            State::New { request, .. } => change(request),
            State::Issued(_) => panic!(
                "the options of activity {} were set after the call was polled",
                self.definition.name
            ),
        }
        self
    }

    /// How many attempts may follow the first. Errors marked with
    /// [`Error::non_retryable`] are never retried.
    pub fn retries(self, n: u32) -> Self {
        self.change(|r| r.retry.retries = n)
    }

    /// The delays between the attempts.
    pub fn backoff(self, backoff: Backoff) -> Self {
        self.change(|r| r.retry.backoff = Some(backoff))
    }

    /// Shortens each delay by a random part of up to `fraction`, 0 to 1, so that
    /// calls that failed together are not retried together.
    ///
    /// # Panics
    ///
    /// If the fraction is not between 0 and 1.
    pub fn jitter(self, fraction: f64) -> Self {
        assert!(
            (0.0..=1.0).contains(&fraction),
            "a jitter of {fraction} is not between 0 and 1"
        );
        self.change(|r| r.retry.jitter = fraction)
    }

    /// Bounds one attempt, from its start to its end.
    pub fn timeout(self, limit: Duration) -> Self {
        self.change(|r| r.timeout = nanos(limit))
    }

    /// Names the call. Without a key a call is found in the journal by the hash of
    /// its input. With a key the input may change when the module is upgraded, and
    /// the journaled result is still found.
    ///
    /// # Panics
    ///
    /// If the key is empty, or longer than 512 bytes.
    pub fn key(self, key: impl Into<String>) -> Self {
        let key = key.into();
        assert!(
            (1..=MAX_KEY).contains(&key.len()),
            "an activity key has 1 to {MAX_KEY} bytes, not {}",
            key.len()
        );
        self.change(|r| r.key = key)
    }
}

impl<T: DeserializeOwned> Future for ActivityCall<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T>> {
        let (name, awaited) = (self.definition.name, self.awaited);
        if let State::New { core, request } = &mut self.state {
            let body = request.encode(name);
            let op = RawOp::of(awaited, core.clone(), &ACTIVITY, body);
            self.state = State::Issued(op);
        }
        let State::Issued(op) = &mut self.state else {
            return Poll::Ready(Err(Error::canceled()));
        };
        match Pin::new(&mut *op).poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(e)) => Poll::Ready(Err(e)),
            Poll::Ready(Ok(raw)) => op.core().read_result(format_args!("activity {name}"), &raw),
        }
    }
}

impl Request {
    fn encode(&mut self, name: &str) -> Result<Vec<u8>> {
        let input = std::mem::replace(&mut self.input, Ok(Vec::new()))?;
        Ok(wire::Activity {
            input: Some(input),
            key: std::mem::take(&mut self.key),
            name: name.to_owned(),
            retry: self.retry.to_wire(),
            timeout: clamp(self.timeout),
        }
        .encode())
    }
}
