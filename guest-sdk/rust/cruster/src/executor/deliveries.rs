//! The deliveries to a running workflow: results of its ops, and the interrupt.

use std::task::Waker;

use super::context_core::{ContextCore, Shared};
use crate::host::INTERRUPTED;
use crate::timestamp::Timestamp;
use crate::wire::{Delivery, Fault, Interrupted, Interruption, Wire};

impl ContextCore {
    /// Asks for the interrupt of the execution.
    pub(crate) fn ask_for_interrupt(&self) -> Result<(), Box<Fault>> {
        let op = self.0.host.issue(&INTERRUPTED, &Interrupted {}.encode())?;
        self.0.interrupt_op.set(op);
        Ok(())
    }
}

impl Shared {
    /// A turn begins: sets the time, and the length of the journal if the host tells it.
    pub(crate) fn begin_turn(&self, time: Timestamp, deliveries: usize, told: i64) {
        self.now.set(time);
        let counted = self.entries.get() + deliveries as u64;
        let told = u64::try_from(told).unwrap_or(0);
        self.entries.set(counted.max(told));
    }

    pub(crate) fn deliver(&self, delivery: Delivery) {
        let op = delivery.op;
        let result = delivery.into_result();
        if op == self.interrupt_op.get() {
            if let Ok(raw) = result {
                self.interrupt(&raw);
            }
            return;
        }
        let mut ops = self.ops.borrow_mut();
        let Some(op) = ops.get_mut(u64::from(op)) else {
            return; // cancelled meanwhile, or no one waits for it
        };
        op.result = Some(result);
        let wait = op.wait;
        drop(ops);
        self.wake(wait);
    }

    /// Wakes every wait that is not shielded, the oldest task's first.
    fn interrupt(&self, raw: &[u8]) {
        let reason = Interruption::decode(raw)
            .map(|i| i.reason)
            .unwrap_or_default();
        *self.stopping.borrow_mut() = Some(reason);
        let mut wakers: Vec<(u64, u64, Waker)> = self
            .waits
            .borrow()
            .iter()
            .filter(|(_, w)| !w.shielded)
            .map(|(id, w)| (w.task, id, w.waker.clone()))
            .collect();
        wakers.sort_by_key(|(task, id, _)| (*task, *id));
        for (_, _, waker) in wakers {
            waker.wake();
        }
    }
}
