//! Signals to the executions of a test.

use crate::codes;
use crate::testing::mailbox::Unread;
use crate::testing::request;
use crate::testing::run::{Run, no_execution};
use crate::testing::words::{names, undeclared};
use crate::testing::world::World;
use crate::value::Value;
use crate::wire::{self, Delivery, Fault, NIL, Settled, Wire};

/// How many messages may wait in one execution, and how large they may be together, in bytes.
const MAX_UNREAD: usize = 10_000;
const MAX_UNREAD_BYTES: usize = 64 << 20;

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

impl World<Run> {
    /// Sends a signal to an execution.
    pub(crate) fn signal(&self, body: &wire::Signal) -> Settled {
        let Some(run) = self.run(&body.execution) else {
            return Err(no_execution(&body.execution));
        };
        run.send(&body.name, body.value.as_deref().unwrap_or_default())?;
        Ok(NIL.to_vec())
    }
}
