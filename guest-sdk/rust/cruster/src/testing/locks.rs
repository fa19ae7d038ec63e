//! Critical sections of a test: the holder of each lock, and its waiters.

use std::rc::Rc;
use std::time::Duration;

use crate::codes;
use crate::testing::entity_store::{Holder, Posted, Target, Work};
use crate::testing::run::Run;
use crate::testing::words::{hinted, quoted};
use crate::testing::world::World;
use crate::wire::{Fault, Lock, NIL, Settled};

impl World<Run> {
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
        if let Some((kind, name)) = self.awaits_answer(op) {
            let name = quoted(&name, usize::MAX);
            let message = format!(
                "a critical section cannot begin while {kind} {name} waits for its answer: it might wait for what the section locks"
            );
            let hint = "Await it first, or begin it in the section.";
            return Err(in_section(&message, hint));
        }
        let world = self.world();
        let mut names = Vec::new();
        for name in &body.entities {
            let (name, _, entity) = world.find_entity(&self.kind.deployment, name)?;
            if entity.state.is_none() {
                let message = format!("{name} has no state: it cannot be locked");
                return Err(codes::CANNOT_LOCK.fault(message));
            }
            if names.contains(&name) {
                let message = format!("{name} is to be locked twice");
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
    pub(crate) fn refuses_call(&self, workflow: &str) -> Result<(), Box<Fault>> {
        if self.section.get() == 0 {
            return Ok(());
        }
        let message = format!(
            "workflow {} cannot be called in a critical section: it might wait for what the section has locked",
            quoted(workflow, usize::MAX)
        );
        let hint = "Call it before or behind the section, or start it without waiting for it.";
        Err(in_section(&message, hint))
    }

    /// Why an entity cannot be called, or sent to, now.
    pub(crate) fn refuses_entity(&self, target: &Target, wait: bool) -> Result<(), Box<Fault>> {
        let entity = &target.name;
        let operation = quoted(target.operation.name, usize::MAX);
        let op = self.section.get();
        if op == 0 {
            return Ok(());
        }
        let execution = self.id.clone();
        let own = self.world().holder(entity) == Some(Holder { execution, op });
        match (wait, own) {
            (true, false) => {
                let message = format!(
                    "{entity} is not locked by the critical section in which {operation} was called"
                );
                Err(codes::NOT_LOCKED.fault(message))
            }
            (false, true) => {
                let message = format!(
                    "{operation} cannot be sent to {entity}, which the critical section has locked: it would be performed behind the section"
                );
                let hint = "Call it, or send it behind the section.";
                Err(in_section(&message, hint))
            }
            _ => Ok(()),
        }
    }
}

fn in_section(message: &str, hint: &str) -> Box<Fault> {
    hinted(codes::IN_SECTION.fault(message), hint)
}
