//! The signals of a running workflow.
//!
//! Each name has at most one op under way, and a queue of the futures that wait for it.
//! The op is never cancelled: its value may have been delivered with something that the
//! workflow applies before it, and would be lost. A value whose future is gone waits for
//! the next one, and no other is asked for meanwhile: that would tell the host that the
//! workflow has looked at it. So every signal is received once, in the order in which they were sent,
//! by the futures in the order in which they asked.

use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::awaited::Awaited;
use crate::declared::SignalDefinition;
use crate::error::{Error, Result};
use crate::executor::{ContextCore, Inbox};
use crate::host::RECEIVE;
use crate::names::sort;
use crate::wire::{self, Wire};

impl ContextCore {
    /// The signals that were delivered and that no future has taken, sorted by name.
    pub(crate) fn kept_signals(&self) -> Vec<(&'static str, Vec<u8>)> {
        let kept = |inbox: &Inbox| Some((inbox.name, self.peek_op(inbox.op)?));
        let mut all = self.0.inboxes.filter_map(kept);
        sort(&mut all, |a, b| a.0 < b.0);
        all
    }

    /// Asks for the signals that the run before was delivered and has not looked at. The
    /// workflow begins when they are here: a `try_receive` finds them as it would have found
    /// them there. A run that looks once and continues would otherwise never find any.
    pub(crate) fn ask_for_unread(&self, signals: &'static [SignalDefinition]) -> Result<Unread> {
        let mut names = Vec::new();
        for unread in self.0.invocation.unread.iter().flatten() {
            // Code that has changed may know no such signal: then no one can look at it.
            if let Some(signal) = signals.iter().find(|s| s.name == unread) {
                self.ask_for_signal(signal.name)?;
                names.push(signal.name);
            }
        }
        let core = self.clone();
        Ok(Unread {
            core,
            names,
            wait: 0,
        })
    }

    /// Has the host deliver the next signal of a name, unless one is there or asked for.
    pub(crate) fn ask_for_signal(&self, name: &'static str) -> Result<()> {
        let open = self
            .0
            .inboxes
            .with(name, |inbox| inbox.op != 0 || !inbox.waits.is_empty());
        match open {
            true => Ok(()),
            false => self.open_inbox(name).map(drop),
        }
    }

    /// Issues the op of an inbox.
    fn open_inbox(&self, name: &'static str) -> Result<u32> {
        let body = wire::Receive {
            name: name.to_owned(),
        };
        let op = self.issue(&RECEIVE, &body.encode())?;
        self.0.inboxes.with(name, |inbox| inbox.op = op);
        Ok(op)
    }
}

/// A future of signals that have been asked for. They stay where they are.
pub(crate) struct Unread {
    core: ContextCore,
    names: Vec<&'static str>,
    wait: u64,
}

impl Future for Unread {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        while let Some(name) = this.names.last() {
            let op = this.core.0.inboxes.with(name, |inbox| inbox.op);
            if !this.core.has_result(op) {
                this.wait = this.core.wait(this.wait, true, false, Awaited::Hidden, cx);
                this.core.hand_op(op, this.wait);
                return Poll::Pending;
            }
            this.names.pop();
        }
        this.core.unwait(this.wait);
        Poll::Ready(())
    }
}

/// A future of the next signal of a name, encoded.
pub(crate) struct Next {
    core: ContextCore,
    name: &'static str,
    awaited: Awaited,
    state: State,
}

enum State {
    New,
    Queued { wait: u64, shielded: bool },
    Over,
}

impl Next {
    #[track_caller]
    pub(crate) fn new(core: ContextCore, name: &'static str) -> Self {
        Next {
            core,
            name,
            awaited: Awaited::Thing("signal", name, Location::caller()),
            state: State::New,
        }
    }

    /// The execution that it is of.
    pub(crate) fn core(&self) -> &ContextCore {
        &self.core
    }

    /// Leaves the queue. If it was the first, the op is for the next one; if there is no
    /// op, that one issues it, under its own shield.
    fn leave(&mut self) {
        let State::Queued { wait, .. } = std::mem::replace(&mut self.state, State::Over) else {
            return;
        };
        self.core.unwait(wait);
        let (op, first) = self.core.0.inboxes.with(self.name, |inbox| {
            inbox.waits.retain(|w| *w != wait);
            (inbox.op, inbox.waits.front().copied().unwrap_or(0))
        });
        match op {
            0 => self.core.wake(first),
            op => self.core.hand_op(op, first),
        }
    }

    /// Takes the value of the op, which is the one of its name.
    fn take(&mut self, op: u32) -> Option<Result<Vec<u8>>> {
        let result = self.core.take_op(op)?;
        self.core.0.inboxes.with(self.name, |inbox| inbox.op = 0);
        self.leave();
        Some(result)
    }

    fn issue(&self, wait: u64) -> Result<()> {
        let op = self.core.open_inbox(self.name)?;
        self.core.hand_op(op, wait);
        Ok(())
    }
}

impl Future for Next {
    type Output = Result<Vec<u8>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let (wait, shielded) = match this.state {
            State::Queued { wait, shielded } => (wait, shielded),
            State::Over => panic!("a signal was polled for after it had come"),
            State::New if this.core.interrupted() => {
                this.state = State::Over;
                return Poll::Ready(Err(Error::interrupted()));
            }
            State::New => {
                let shielded = this.core.shielded();
                let wait = this.core.wait(0, shielded, false, this.awaited, cx);
                this.core
                    .0
                    .inboxes
                    .with(this.name, |inbox| inbox.waits.push_back(wait));
                this.state = State::Queued { wait, shielded };
                (wait, shielded)
            }
        };
        let (op, first) = this.core.0.inboxes.with(this.name, |inbox| {
            (inbox.op, inbox.waits.front() == Some(&wait))
        });
        if first && op != 0 {
            if let Some(result) = this.take(op) {
                return Poll::Ready(result);
            }
        }
        if !shielded && this.core.stopping() {
            this.leave();
            return Poll::Ready(Err(Error::interrupted()));
        }
        if first && op == 0 {
            if let Err(refused) = this.issue(wait) {
                this.leave();
                return Poll::Ready(Err(refused));
            }
        } else if first {
            this.core.hand_op(op, wait);
        }
        this.core.wait(wait, shielded, false, this.awaited, cx);
        Poll::Pending
    }
}

impl Drop for Next {
    fn drop(&mut self) {
        self.leave();
    }
}
