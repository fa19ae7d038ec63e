//! Durable ops as futures.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use serde::de::DeserializeOwned;

use crate::awaited::Awaited;
use crate::error::Result;
use crate::executor::ContextCore;
use crate::host::Call;
use crate::timestamp::Timestamp;

/// An op with an untyped result. It is issued when it is first polled, and
/// cancelled when it is dropped before its result is there.
pub(crate) struct RawOp {
    core: ContextCore,
    awaited: Awaited,
    state: State,
}

enum State {
    /// Not issued yet, with its body or the reason why it has none.
    New(&'static Call, Result<Vec<u8>>),
    /// Not issued yet; its body depends on the time of its issue.
    Until(&'static Call, MakeBody, Timestamp),
    Issued {
        op: u32,
        shielded: bool,
        wait: u64,
    },
    Over,
}

/// Makes a body from the time of its issue and a given time.
pub(crate) type MakeBody = fn(now: Timestamp, until: Timestamp) -> Vec<u8>;

impl RawOp {
    /// An op that the caller's line asks for.
    #[track_caller]
    pub(crate) fn new(core: ContextCore, call: &'static Call, body: Result<Vec<u8>>) -> Self {
        Self::of(Awaited::here(call.name), core, call, body)
    }

    /// An op that is shown as this.
    pub(crate) fn of(
        awaited: Awaited,
        core: ContextCore,
        call: &'static Call,
        body: Result<Vec<u8>>,
    ) -> Self {
        RawOp {
            core,
            awaited,
            state: State::New(call, body),
        }
    }

    /// The execution that issues it.
    pub(crate) fn core(&self) -> &ContextCore {
        &self.core
    }

    /// The number of the op, if the host has it and its result was not taken; else 0.
    pub(crate) fn number(&self) -> u32 {
        match self.state {
            State::Issued { op, .. } => op,
            _ => 0,
        }
    }
}

impl Future for RawOp {
    type Output = Result<Vec<u8>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if !matches!(this.state, State::Issued { .. }) {
            let (call, body) = match std::mem::replace(&mut this.state, State::Over) {
                State::New(call, body) => (call, body?),
                State::Until(call, make, time) => (call, make(this.core.now(), time)),
                _ => panic!("a durable call was polled after its end"),
            };
            this.core.reached(this.awaited);
            this.state = State::Issued {
                op: this.core.issue(call, &body)?,
                shielded: this.core.shielded(),
                wait: 0,
            };
        }
        let State::Issued { op, shielded, wait } = &mut this.state else {
            unreachable!("it was issued");
        };
        let poll = this.core.poll_op(*op, *shielded, wait, this.awaited, cx);
        if poll.is_ready() {
            this.state = State::Over;
        }
        poll
    }
}

impl Drop for RawOp {
    fn drop(&mut self) {
        if let State::Issued { op, wait, .. } = self.state {
            self.core.cancel(op, wait);
        }
    }
}

/// A durable call that yields a `T`: a sleep, a deferred, a call of another
/// workflow.
///
/// It does nothing until it is awaited (or polled by [`join!`](crate::join),
/// [`select!`](crate::select) and the like). Dropping it before its end cancels it:
/// the host stops work that has not begun yet.
#[must_use = "durable calls do nothing unless they are awaited"]
pub struct Op<T> {
    raw: RawOp,
    what: String,
    result: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Op<T> {
    #[track_caller]
    pub(crate) fn new(
        core: &ContextCore,
        call: &'static Call,
        what: String,
        body: Result<Vec<u8>>,
    ) -> Self {
        Op {
            raw: RawOp::new(core.clone(), call, body),
            what,
            result: PhantomData,
        }
    }

    /// A call whose body depends on the time of its issue, which may be long after
    /// the call was made.
    #[track_caller]
    pub(crate) fn until(
        core: &ContextCore,
        call: &'static Call,
        what: String,
        make: MakeBody,
        time: Timestamp,
    ) -> Self {
        Op {
            raw: RawOp {
                core: core.clone(),
                awaited: Awaited::here(call.name),
                state: State::Until(call, make, time),
            },
            what,
            result: PhantomData,
        }
    }
}

impl<T: DeserializeOwned> Future for Op<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T>> {
        match Pin::new(&mut self.raw).poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(e)) => Poll::Ready(Err(e)),
            Poll::Ready(Ok(raw)) => self.raw.core.read_result(&self.what, &raw),
        }
    }
}
