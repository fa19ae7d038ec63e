//! The ops of a running workflow: their issue, their results and their waits.

use std::fmt;
use std::task::{Context, Poll};

use serde::de::DeserializeOwned;

use crate::awaited::Awaited;
use crate::codec;
use crate::codes;
use crate::error::Error;
use crate::executor::answering;
use crate::executor::context_core::{ContextCore, Op};
use crate::host::Call;
use crate::wire::Outcome;

impl ContextCore {
    /// Asks the host for an op, unless the execution is interrupted or the task cancelled.
    pub(crate) fn issue(&self, call: &'static Call, body: &[u8]) -> Result<u32, Error> {
        if self.0.answering.refuses() {
            return Err(Error::from_fault(answering::refusal()));
        }
        if self.interrupted() {
            return Err(Error::interrupted());
        }
        if self.cancelled() {
            return Err(Error::canceled());
        }
        let op = self.0.host.issue(call, body).map_err(Error::from_fault)?;
        self.0.ops.borrow_mut().insert(
            u64::from(op),
            Op {
                result: None,
                wait: 0,
            },
        );
        Ok(op)
    }

    /// Asks the host for an op that takes effect with the turn, and that is not delivered: it
    /// costs no turn and no entry of the journal. An interrupt does not keep it back, as it does
    /// not keep the workflow waiting.
    pub(crate) fn issue_and_forget(&self, call: &'static Call, body: &[u8]) -> Result<(), Error> {
        if self.0.answering.refuses() {
            return Err(Error::from_fault(answering::refusal()));
        }
        let op = self.0.host.issue(call, body).map_err(Error::from_fault)?;
        self.0.host.cancel(op);
        Ok(())
    }

    /// Takes the result of an op, or waits for it under `wait`.
    pub(crate) fn poll_op(
        &self,
        op: u32,
        shielded: bool,
        wait: &mut u64,
        awaited: Awaited,
        cx: &Context<'_>,
    ) -> Poll<Result<Vec<u8>, Error>> {
        let mut ops = self.0.ops.borrow_mut();
        let Some(state) = ops.get_mut(u64::from(op)) else {
            return Poll::Ready(Err(Error::canceled()));
        };
        if let Some(result) = state.result.take() {
            ops.remove(u64::from(op));
            drop(ops);
            self.unwait(std::mem::take(wait));
            return Poll::Ready(result.map_err(Error::from_fault));
        }
        if !shielded && self.0.stopping.borrow().is_some() {
            drop(ops);
            self.cancel(op, std::mem::take(wait));
            return Poll::Ready(Err(Error::interrupted()));
        }
        *wait = self.wait(*wait, shielded, false, awaited, cx);
        state.wait = *wait;
        Poll::Pending
    }

    /// Reads the result of an op: see [`read`](Self::read).
    pub(crate) fn read_result<T: DeserializeOwned>(
        &self,
        what: impl fmt::Display,
        raw: &[u8],
    ) -> Poll<Result<T, Error>> {
        self.read(raw, format_args!("the result of {what} does not fit"))
    }

    /// Decodes a value that was delivered. An unreadable value ends the execution of this code: the
    /// host is told why, and pauses the execution. As an error of the wait it would look like a failure of
    /// the step: code would compensate for a step that has succeeded, or fail the workflow.
    ///
    /// Only in the answer to a query, which no task waits for, it is an error.
    pub(crate) fn read<T: DeserializeOwned>(
        &self,
        raw: &[u8],
        misfit: fmt::Arguments<'_>,
    ) -> Poll<Result<T, Error>> {
        match codec::decode(raw) {
            Ok(value) => Poll::Ready(Ok(value)),
            Err(e) => match self.unreadable(format!("{misfit}: {e}")) {
                Some(e) => Poll::Ready(Err(e)),
                None => Poll::Pending,
            },
        }
    }

    /// Not one for each type of value.
    #[cold]
    #[inline(never)]
    fn unreadable(&self, message: String) -> Option<Error> {
        let fault = codes::UNREADABLE.fault(message);
        if self.0.answering.refuses() {
            return Some(Error::from_fault(fault));
        }
        self.0.finish(Outcome::failed(fault));
        None
    }

    /// Assigns the wait of an op to another future, or to none (0). An op that has its result wakes
    /// the future.
    pub(crate) fn hand_op(&self, op: u32, wait: u64) {
        let ready = match self.0.ops.borrow_mut().get_mut(u64::from(op)) {
            None => false,
            Some(op) => {
                op.wait = wait;
                op.result.is_some()
            }
        };
        if ready {
            self.0.wake(wait);
        }
    }

    /// The value of an op, if it is there.
    pub(crate) fn peek_op(&self, op: u32) -> Option<Vec<u8>> {
        let ops = self.0.ops.borrow();
        let result = ops.get(u64::from(op))?.result.as_ref()?;
        result.as_ref().ok().cloned()
    }

    /// Whether the result of an op is there, and was not taken.
    pub(crate) fn has_result(&self, op: u32) -> bool {
        let ops = self.0.ops.borrow();
        ops.get(u64::from(op)).is_some_and(|op| op.result.is_some())
    }

    /// Takes the result of an op, if it is there.
    pub(crate) fn take_op(&self, op: u32) -> Option<Result<Vec<u8>, Error>> {
        let mut ops = self.0.ops.borrow_mut();
        let result = ops.get_mut(u64::from(op))?.result.take()?;
        ops.remove(u64::from(op));
        Some(result.map_err(Error::from_fault))
    }

    /// Cancels an op.
    pub(crate) fn cancel(&self, op: u32, wait: u64) {
        self.unwait(wait);
        let open = self
            .0
            .ops
            .borrow_mut()
            .remove(u64::from(op))
            .is_some_and(|op| op.result.is_none());
        if open && !self.0.closed.get() && !self.0.answering.refuses() {
            self.0.host.cancel(op);
        }
    }
}
