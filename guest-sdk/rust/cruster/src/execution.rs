//! The execution of a workflow: its beginning, its turns and its end.

use std::rc::Rc;

use crate::definition::{Start, WorkflowDefinition};
use crate::executor::ContextCore;
use crate::host::Host;
use crate::owner::Given;
use crate::std_clock;
use crate::timestamp::Timestamp;
use crate::wire::{Invocation, Outcome, Query, Resume};

/// An execution that can be resumed.
pub(crate) struct Execution {
    core: ContextCore,
}

impl Execution {
    /// Runs a workflow up to its first wait.
    pub(crate) fn start(
        host: Rc<dyn Host>,
        workflow: &WorkflowDefinition,
        mut invocation: Invocation,
        given: &'static [Given],
    ) -> Self {
        let body = invocation.body.take().unwrap_or_default();
        let core = ContextCore::new(host, workflow.deferreds, invocation);
        let execution = Execution { core };
        let _clock = std_clock::turn(execution.core.now());
        execution.begin(workflow, body, given);
        execution.end_turn();
        execution
    }

    fn begin(&self, workflow: &WorkflowDefinition, body: Vec<u8>, given: &'static [Given]) {
        let shared = &*self.core.0;
        // The wait for an interrupt is the first op of every workflow, so that the host
        // can deliver one at any time.
        if let Err(fault) = self.core.ask_for_interrupt() {
            shared.finish(Outcome::failed(fault));
            return;
        }
        if let Some(listen) = workflow.listen {
            if let Err(fault) = listen(&self.core) {
                shared.finish(Outcome::failed(fault));
                return;
            }
        }
        let unread = match self.core.ask_for_unread(workflow.signals) {
            Ok(unread) => unread,
            Err(refused) => {
                shared.finish(Outcome::failed(refused.of_workflow("")));
                return;
            }
        };
        let run = (workflow.run)(Start {
            core: self.core.clone(),
            body,
            given,
        });
        let core = self.core.clone();
        self.core.add_task(
            Some(workflow.begins),
            Box::pin(async move {
                unread.await;
                let outcome = run.await;
                core.0.finish(outcome);
            }),
        );
        shared.dispatch();
    }

    /// Applies deliveries in order, and runs all runnable tasks after each of them.
    pub(crate) fn resume(&self, resume: Resume) {
        let shared = &*self.core.0;
        let time = Timestamp::from_unix_nanos(resume.time);
        shared.begin_turn(time, resume.deliveries.len(), resume.entries);
        let _clock = std_clock::turn(time);
        for delivery in resume.deliveries {
            if shared.has_outcome() {
                // Only signals matter now: they are the next run's, if there is one.
                shared.deliver(delivery);
                continue;
            }
            if !self.core.take_update(&delivery) {
                shared.deliver(delivery);
            }
            shared.dispatch();
        }
        self.end_turn();
    }

    /// Does the remaining work when all tasks wait, or the workflow has ended.
    fn end_turn(&self) {
        self.core.publish_changes();
        let mut outcome = self.core.0.outcome.borrow_mut();
        if let Some(next) = outcome.as_mut().and_then(|o| o.next.as_mut()) {
            let kept = self.core.kept_signals();
            next.unread = Some(kept.into_iter().map(|s| s.0.to_owned()).collect());
        }
    }

    #[cfg(not(target_family = "wasm"))] // for the test kit
    pub(crate) fn core(&self) -> &ContextCore {
        &self.core
    }

    /// Answers a query while the workflow waits.
    pub(crate) fn query(&self, query: &Query) -> Outcome {
        match query.update {
            true => self.core.would_take(query),
            false => self.core.query(query),
        }
    }

    /// Whether the workflow is in a deadlock.
    pub(crate) fn stuck(&self) -> bool {
        self.core.0.stuck()
    }

    /// Where each task began, its wait and where it waits, in the author's lines.
    pub(crate) fn waits(&self) -> Vec<String> {
        self.core.0.waits_of_tasks()
    }

    /// How the workflow ended; `None` while it waits for deliveries.
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        self.core.0.outcome.borrow().clone()
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        self.core.close();
    }
}
