//! The deferreds of an execution, and their settlement.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::codes;
use crate::testing::request;
use crate::testing::run::promise::Promise;
use crate::testing::run::{Run, no_execution};
use crate::testing::words::{MAX_NAME, hinted, undeclared};
use crate::wire::{self, Fault, NIL, Settled, Wire};

impl Run {
    pub(super) fn await_deferred(&self, name: &str, op: u32) {
        let mut deferreds = self.deferreds.borrow_mut();
        let promise = deferreds.entry(name.to_owned()).or_default();
        match promise.settled.clone() {
            Some(result) => self.deliver(Duration::ZERO, op, result),
            None => promise.waiting.push(op),
        }
    }

    /// Settles a deferred, if the host would; returns whether it was open.
    fn settle(&self, name: &str, result: Settled) -> Result<bool, Box<Fault>> {
        if self.outcome().is_some() {
            return match self.is_settled(name) {
                true => Ok(false),
                false => Err(codes::ALREADY_OVER.fault(format!("{} is {}", self.id, self.state()))),
            };
        }
        let result = self.check_settlement(name, result)?;
        let mut deferreds = self.deferreds.borrow_mut();
        let is_new = deferreds.get(name).is_none_or(|d| d.settled.is_none());
        if is_new {
            check_room(&self.id, &deferreds, &result)?;
        }
        let promise = deferreds.entry(name.to_owned()).or_default();
        if promise.settled.is_some() {
            return Ok(false);
        }
        promise.settled = Some(result.clone());
        for op in std::mem::take(&mut promise.waiting) {
            self.deliver(Duration::ZERO, op, result.clone());
        }
        Ok(true)
    }

    fn is_settled(&self, name: &str) -> bool {
        let deferreds = self.deferreds.borrow();
        deferreds.get(name).is_some_and(|d| d.settled.is_some())
    }

    /// The settlement with its value in canonical form. Stubs of workflows take any.
    fn check_settlement(&self, name: &str, result: Settled) -> Result<Settled, Box<Fault>> {
        let workflow = &self.kind.workflow;
        let Some(definition) = self.definition() else {
            return Ok(result);
        };
        let Some(deferred) = definition.deferreds.iter().find(|d| d.has(name)) else {
            let known = definition.deferreds.iter().map(|d| match d.dynamic {
                true => format!("{}*", d.name),
                false => d.name.to_owned(),
            });
            let known: Vec<String> = known.collect();
            let dynamic = definition.deferreds.iter().filter(|d| d.dynamic);
            let near: Vec<_> = dynamic.flat_map(|d| misspelt(d.name, name)).collect();
            let code = &codes::UNKNOWN_DEFERRED;
            return Err(undeclared(code, workflow, "deferred", name, &known, &near));
        };
        match result {
            Ok(value) => request::fit("the value", deferred.value, &value).map(Ok),
            Err(fault) => Ok(Err(fault)),
        }
    }

    /// Settles a deferred for the test itself, which is mistaken if the host would not.
    pub(crate) fn settle_from_test(&self, name: &str, result: Settled) {
        match self.settle(name, result) {
            Err(fault) if fault.code != codes::ALREADY_OVER.code => panic!(
                "the test settles the deferred {name}: {}: {}",
                fault.code, fault.message
            ),
            _ => {}
        }
    }

    pub(super) fn resolve(&self, op: u32, body: wire::Resolve) {
        let owner = match body.execution.as_str() {
            "" => Some(self.me()),
            id => self.world().run(id),
        };
        let result = match owner {
            None => Err(no_execution(&body.execution)),
            Some(owner) => {
                let value = body.value.unwrap_or_else(|| NIL.to_vec());
                let result = body.error.map_or(Ok(value), Err);
                owner
                    .settle(&body.name, result)
                    .map(|settled| settled.encode())
            }
        };
        self.deliver(Duration::ZERO, op, result);
    }
}

/// How many deferreds of an execution can be settled, and how large their values may be together,
/// in bytes.
const MAX_SETTLED: usize = 10_000;
const MAX_SETTLED_BYTES: usize = 256 << 20;

/// Refuses a settlement that there is no room for.
fn check_room(
    execution: &str,
    deferreds: &BTreeMap<String, Promise>,
    result: &Settled,
) -> Result<(), Box<Fault>> {
    let size = |settled: &Settled| match settled {
        Ok(value) => value.len(),
        Err(fault) => fault.encode().len(),
    };
    let settled = || deferreds.values().filter_map(|d| d.settled.as_ref());
    let (n, bytes) = (settled().count(), settled().map(size).sum::<usize>());
    if n < MAX_SETTLED && bytes + size(result) <= MAX_SETTLED_BYTES {
        return Ok(());
    }
    let message = format!(
        "{execution} has {n} settled deferreds with {} KiB; the limits are {MAX_SETTLED} and {} MiB",
        bytes >> 10,
        MAX_SETTLED_BYTES >> 20
    );
    let hint = "Keep large data in your database or object store and settle with a reference, or let another execution wait for the rest.";
    Err(hinted(codes::EXECUTION_TOO_LONG.fault(message), hint))
}

/// The names that result if a beginning about as long as a declared one were spelt like it, each
/// with its declaration. Where the beginning ends is not known, so the rest is not guessed.
fn misspelt(beginning: &str, name: &str) -> Vec<(String, String)> {
    if name.len() > MAX_NAME {
        return Vec::new();
    }
    let least = beginning.len().saturating_sub(2).max(1);
    let most = (beginning.len() + 2).min(name.len().saturating_sub(1));
    (least..=most)
        .filter_map(|n| {
            Some((
                format!("{beginning}{}", name.get(n..)?),
                format!("{beginning}*"),
            ))
        })
        .collect()
}
