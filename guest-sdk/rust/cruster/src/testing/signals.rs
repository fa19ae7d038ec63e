//! Signals to the executions of a test.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::{Rc, Weak};

use crate::codes;
use crate::error::{Error, Result};
use crate::signal::Signal;
use crate::testing::request;
use crate::testing::run::{Run, encode, no_execution};
use crate::testing::words::{names, undeclared};
use crate::testing::world::World;
use crate::value::Value;
use crate::wire::{self, Delivery, Fault, NIL, Settled, Wire};

/// How many messages may wait in one execution, and how large they may be together, in bytes.
const MAX_UNREAD: usize = 10_000;
const MAX_UNREAD_BYTES: usize = 64 << 20;

/// The signals of an execution that no op has taken, and the ops that wait for one.
#[derive(Default)]
pub(crate) struct Mailbox {
    unread: VecDeque<Unread>,
    /// Their encoded size.
    bytes: usize,
    waiting: VecDeque<(u32, String)>,
}

impl Mailbox {
    /// Forgets the waiters, as the run has ended.
    pub(crate) fn forget_ops(&mut self) {
        self.waiting.clear();
    }
}

/// A signal that an execution was sent and had not received by its end.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Unread {
    /// The name of the signal.
    pub name: String,
    /// Its payload.
    pub value: Value,
}

impl Unread {
    fn kept((name, value): (&'static str, Vec<u8>)) -> Self {
        Unread {
            name: name.to_owned(),
            value: Value::decode(&value).unwrap_or_default(),
        }
    }
}

impl Run {
    /// Leaves signals to the next run, which receives them before all others.
    pub(crate) fn put_back(&self, kept: Vec<(&'static str, Vec<u8>)>) {
        let mut mailbox = self.mailbox.borrow_mut();
        for signal in kept.into_iter().rev() {
            mailbox.bytes += signal.1.len();
            mailbox.unread.push_front(Unread::kept(signal));
        }
    }

    /// Takes in a signal, if the host would.
    pub(crate) fn send(&self, name: &str, value: &[u8]) -> Result<(), Box<Fault>> {
        if self.outcome().is_some() {
            let message = format!("{} is {}", self.id, self.state());
            return Err(codes::ALREADY_OVER.fault(message));
        }
        let value = self.check_signal(name, value)?;
        let updates = self.updates.borrow().len();
        let mut mailbox = self.mailbox.borrow_mut();
        let messages = mailbox.unread.len() + updates;
        if messages >= MAX_UNREAD || mailbox.bytes + value.len() > MAX_UNREAD_BYTES {
            let message = format!(
                "{} has {MAX_UNREAD} messages, or {} MiB of them, that it has not received or answered yet",
                self.id,
                MAX_UNREAD_BYTES >> 20
            );
            return Err(codes::INBOX_FULL.fault(message));
        }
        mailbox.bytes += value.len();
        mailbox.unread.push_back(Unread {
            name: name.to_owned(),
            value: Value::decode(&value).map_err(|e| codes::BAD_INPUT.fault(e.to_string()))?,
        });
        let waiting = mailbox.waiting.iter().find(|(_, n)| n == name);
        let waiting = waiting.map(|(op, _)| *op);
        drop(mailbox);
        if let Some(op) = waiting {
            self.plan_hand_over(op);
        }
        Ok(())
    }

    /// Takes in a signal of the test itself, which is mistaken if the host would not.
    pub(crate) fn send_from_test(&self, name: &str, value: &[u8]) {
        if let Err(fault) = self.send(name, value) {
            panic!(
                "the test sends the signal {name}: {}: {}",
                fault.code, fault.message
            );
        }
    }

    /// The value in canonical form. Stubs of workflows take any signal.
    fn check_signal(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, Box<Fault>> {
        let workflow = &self.kind.workflow;
        let Some(definition) = self.definition() else {
            return Ok(value.to_vec());
        };
        let Some(signal) = definition.signals.iter().find(|s| s.name == name) else {
            let known = names(definition.signals.iter().map(|s| s.name));
            let code = &codes::UNKNOWN_SIGNAL;
            return Err(undeclared(code, workflow, "signal", name, &known, &[]));
        };
        request::fit("the value", signal.value, value)
    }

    /// An op asks for the next signal of a name.
    pub(crate) fn receive(&self, op: u32, name: &str) {
        let mut mailbox = self.mailbox.borrow_mut();
        mailbox.waiting.push_back((op, name.to_owned()));
        let has = mailbox.unread.iter().any(|s| s.name == name);
        drop(mailbox);
        if has {
            self.plan_hand_over(op);
        }
    }

    fn plan_hand_over(&self, op: u32) {
        let run = self.me();
        let issued = self.issued(op);
        self.world()
            .deliver_after(std::time::Duration::ZERO, issued, move || run.hand_over(op));
    }

    /// Gives an op the first signal of its name. It was planned when there was one; it is
    /// taken only now, so that a signal of an execution that ends meanwhile stays unread.
    fn hand_over(&self, op: u32) {
        if !self.waits(op) {
            return;
        }
        let mut mailbox = self.mailbox.borrow_mut();
        let Some(waiting) = mailbox.waiting.iter().position(|(w, _)| *w == op) else {
            return;
        };
        let name = &mailbox.waiting[waiting].1;
        let Some(first) = mailbox.unread.iter().position(|s| s.name == *name) else {
            return;
        };
        mailbox.waiting.remove(waiting);
        let Some(signal) = mailbox.unread.remove(first) else {
            return;
        };
        let value = signal.value.encode();
        mailbox.bytes = mailbox.bytes.saturating_sub(value.len());
        drop(mailbox);
        let (value, error) = (Some(value), None);
        self.resume(Delivery { error, op, value });
    }

    /// The signals that the workflow has not read: delivered to no one, or never delivered.
    pub(crate) fn unread(&self) -> Vec<Unread> {
        let kept = self.kept_signals().into_iter().map(Unread::kept);
        kept.chain(self.mailbox.borrow().unread.iter().cloned())
            .collect()
    }
}

impl World {
    /// Sends a signal to an execution.
    pub(crate) fn signal(&self, body: &wire::Signal) -> Settled {
        let Some(run) = self.run(&body.execution) else {
            return Err(no_execution(&body.execution));
        };
        run.send(&body.name, body.value.as_deref().unwrap_or_default())?;
        Ok(NIL.to_vec())
    }
}

/// The API of the simulated host, for events outside of a workflow while it runs. A
/// [stub](super::Test::stub), or a handler of [HTTP](super::Test::http) or [SQL](super::Test::sql),
/// uses it to act as a client. Get it from [`Test::api`](super::Test::api).
///
/// ```
/// use cruster::prelude::*;
/// use cruster::testing::Test;
///
/// #[derive(Serialize, Deserialize, Schema, Signal)]
/// pub struct Paid {
///     pub cents: u64,
/// }
///
/// #[workflow]
/// pub struct Invoice;
///
/// #[workflow_impl(signals(Paid))]
/// impl Invoice {
///     async fn execute(&self, cents: u64) -> Result<u64, Error> {
///         self.ask(cents).await?;
///         Ok(self.receive::<Paid>().await?.cents)
///     }
///
///     #[activity]
///     async fn ask(&self, cents: u64) -> Result<(), Error> {
///         let url = format!("https://pay.example/?cents={cents}&for={}", self.execution_id());
///         self.http().post(url).send()?;
///         Ok(())
///     }
/// }
///
/// cruster::module! { workflows: [Invoice] }
///
/// // In a test, the payment service calls back:
/// # fn main() {
/// let test = Test::new(&MODULE);
/// let api = test.api();
/// let run = test
///     .stub("ask", move |cx, cents: u64| api.signal(cx.execution_id(), Paid { cents }))
///     .run::<Invoice>(500);
/// assert_eq!(run.result.unwrap(), 500);
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Api(Rc<RefCell<Weak<World>>>);

impl Api {
    /// Says which world it is the API of.
    pub(crate) fn open(&self, world: &Rc<World>) {
        *self.0.borrow_mut() = Rc::downgrade(world);
    }

    pub(crate) fn world(&self) -> Result<Rc<World>> {
        self.0.borrow().upgrade().ok_or_else(|| {
            let message = "the test does not run: there is no execution to reach";
            Error::with_code(&codes::EXECUTION_NOT_FOUND, message)
        })
    }

    /// Sends a signal to an execution, which is named by its id. The errors are a host's.
    pub fn signal<S: Signal>(&self, execution: &str, value: S) -> Result<()> {
        let body = wire::Signal {
            execution: execution.to_owned(),
            name: S::NAME.to_owned(),
            value: Some(encode(&format!("the value of signal {}", S::NAME), &value)),
        };
        let sent = self.world()?.signal(&body);
        sent.map(drop).map_err(Error::from_fault)
    }
}
