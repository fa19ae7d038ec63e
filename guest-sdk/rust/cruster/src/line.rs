//! Futures that wait for something that the workflow itself has: room, a value.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll};

use crate::awaited::Awaited;
use crate::error::{Error, Result};
use crate::executor::ContextCore;

/// A queue of futures that wait for their turn. It costs no step of the journal.
///
/// Only the first takes something, and only when it is polled. It is woken whenever there may be
/// something to take, and whenever it has become the first. So futures are served in order of
/// arrival; and a future that is dropped, even after it was woken, has taken nothing and keeps no
/// one behind it waiting.
pub(crate) struct Line {
    core: ContextCore,
    places: RefCell<VecDeque<(u64, u64)>>,
    numbers: Cell<u64>,
}

/// A place in a line; it is given up when it is dropped.
struct Place<'a> {
    line: &'a Line,
    /// 0 before the first poll.
    number: u64,
    wait: u64,
}

impl Line {
    pub(crate) fn new(core: ContextCore) -> Self {
        Line {
            core,
            places: RefCell::default(),
            numbers: Cell::new(0),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.places.borrow().is_empty()
    }

    /// Wakes the first: there may be something for it.
    pub(crate) fn serve(&self) {
        let first = self.places.borrow().front().copied();
        if let Some((_, wait)) = first {
            self.core.wake(wait);
        }
    }

    /// Waits until `take`, which is asked when no one stands in front, yields something. An interrupt
    /// ends the wait.
    pub(crate) async fn stand<R>(
        &self,
        awaited: Awaited,
        mut take: impl FnMut() -> Option<R>,
    ) -> Result<R> {
        let mut place = Place {
            line: self,
            number: 0,
            wait: 0,
        };
        poll_fn(|cx| {
            if self.core.interrupted() {
                return Poll::Ready(Err(Error::interrupted()));
            }
            let taken = if place.is_first() { take() } else { None };
            if let Some(taken) = taken {
                return Poll::Ready(Ok(taken));
            }
            place.keep(awaited, cx);
            Poll::Pending
        })
        .await
    }
}

impl Place<'_> {
    /// Whether no one stands in front.
    fn is_first(&self) -> bool {
        let first = self.line.places.borrow().front().copied();
        first.is_none_or(|(number, _)| number == self.number)
    }

    /// Takes a place at the end of the line, or keeps its place.
    fn keep(&mut self, awaited: Awaited, cx: &Context<'_>) {
        let line = self.line;
        self.wait = line
            .core
            .wait(self.wait, line.core.shielded(), false, awaited, cx);
        if self.number == 0 {
            self.number = line.numbers.get() + 1;
            line.numbers.set(self.number);
            line.places.borrow_mut().push_back((self.number, self.wait));
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if self.number == 0 {
            return;
        }
        self.line.core.unwait(self.wait);
        let mut places = self.line.places.borrow_mut();
        places.retain(|(number, _)| *number != self.number);
        drop(places);
        self.line.serve();
    }
}
