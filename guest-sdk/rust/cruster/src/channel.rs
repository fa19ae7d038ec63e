//! Values that tasks hand to each other.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::rc::Rc;

use crate::awaited::Awaited;
use crate::context::InWorkflow;
use crate::error::{Error, Result};
use crate::line::Line;

/// Makes a channel between tasks of one execution, which keeps up to `capacity` values, in order.
/// With none, a send is done when its value is received. A replay restores it, and it costs no step
/// of the journal.
///
/// Both ends can be cloned: each value goes to one receiver, and waiting tasks are served in the
/// order in which they came. The channel is closed when all senders are dropped, or all receivers.
///
/// ```
/// # use cruster::prelude::*;
/// # #[workflow]
/// # pub struct Example;
/// # #[workflow_impl]
/// # impl Example {
/// async fn execute(&self, pages: u32) -> Result<u32, Error> {
///     let (sender, receiver) = cruster::channel(self, 8);
///     let this = self.clone();
///     let reader = self.spawn(async move {
///         for page in 0..pages {
///             sender.send(this.read(page).await?).await?;
///         }
///         Ok(())
///     });
///     let mut sum = 0;
///     while let Some(words) = receiver.recv().await? {
///         sum += self.count(words).await?;
///     }
///     reader.await?;
///     Ok(sum)
/// }
/// # #[activity]
/// # async fn read(&self, page: u32) -> Result<Vec<String>, Error> {
/// #     Ok(vec![page.to_string()])
/// # }
/// # #[activity]
/// # async fn count(&self, words: Vec<String>) -> Result<u32, Error> {
/// #     Ok(words.len() as u32)
/// # }
/// # }
/// ```
pub fn channel<T>(cx: &impl InWorkflow, capacity: usize) -> (Sender<T>, Receiver<T>) {
    let line = || Line::new(cx.context().clone());
    let inner = Rc::new(Inner {
        senders: line(),
        receivers: line(),
        capacity,
        values: RefCell::default(),
        numbers: Cell::new(0),
        sending: Cell::new(1),
        receiving: Cell::new(1),
    });
    (Sender(inner.clone()), Receiver(inner))
}

/// The end of a [`channel`] that values are put into.
pub struct Sender<T>(Rc<Inner<T>>);

/// The end of a [`channel`] that values are taken from.
pub struct Receiver<T>(Rc<Inner<T>>);

struct Inner<T> {
    senders: Line,
    receivers: Line,
    capacity: usize,
    /// Values that were sent and not received yet, with their numbers. A channel that keeps none
    /// has the one here that is handed over.
    values: RefCell<VecDeque<(u64, T)>>,
    numbers: Cell<u64>,
    /// How many ends there are.
    sending: Cell<usize>,
    receiving: Cell<usize>,
}

impl<T> Sender<T> {
    /// Waits until there is room for a value, and puts it in; or until it is received, if the channel
    /// keeps none. It fails if there are no receivers left. If it fails or is dropped, the value is
    /// not received.
    #[track_caller]
    pub fn send(&self, value: T) -> impl Future<Output = Result<()>> {
        self.send_from(Awaited::here("room in a channel"), value)
    }

    async fn send_from(&self, awaited: Awaited, value: T) -> Result<()> {
        let inner = &*self.0;
        let mut value = Some(value);
        let mut offer = Offer { inner, number: 0 };
        let sent = inner.senders.stand(awaited, || {
            if offer.number != 0 && !offer.is_open() {
                return Some(true);
            }
            if inner.receiving.get() == 0 {
                return Some(false);
            }
            if offer.number == 0 && inner.has_room() {
                offer.number = inner.put(value.take()?);
            }
            (offer.number != 0 && inner.capacity > 0).then_some(true)
        });
        if sent.await? {
            // Values in a channel are not taken back.
            offer.number = 0;
            return Ok(());
        }
        Err(Error::message_only("the channel is closed"))
    }

    /// Whether there are no receivers left.
    pub fn is_closed(&self) -> bool {
        self.0.receiving.get() == 0
    }
}

impl<T> Receiver<T> {
    /// Waits for the next value. It is `None` if there are no senders left, and no values. A wait that is
    /// dropped, or that an interrupt ends, has taken no value.
    #[track_caller]
    pub fn recv(&self) -> impl Future<Output = Result<Option<T>>> {
        let inner = &*self.0;
        let next = || match inner.take() {
            None if inner.sending.get() > 0 => None,
            value => Some(value),
        };
        inner.receivers.stand(Awaited::here("a channel"), next)
    }

    /// The next value, if it is there and no one waits for it.
    pub fn try_recv(&self) -> Option<T> {
        if self.0.receivers.is_empty() {
            self.0.take()
        } else {
            None
        }
    }

    /// How many values can be received at once.
    pub fn len(&self) -> usize {
        self.0.values.borrow().len()
    }

    /// Whether there is no value to receive now.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Inner<T> {
    fn has_room(&self) -> bool {
        self.values.borrow().len() < self.capacity.max(1)
    }

    /// Keeps a value and returns its number.
    fn put(&self, value: T) -> u64 {
        let number = self.numbers.get() + 1;
        self.numbers.set(number);
        self.values.borrow_mut().push_back((number, value));
        self.receivers.serve();
        number
    }

    fn take(&self) -> Option<T> {
        let (_, value) = self.values.borrow_mut().pop_front()?;
        self.senders.serve();
        Some(value)
    }
}

/// A value of a sender that waits until it is received; it is taken back when this is dropped.
struct Offer<'a, T> {
    inner: &'a Inner<T>,
    /// The number of the value; 0 if there is none to take back.
    number: u64,
}

impl<T> Offer<'_, T> {
    fn at(&self) -> Option<usize> {
        let values = self.inner.values.borrow();
        values.iter().position(|(number, _)| *number == self.number)
    }

    fn is_open(&self) -> bool {
        self.at().is_some()
    }
}

impl<T> Drop for Offer<'_, T> {
    fn drop(&mut self) {
        let Some(at) = self.at() else { return };
        let taken_back = self.inner.values.borrow_mut().remove(at);
        drop(taken_back);
        self.inner.senders.serve();
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.sending.set(self.0.sending.get() + 1);
        Sender(self.0.clone())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.sending.set(self.0.sending.get() - 1);
        if self.0.sending.get() == 0 {
            self.0.receivers.serve();
        }
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.0.receiving.set(self.0.receiving.get() + 1);
        Receiver(self.0.clone())
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.0.receiving.set(self.0.receiving.get() - 1);
        if self.0.receiving.get() == 0 {
            self.0.senders.serve();
        }
    }
}
