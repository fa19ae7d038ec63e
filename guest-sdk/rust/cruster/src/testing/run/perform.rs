//! The host's part of each kind of op.

use std::time::Duration;

use crate::codes;
use crate::testing::attempt::{self, Step};
use crate::testing::canonical::canonical;
use crate::testing::described::time_of;
use crate::testing::run::caller::Caller;
use crate::testing::run::{Run, no_execution};
use crate::testing::sha256;
use crate::wire::{self, Malformed, NIL, Wire};

impl Run {
    /// Schedules the outcome of an op.
    pub(super) fn perform(&self, kind: &str, body: &[u8], op: u32) -> Result<(), Malformed> {
        match kind {
            "sleep" => {
                let time = time_of(&wire::Sleep::decode(body)?);
                self.deliver(time, op, Ok(NIL.to_vec()));
            }
            "activity" => {
                let activity = wire::Activity::decode(body)?;
                let step = Step {
                    op,
                    name: self.step(&activity),
                    activity,
                };
                let run = self.me();
                self.world().after(Duration::ZERO, move || {
                    attempt::attempt(&run, step, 1);
                });
            }
            "deferred" => self.await_deferred(&wire::Deferred::decode(body)?.name, op),
            "resolve" => self.resolve(op, wire::Resolve::decode(body)?),
            "call" | "send" => self.call(op, &wire::Call::decode(body)?, kind == "call"),
            "interrupt" => {
                let body = wire::Interrupt::decode(body)?;
                self.deliver(Duration::ZERO, op, self.world().interrupt(&body));
            }
            "poll" => self.poll(op, &wire::Poll::decode(body)?.execution),
            "receive" => self.receive(op, &wire::Receive::decode(body)?.name),
            "signal" => {
                let body = wire::Signal::decode(body)?;
                self.deliver(Duration::ZERO, op, self.world().signal(&body));
            }
            "lock" => self.lock(op, &wire::Lock::decode(body)?),
            "unlock" => {
                self.unlock();
                self.deliver(Duration::ZERO, op, Ok(NIL.to_vec()));
            }
            "update" => self.take_update(op),
            "answer" => {
                self.answer(wire::Answer::decode(body)?);
                self.deliver(Duration::ZERO, op, Ok(NIL.to_vec()));
            }
            "publish" => {
                let publish = wire::Publish::decode(body)?;
                self.published.borrow_mut().merge(publish);
                self.deliver(Duration::ZERO, op, Ok(NIL.to_vec()));
            }
            "entity_call" | "entity_send" => {
                let body = wire::EntityMessage::decode(body)?;
                self.call_entity(op, &body, kind == "entity_call");
            }
            "patched" => {
                let id = wire::Patched::decode(body)?.id;
                let patched = !self.world().config.unpatched.contains(&id);
                self.deliver(Duration::ZERO, op, Ok(patched.encode()));
            }
            _ => self.interrupt_op.set(op),
        }
        Ok(())
    }

    /// Names a step of the execution by its kind and content and the number of equal steps before
    /// it, as the host does, so that a change of the code that inserts other steps leaves the name
    /// as it is.
    fn step(&self, activity: &wire::Activity) -> String {
        let identity = match activity.key.as_str() {
            "" => {
                let input = activity.input.as_deref().unwrap_or_default();
                // It was checked when the op was issued.
                let canonical = canonical(input).unwrap_or_else(|_| input.to_vec());
                sha256::hex(&canonical)[..8].to_owned()
            }
            key => key.to_owned(),
        };
        let name = &activity.name;
        let mut steps = self.steps.borrow_mut();
        let occurrence = steps
            .entry((name.clone(), identity.clone()))
            .and_modify(|n| *n += 1)
            .or_insert(1);
        format!("{name}/{identity}/{occurrence}")
    }

    fn call(&self, op: u32, body: &wire::Call, wait: bool) {
        let now = |result| self.deliver(Duration::ZERO, op, result);
        if wait {
            if let Err(fault) = self.refuses_call(&body.workflow) {
                return now(Err(fault));
            }
        }
        let caller = wait.then(|| Caller {
            execution: self.id.clone(),
            op,
            policy: body.on_cancel.clone(),
        });
        match self.world().call(&self.kind.deployment, body, caller) {
            Err(fault) => now(Err(fault)),
            Ok(other) if other.id == self.id => {
                let message = format!("{} called itself with its own key", self.id);
                now(Err(codes::CALL_TO_ITSELF.fault(message)));
            }
            Ok(other) if !wait => now(Ok(other.id.encode())),
            Ok(other) => {
                let run = self.me();
                other.on_end(move |outcome| {
                    run.deliver(Duration::ZERO, op, outcome.clone().into_result());
                });
            }
        }
    }

    fn poll(&self, op: u32, id: &str) {
        let result = match self.world().run(id) {
            None => Err(no_execution(id)),
            Some(run) => {
                let outcome = run.outcome().map(Box::new);
                Ok(wire::PollReply {
                    outcome,
                    state: run.state().to_owned(),
                }
                .encode())
            }
        };
        self.deliver(Duration::ZERO, op, result);
    }
}
