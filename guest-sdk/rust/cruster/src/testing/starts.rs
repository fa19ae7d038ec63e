//! Starts of workflows, and the keys of their executions.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use crate::codes;
use crate::definition::{KeyMode, WorkflowDefinition};
use crate::module::{Module, Started};
use crate::testing::canonical::canonical;
use crate::testing::config::WorkflowStub;
use crate::testing::deployments::split_workflow;
use crate::testing::key_host::KeyHost;
use crate::testing::panics;
use crate::testing::refusals::check_key;
use crate::testing::request;
use crate::testing::run::caller::Caller;
use crate::testing::run::{Run, RunKind};
use crate::testing::sha256;
use crate::testing::watchdog;
use crate::testing::words::quoted;
use crate::testing::world::World;
use crate::wire::{Call, Fault, Invocation, Wire};

impl World<Run> {
    pub(crate) fn add_run(self: &Rc<Self>, id: String, kind: RunKind, body: Vec<u8>) -> Rc<Run> {
        let run = Run::new(self, &id, kind, body);
        self.add(id, run.clone());
        run
    }

    /// Starts another workflow or finds the execution that has its key; `from` is the
    /// deployment of the caller.
    pub(crate) fn call(
        self: &Rc<Self>,
        from: &str,
        call: &Call,
        caller: Option<Caller>,
    ) -> Result<Rc<Run>, Box<Fault>> {
        let Accepted {
            id,
            kind,
            input,
            stub,
        } = self.accept_start(from, call)?;
        if let Some(run) = self.run(&id) {
            return Ok(run);
        }
        let run = self.add_run(id, kind, input.clone());
        *run.caller.borrow_mut() = caller;
        let started = run.clone();
        match stub {
            None => self.after(Duration::ZERO, move || started.begin()),
            Some(stub) => self.after(Duration::ZERO, move || {
                if started.outcome().is_none() {
                    let outcome = (stub.borrow_mut())(&input);
                    started.finish(outcome);
                }
            }),
        }
        Ok(run)
    }

    /// Checks a start as the host does before it accepts it.
    pub(crate) fn accept_start(&self, from: &str, call: &Call) -> Result<Accepted, Box<Fault>> {
        let (deployment, name) = split_workflow(from, &call.workflow);
        let stub = self.stub_of(deployment, name);
        let found = match (self.workflow(deployment, name), &stub) {
            (Ok(found), _) => Some(found),
            (Err(_), Some(_)) => None,
            (Err(fault), None) => return Err(fault),
        };
        let mut input = call.input.clone().unwrap_or_default();
        if let (Some((_, definition)), None) = (found, &stub) {
            input = request::check(definition, &input)?;
        }
        let key = match call.key_mode.as_str() {
            "hashed" => sha256::hex(&check_key(call.key.clone())?.encode()),
            "raw" => check_key(call.key.clone())?,
            _ => derive_key(found, &input)?,
        };
        Ok(Accepted {
            id: format!("{deployment}/{name}/{key}"),
            kind: RunKind::of(deployment, name, found),
            input,
            stub,
        })
    }

    /// The test's replacement of a workflow.
    fn stub_of(&self, deployment: &str, name: &str) -> Option<Rc<RefCell<WorkflowStub>>> {
        let stubs = &self.config.workflows;
        stubs
            .get(&self.name_in_test(deployment, name))
            .or_else(|| stubs.get(&format!("{deployment}/{name}")))
            .cloned()
    }
}

/// A start that was accepted.
pub(crate) struct Accepted {
    id: String,
    kind: RunKind,
    input: Vec<u8>,
    stub: Option<Rc<RefCell<WorkflowStub>>>,
}

pub(crate) type Found = Option<(&'static Module, &'static WorkflowDefinition)>;

/// Computes the key of a request as the host does. The key of a stub's request is its hash.
pub(crate) fn derive_key(workflow: Found, body: &[u8]) -> Result<String, Box<Fault>> {
    let (answer, raw) = match workflow {
        Some((module, w)) if w.key != KeyMode::Request => {
            let answer = ask_key(module, w.name, body)?;
            (answer, (w.key == KeyMode::FunctionRaw).then_some(w.name))
        }
        _ => (body.to_vec(), None),
    };
    if let Some(name) = raw {
        let key = String::decode(&answer).map_err(|_| {
            let name = quoted(name, usize::MAX);
            let message = format!("the raw key function of {name} did not return a string");
            codes::KEY_FUNCTION.fault(message)
        })?;
        return check_key(key);
    }
    let canonical = canonical(&answer).map_err(|e| codes::BAD_BODY.fault(e.to_string()))?;
    Ok(sha256::hex(&canonical))
}

fn ask_key(module: &'static Module, workflow: &str, body: &[u8]) -> Result<Vec<u8>, Box<Fault>> {
    let invocation = Invocation {
        body: Some(body.to_vec()),
        kind: "key".to_owned(),
        name: workflow.to_owned(),
        ..Invocation::default()
    };
    let failed = |why: &str| {
        let name = quoted(workflow, usize::MAX);
        codes::KEY_FUNCTION.fault(format!("the key function of {name} failed: {why}"))
    };
    let what = format!("the key function of {}", quoted(workflow, usize::MAX));
    let _watched = watchdog::other(what, watchdog::TURN_LIMIT);
    let started = panics::caught(|| module.start(Rc::new(KeyHost), invocation));
    let Started::Over(outcome) = started.map_err(|panic| {
        failed(&format!(
            "{}: the module crashed: {panic}",
            codes::GUEST_TRAP.code
        ))
    })?
    else {
        return Err(failed("it parked"));
    };
    outcome
        .into_result()
        .map_err(|fault| match fault.code == codes::BAD_INPUT.code {
            true => fault,
            false => failed(&fault.message),
        })
}
