//! Runs single operations of entities.

use std::rc::Rc;

use crate::codes;
use crate::logging;
use crate::module::Started;
use crate::testing::attempt::{AttemptHost, limit_of, told_of};
use crate::testing::entity_store::{Stored, Target};
use crate::testing::panics;
use crate::testing::received::received;
use crate::testing::run::Run;
use crate::testing::watchdog;
use crate::testing::words::{hinted, quoted};
use crate::testing::world::World;
use crate::wire::{
    EntityCall, Fault, Invocation, OperationReply, Operations, OperationsReply, Outcome, Wire,
};

/// How many messages one operation sends at most.
const MAX_SENT: usize = 1000;

/// Runs an operation, and keeps the state that it leaves behind.
pub(crate) fn run(world: &Rc<World<Run>>, target: &Target) -> Result<OperationReply, Box<Fault>> {
    match target.entity.state {
        Some(_) => operate(world, target),
        None => call(world, target),
    }
}

/// An operation of an entity with a state.
fn operate(world: &Rc<World<Run>>, target: &Target) -> Result<OperationReply, Box<Fault>> {
    let stored = world.entities.borrow().states.get(&target.name).cloned();
    let (state, version) = stored.map_or((None, 0), |s| (Some(s.raw), s.version));
    let body = Operations {
        operations: vec![entity_call(target)],
        state,
        version,
    };
    let host = AttemptHost::for_operation(world, &name_of(target));
    let outcome = invoke(world, target, host, "operations", body.encode());
    let reply = OperationsReply::decode(&outcome.into_result()?)
        .map_err(|e| codes::GUEST_PROTOCOL.fault(e.to_string()))?;
    let mut replies = reply.replies;
    let Some(mut first) = replies.pop().filter(|_| replies.is_empty()) else {
        return Err(codes::GUEST_PROTOCOL.fault("one operation has one reply"));
    };
    if let Some(fault) = first.error.take() {
        return Err(fault);
    }
    check_messages(world, target, &first)?;
    if !target.operation.read_only {
        let states = &mut world.entities.borrow_mut().states;
        match reply.state {
            None => states.remove(&target.name),
            Some(raw) => {
                let version = reply.version;
                states.insert(target.name.clone(), Stored { raw, version })
            }
        };
    }
    Ok(first)
}

/// Checks the messages of an operation. A mistake is the operation's: it fails, and has changed and
/// sent nothing.
fn check_messages(
    world: &World<Run>,
    target: &Target,
    reply: &OperationReply,
) -> Result<(), Box<Fault>> {
    let sent = reply.sent.as_deref().unwrap_or_default();
    let started = reply.started.as_deref().unwrap_or_default();
    let n = sent.len() + started.len();
    if n > MAX_SENT {
        let message = format!("an operation sent {n} messages, the limit is {MAX_SENT}");
        return Err(codes::TOO_MANY_OPS.fault(message));
    }
    if n > 0 && target.operation.read_only {
        let message = "a read-only operation cannot send messages";
        let hint = "Declare the operation without read-only.";
        return Err(hinted(codes::WRONG_CONTEXT.fault(message), hint));
    }
    let from = target.name.split('/').next().unwrap_or_default();
    for message in sent {
        world.accept_call(from, message)?;
    }
    for call in started {
        world.accept_start(from, call)?;
    }
    Ok(())
}

/// A call of an entity without a state.
fn call(world: &Rc<World<Run>>, target: &Target) -> Result<OperationReply, Box<Fault>> {
    let host = AttemptHost::for_call(world, &name_of(target));
    let outcome = invoke(
        world,
        target,
        host.clone(),
        "call",
        entity_call(target).encode(),
    );
    let value = host.end(received(outcome)).into_result()?;
    Ok(OperationReply {
        value: Some(value),
        ..OperationReply::default()
    })
}

fn entity_call(target: &Target) -> EntityCall {
    EntityCall {
        input: Some(target.input.clone()),
        operation: target.operation.name.to_owned(),
    }
}

fn name_of(target: &Target) -> String {
    format!("operation {} of {}", target.operation.name, target.name)
}

fn invoke(
    world: &Rc<World<Run>>,
    target: &Target,
    host: Rc<AttemptHost>,
    kind: &str,
    body: Vec<u8>,
) -> Outcome {
    let key = match target.operation.persisted {
        true => format!("{}/{}", target.name, world.number_op()),
        false => String::new(),
    };
    let invocation = Invocation {
        body: Some(body),
        deadline: (world.now() + told_of(limit_of(0))).unix_nanos(),
        execution: target.name.clone(),
        idempotency_key: key,
        kind: kind.to_owned(),
        name: target.entity.options.name.to_owned(),
        namespace: world.config.namespace.clone(),
        time: world.now().unix_nanos(),
        ..Invocation::default()
    };
    let _log = logging::scope(world.now(), &target.name);
    let limit = world.config.turn_limit;
    let _watched = match kind {
        "call" => watchdog::attempt(
            &format!("operation {}", quoted(target.operation.name, usize::MAX)),
            limit_of(0),
            limit,
        ),
        _ => watchdog::operation(target.operation.name, limit),
    };
    let ran = panics::caught(|| match target.module.start(host, invocation) {
        Started::Over(outcome) => outcome,
        Started::Workflow(_) => {
            Outcome::failed(codes::GUEST_PROTOCOL.fault("an operation cannot wait"))
        }
    });
    ran.unwrap_or_else(|panic| {
        let operation = quoted(target.operation.name, usize::MAX);
        let message = format!("operation {operation}: the module crashed: {panic}");
        Outcome::failed(codes::OPERATION_CRASHED.fault(message))
    })
}
