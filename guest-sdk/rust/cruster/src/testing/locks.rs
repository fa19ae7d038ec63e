//! Critical sections of a test: who has locked which entity, and who waits.

use std::rc::Rc;
use std::time::Duration;

use crate::codes;
use crate::testing::entities::{Posted, Work};
use crate::testing::run::Run;
use crate::testing::world::World;
use crate::wire::{Fault, Lock, NIL, Settled};

/// Who has locked an entity: an execution, with the number of its op.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) execution: String,
    pub(crate) op: u32,
}

impl World {
    /// The holder of an entity now. A lock counts while its execution is in the section.
    pub(crate) fn holder(&self, entity: &str) -> Option<Holder> {
        let holder = self.entities.borrow().locks.get(entity).cloned()?;
        let in_section = |run: Rc<Run>| run.section.get() == holder.op;
        self.run(&holder.execution)
            .is_some_and(in_section)
            .then_some(holder)
    }

    /// Whether a call has to wait for the end of a section.
    pub(crate) fn has_to_wait(&self, posted: &Posted) -> bool {
        let Some(holder) = self.holder(posted.work.entity()) else {
            return false;
        };
        match &posted.work {
            Work::Lock { by, .. } => *by != holder,
            Work::Operation(_) => posted.from.as_ref() != Some(&holder.execution),
        }
    }

    /// Lets calls go on that waited for the end of a section.
    fn let_go_on(self: &Rc<Self>) {
        let waiting = std::mem::take(&mut self.entities.borrow_mut().waiting);
        let (wait, go): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|p| self.has_to_wait(p));
        self.entities.borrow_mut().waiting = wait;
        // They were there before the others.
        for posted in go.into_iter().rev() {
            self.entities.borrow_mut().calls.push_front(posted);
            self.plan_call();
        }
    }
}

impl Run {
    /// Begins a critical section.
    pub(crate) fn lock(&self, op: u32, body: &Lock) {
        let names = match self.lockable(op, body) {
            Ok(names) => names,
            Err(fault) => return self.deliver(Duration::ZERO, op, Err(fault)),
        };
        self.section.set(op);
        self.lock_next(op, names);
    }

    /// The whole names of the entities, in the order in which all executions lock them.
    fn lockable(&self, op: u32, body: &Lock) -> Result<Vec<String>, Box<Fault>> {
        if self.section.get() != 0 {
            let message = "a critical section cannot begin within another";
            return Err(in_section(
                message,
                "Lock all entities together, or unlock first.",
            ));
        }
        if let Some(what) = self.awaits_answer(op) {
            let message =
                format!("a critical section cannot begin while {what} waits for its answer");
            let hint = "Await it first, or begin it in the section.";
            return Err(in_section(&message, hint));
        }
        let world = self.world();
        let mut names = Vec::new();
        for name in &body.entities {
            let (name, entity) = world.find_entity(name)?;
            if entity.state.is_none() || names.contains(&name) {
                let message = format!("{name} has no state, or is there twice");
                return Err(codes::CANNOT_LOCK.fault(message));
            }
            names.push(name);
        }
        names.sort();
        // The last one is the next.
        names.reverse();
        Ok(names)
    }

    /// Locks the next entity, or tells the workflow that it has all of them.
    fn lock_next(&self, op: u32, mut names: Vec<String>) {
        let Some(entity) = names.pop() else {
            return self.deliver(Duration::ZERO, op, Ok(NIL.to_vec()));
        };
        let by = Holder {
            execution: self.id.clone(),
            op,
        };
        let run = self.me();
        let then = move |_: Settled| {
            // It may have been given up meanwhile.
            if run.section.get() == op {
                run.lock_next(op, names);
            }
        };
        let from = Some(self.id.clone());
        self.world()
            .post_work(Work::Lock { entity, by }, from, then);
    }

    /// Ends the critical section, if there is one.
    pub(crate) fn unlock(&self) {
        if self.section.replace(0) != 0 {
            self.world().let_go_on();
        }
    }

    /// Why a workflow cannot be called now.
    pub(crate) fn refuses_calls(&self) -> Result<(), Box<Fault>> {
        if self.section.get() == 0 {
            return Ok(());
        }
        let message = "workflows cannot be called in a critical section: they might wait for what the section has locked";
        let hint = "Call it before or behind the section, or start it without waiting for it.";
        Err(in_section(message, hint))
    }

    /// Why an entity cannot be called, or sent to, now.
    pub(crate) fn refuses_entity(&self, entity: &str, wait: bool) -> Result<(), Box<Fault>> {
        let op = self.section.get();
        if op == 0 {
            return Ok(());
        }
        let execution = self.id.clone();
        let own = self.world().holder(entity) == Some(Holder { execution, op });
        match (wait, own) {
            (true, false) => {
                let message = format!("{entity} is not locked by the critical section");
                Err(codes::NOT_LOCKED.fault(message))
            }
            (false, true) => {
                let message = format!(
                    "{entity} is locked by the critical section: a message to it would wait for its end"
                );
                Err(in_section(&message, "Call it, or send behind the section."))
            }
            _ => Ok(()),
        }
    }
}

fn in_section(message: &str, hint: &str) -> Box<Fault> {
    let mut fault = codes::IN_SECTION.fault(message);
    hint.clone_into(&mut fault.hint);
    fault
}
