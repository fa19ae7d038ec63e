//! Attempts of activities.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use crate::attempt::Attempt;
use crate::codes;
use crate::error::Error;
use crate::host::{Call, Host};
use crate::http::HttpRequest;
use crate::logging;
use crate::testing::database::Database;
use crate::testing::panics;
use crate::testing::received::received;
use crate::testing::run::Run;
use crate::testing::statement;
use crate::testing::url;
use crate::testing::world::World;
use crate::value::Value;
use crate::wire::{self, Fault, Invocation, Malformed, Outcome, Settled, Wire};

/// The first delay, if a policy names none, and the longest.
const DEFAULT_BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_secs(60);

/// A step of an execution.
pub(crate) struct Step {
    pub(crate) op: u32,
    /// Its name within the execution.
    pub(crate) name: String,
    pub(crate) activity: wire::Activity,
}

/// Performs one attempt of an activity, then retries or delivers its outcome.
pub(crate) fn attempt(run: &Rc<Run>, step: Step, n: u32) {
    let op = step.op;
    if !run.waits(op) {
        return; // the op was cancelled, or the workflow is over
    }
    let (outcome, took) = try_once(run, &step, n);
    let outcome = received(outcome);
    let retry = &step.activity.retry;
    match &outcome.error {
        Some(fault) if fault.retryable && n <= retry.retries => {
            let (failed, fault) = (run.clone(), fault.clone());
            run.world().after(took, move || failed.retried(op, &fault));
            let again = run.clone();
            let delay = took + backoff(retry, n);
            run.world()
                .after(delay, move || attempt(&again, step, n + 1));
        }
        _ => run.deliver(took, op, outcome.into_result()),
    }
}

/// Runs the activity's code; returns how much virtual time it took.
fn try_once(run: &Run, step: &Step, n: u32) -> (Outcome, Duration) {
    let world = run.world();
    let activity = &step.activity;
    let name = &activity.name;
    let host = AttemptHost::new(&world, &format!("activity {name}"));
    let limit = limit_of(activity.timeout);
    let invocation = Invocation {
        attempt: i64::from(n),
        body: activity.input.clone(),
        deadline: (world.now() + limit).unix_nanos(),
        execution: run.id.clone(),
        idempotency_key: format!("{}/{}", run.id, step.name),
        kind: "activity".to_owned(),
        name: name.clone(),
        namespace: world.config.namespace.clone(),
        time: world.now().unix_nanos(),
        ..Invocation::default()
    };
    let attempt = Attempt::new(host.clone(), invocation, world.module.given());
    let took = match world.config.takes.get(name) {
        None => Duration::ZERO,
        Some(takes) => match (takes.borrow_mut())(attempt.clone()) {
            Ok(took) => took,
            Err(e) => return (Outcome::failed(e.of_activity()), Duration::ZERO),
        },
    };
    if took > limit {
        let message = format!("activity {name} took longer than {limit:?}");
        return (
            Outcome::failed(codes::ACTIVITY_TIMEOUT.fault(message)),
            limit,
        );
    }
    let _log = logging::scope(world.now(), &run.id);
    let outcome = perform(&world, attempt, name);
    (host.end(outcome), took)
}

/// How long an attempt may take: as the activity says, or what hosts have unless they are told
/// otherwise.
pub(super) fn limit_of(timeout: i64) -> Duration {
    match u64::try_from(timeout) {
        Ok(nanos) if nanos > 0 => Duration::from_nanos(nanos),
        _ => Duration::from_secs(60),
    }
}

fn perform(world: &World, attempt: Attempt, name: &str) -> Outcome {
    let performed = panics::caught(|| match world.config.activities.get(name) {
        Some(stub) => (stub.borrow_mut())(attempt),
        None => match world.module.activity(name) {
            Some(activity) => (activity.run)(attempt),
            None => Outcome::failed(
                codes::UNKNOWN_ACTIVITY.fault(format!("the module has no activity {name:?}")),
            ),
        },
    });
    performed.unwrap_or_else(|panic| {
        Outcome::failed(codes::ACTIVITY_CRASHED.fault(format!("activity {name} {panic}")))
    })
}

/// The delay after the n-th attempt; without jitter, as nothing is random here.
fn backoff(retry: &wire::Retry, n: u32) -> Duration {
    let base = match u64::try_from(retry.base) {
        Ok(base) if base > 0 => Duration::from_nanos(base),
        _ => DEFAULT_BACKOFF,
    };
    let factor = if retry.backoff == "constant" {
        1
    } else {
        1u32.checked_shl(n - 1).unwrap_or(u32::MAX).max(1)
    };
    base.saturating_mul(factor).min(MAX_BACKOFF)
}

/// The host of one attempt of an activity, or of one operation of an entity.
pub(crate) struct AttemptHost {
    world: Rc<World>,
    /// What runs, for messages.
    what: String,
    /// Whether it may use SQL and HTTP.
    has_effects: bool,
    /// Whether the attempt has begun a transaction.
    open: Cell<bool>,
}

impl AttemptHost {
    pub(crate) fn new(world: &Rc<World>, what: &str) -> Rc<Self> {
        Self::make(world, what, true)
    }

    /// The host of an operation of an entity with a state.
    pub(crate) fn for_operation(world: &Rc<World>, what: &str) -> Rc<Self> {
        Self::make(world, what, false)
    }

    fn make(world: &Rc<World>, what: &str, has_effects: bool) -> Rc<Self> {
        Rc::new(AttemptHost {
            world: world.clone(),
            what: what.to_owned(),
            has_effects,
            open: Cell::new(false),
        })
    }

    /// Commits or rolls back.
    pub(crate) fn end(&self, outcome: Outcome) -> Outcome {
        let Some(database) = self
            .world
            .config
            .database
            .as_ref()
            .filter(|_| self.open.get())
        else {
            return outcome;
        };
        let mut database = database.borrow_mut();
        if outcome.error.is_some() {
            database.rollback();
            return outcome;
        }
        match database.commit() {
            Ok(()) => outcome,
            Err(e) => Outcome::failed(sql_fault(&e.context("commit"))),
        }
    }

    fn answer(&self, name: &str, body: &[u8]) -> Result<Settled, Malformed> {
        Ok(match name {
            "config" => {
                let request = wire::ConfigRequest::decode(body)?;
                let value = self.world.config.config.get(&request.name).cloned();
                Ok(wire::ConfigReply {
                    found: value.is_some(),
                    value: value.unwrap_or_default(),
                }
                .encode())
            }
            _ if !self.has_effects => {
                let message = format!("{name} was called in {}", self.what);
                Err(codes::WRONG_CONTEXT.fault(message))
            }
            "http" => self.http(wire::HTTPRequest::decode(body)?),
            "tx_rollback" => {
                wire::TxRollback::decode(body)?;
                self.give_up();
                Ok(Value::Nil.encode())
            }
            _ => self.sql(name, &wire::SQL::decode(body)?)?,
        })
    }

    fn http(&self, request: wire::HTTPRequest) -> Result<Vec<u8>, Box<Fault>> {
        let what = format!("{} {}", request.method, request.url);
        if self.open.get() {
            let message = format!(
                "{what} was called while the transaction of {} is open",
                self.what
            );
            return Err(codes::HTTP_IN_TX.fault(message));
        }
        url::check(&request.url)?;
        let Some(handler) = &self.world.config.http else {
            return Err(self.missing("HTTP", "Test::http"));
        };
        let answer = (handler.borrow_mut())(HttpRequest::from_wire(request));
        answer.map(|a| a.into_wire().encode()).map_err(|e| {
            if e.code().is_empty() {
                codes::HTTP_FAILED.fault(format!("{what}: {e}"))
            } else {
                e.of_activity()
            }
        })
    }

    fn sql(&self, call: &str, statement: &wire::SQL) -> Result<Settled, Malformed> {
        let Some(database) = &self.world.config.database else {
            return Ok(Err(self.missing("SQL", "Test::sql")));
        };
        let params = match &statement.args {
            Some(args) => Vec::<Value>::decode(args)?,
            None => Vec::new(),
        };
        if let Err(refused) = statement::check(&statement.query) {
            return Ok(Err(refused));
        }
        let mut database = database.borrow_mut();
        Ok(self
            .run_statement(&mut **database, call, &statement.query, &params)
            .map_err(|e| sql_fault(&e)))
    }

    /// Undoes the transaction, if there is one.
    fn give_up(&self) {
        if let Some(database) = &self.world.config.database
            && self.open.replace(false)
        {
            database.borrow_mut().rollback();
        }
    }

    fn run_statement(
        &self,
        database: &mut dyn Database,
        call: &str,
        sql: &str,
        params: &[Value],
    ) -> Result<Vec<u8>, Error> {
        if !self.open.replace(true) {
            database.begin()?;
        }
        if call == "tx_exec" {
            let rows_affected = i64::try_from(database.execute(sql, params)?).unwrap_or(i64::MAX);
            return Ok(wire::ExecReply { rows_affected }.encode());
        }
        let rows = database.query(sql, params)?;
        Ok(wire::QueryReply {
            columns: rows.columns,
            rows: rows.rows,
        }
        .encode())
    }

    /// The error for what a test does not provide.
    fn missing(&self, what: &str, option: &str) -> Box<Fault> {
        let message = format!("{} uses {what}, which the test does not provide", self.what);
        let mut fault = codes::WRONG_CONTEXT.fault(message);
        fault.hint =
            format!("Replace the activity with Test::stub, or provide {what} with {option}.");
        fault
    }
}

/// The fault for an error of the database.
fn sql_fault(e: &Error) -> Box<Fault> {
    codes::SQL.fault(e.to_string())
}

impl Host for AttemptHost {
    fn issue(&self, call: &'static Call, _: &[u8]) -> Result<u32, Box<Fault>> {
        Err(codes::WRONG_CONTEXT.fault(format!("{} was called in {}", call.name, self.what)))
    }

    fn cancel(&self, _: u32) {}

    fn perform(&self, call: &'static Call, body: &[u8]) -> Result<Vec<u8>, Box<Fault>> {
        self.answer(call.name, body)
            .unwrap_or_else(|e| Err(codes::BAD_BODY.fault(e.to_string())))
    }
}
