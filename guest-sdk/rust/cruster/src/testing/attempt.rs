//! Attempts of activities.

use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::attempt::Attempt;
use crate::codes;
use crate::error::Error;
use crate::host::{Call, Host};
use crate::http_call::HttpRequest;
use crate::logging;
use crate::module::Module;
use crate::testing::database::Database;
use crate::testing::egress;
use crate::testing::panics;
use crate::testing::received::received;
use crate::testing::refusals::{MAX_BODY, check_size};
use crate::testing::run::Run;
use crate::testing::statement;
use crate::testing::transaction::Open;
use crate::testing::watchdog;
use crate::testing::words::{duration, hinted, quoted};
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
        return; // the op was cancelled, or the workflow has ended
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
        deadline: (world.now() + told_of(limit)).unix_nanos(),
        execution: run.id.clone(),
        idempotency_key: format!("{}/{}", run.id, step.name),
        kind: "activity".to_owned(),
        name: name.clone(),
        namespace: world.config.namespace.clone(),
        time: world.now().unix_nanos(),
        ..Invocation::default()
    };
    let attempt = Attempt::new(host.clone(), invocation, run.module().given());
    let in_test = world.name_in_test(&run.kind.deployment, name);
    let took = match world.config.takes.get(&in_test) {
        None => Duration::ZERO,
        Some(takes) => match (takes.borrow_mut())(attempt.clone()) {
            Ok(took) => took,
            Err(e) => return (Outcome::failed(e.of_activity()), Duration::ZERO),
        },
    };
    let what = format!("attempt {n} of activity {}", quoted(name, usize::MAX));
    if took > limit {
        let message = format!("{what} took longer than {}", duration(limit));
        return (
            Outcome::failed(codes::ACTIVITY_TIMEOUT.fault(message)),
            limit,
        );
    }
    let _log = logging::attempt_scope(world.now(), &run.id);
    let _watched = watchdog::attempt(&what, limit, world.config.turn_limit);
    let outcome = match world.config.activities.get(&in_test) {
        Some(stub) => caught(name, || (stub.borrow_mut())(attempt)),
        None => caught(name, || perform(run.module(), attempt, name)),
    };
    (host.end(outcome), took)
}

/// The time limit of an attempt: the activity's, or the default of hosts.
pub(super) fn limit_of(timeout: i64) -> Duration {
    match u64::try_from(timeout) {
        Ok(nanos) if nanos > 0 => Duration::from_nanos(nanos),
        _ => Duration::from_secs(60),
    }
}

/// The time an attempt is told it has, which is a little less: code that stops by then can still
/// report its outcome.
pub(super) fn told_of(limit: Duration) -> Duration {
    limit - (limit / 10).min(Duration::from_millis(100))
}

fn perform(module: &Module, attempt: Attempt, name: &str) -> Outcome {
    match module.activity(name) {
        Some(activity) => (activity.run)(attempt),
        None => {
            let name = quoted(name, usize::MAX);
            let message = format!("the module has no activity {name}");
            Outcome::failed(codes::UNKNOWN_ACTIVITY.fault(message))
        }
    }
}

/// The outcome of an attempt, also if it panics.
fn caught(name: &str, perform: impl FnOnce() -> Outcome) -> Outcome {
    panics::caught(perform).unwrap_or_else(|panic| {
        let name = quoted(name, usize::MAX);
        let message = format!("activity {name}: the module crashed: {panic}");
        Outcome::failed(codes::ACTIVITY_CRASHED.fault(message))
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

/// How many calls over HTTP are made at the same time at most.
const MAX_HTTP_ALL: usize = 64;

/// The host of one attempt of an activity, or of one operation of an entity.
pub(crate) struct AttemptHost {
    world: Rc<World<Run>>,
    /// The running code, for messages.
    what: String,
    /// Whether it is an operation of an entity.
    of_entity: bool,
    /// Whether it may use SQL and HTTP.
    has_effects: bool,
    transaction: Open,
}

impl AttemptHost {
    pub(crate) fn new(world: &Rc<World<Run>>, what: &str) -> Rc<Self> {
        Self::make(world, what, false, true)
    }

    /// The host of a call of an entity without a state.
    pub(crate) fn for_call(world: &Rc<World<Run>>, what: &str) -> Rc<Self> {
        Self::make(world, what, true, true)
    }

    /// The host of an operation of an entity with a state.
    pub(crate) fn for_operation(world: &Rc<World<Run>>, what: &str) -> Rc<Self> {
        Self::make(world, what, true, false)
    }

    fn make(world: &Rc<World<Run>>, what: &str, of_entity: bool, has_effects: bool) -> Rc<Self> {
        Rc::new(AttemptHost {
            world: world.clone(),
            what: what.to_owned(),
            of_entity,
            has_effects,
            transaction: Open::default(),
        })
    }

    /// Commits or rolls back.
    pub(crate) fn end(&self, outcome: Outcome) -> Outcome {
        let Some(database) = &self.world.config.database else {
            return outcome;
        };
        let mut database = database.borrow_mut();
        let late = self.check_open(&mut **database);
        let open = self.transaction.end();
        if outcome.error.is_some() {
            if open {
                database.rollback();
            }
            return outcome;
        }
        if let Err(fault) = late {
            return Outcome::failed(fault);
        }
        if !open {
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
                let message =
                    format!("{name} is not available in an operation of an entity with a state");
                let hint = "Start a workflow with an activity that does it, or use an entity without a state.";
                Err(hinted(codes::WRONG_CONTEXT.fault(message), hint))
            }
            "http" => self
                .http(wire::HTTPRequest::decode(body)?)
                .map(|answer| answer.encode()),
            "http_all" => self.http_all(wire::HTTPAll::decode(body)?),
            "tx_rollback" => {
                wire::TxRollback::decode(body)?;
                self.give_up();
                Ok(Value::Nil.encode())
            }
            _ => self.sql(name, &wire::SQL::decode(body)?)?,
        })
    }

    fn http(&self, request: wire::HTTPRequest) -> Result<wire::HTTPResponse, Box<Fault>> {
        if self.transaction.is_begun() {
            let message =
                "a transaction is open; HTTP would hold it for as long as the other side likes";
            return Err(codes::HTTP_IN_TX.fault(message));
        }
        egress::check(&request)?;
        let Some(handler) = &self.world.config.http else {
            return Err(self.missing("HTTP", "Test::http"));
        };
        let answer = (handler.borrow_mut())(HttpRequest::from_wire(request.clone()));
        let answer = answer.map_err(|e| {
            if e.code().is_empty() {
                codes::HTTP_FAILED.fault(format!("{}: {e}", egress::call(&request)))
            } else {
                e.of_activity()
            }
        })?;
        let answer = answer.into_wire();
        egress::check_answer(&request, &answer)?;
        Ok(answer)
    }

    /// The calls are made one after the other: the answers of a test are the same either way.
    fn http_all(&self, all: wire::HTTPAll) -> Result<Vec<u8>, Box<Fault>> {
        if self.world.config.http.is_none() {
            return Err(self.missing("HTTP", "Test::http"));
        }
        if all.requests.len() > MAX_HTTP_ALL {
            let message = format!(
                "{} requests are more than {MAX_HTTP_ALL}",
                all.requests.len()
            );
            return Err(codes::BAD_BODY.fault(message));
        }
        if self.transaction.is_begun() {
            self.http(wire::HTTPRequest::default())?; // refused as a whole
        }
        let mut room = egress::MAX_BODY;
        let results = all.requests.into_iter().map(|request| {
            let answer = self.http(request.clone());
            let answer =
                answer.and_then(|a| egress::take_room(&mut room, &request, &a).map(|()| a));
            let (error, response) = match answer {
                Ok(answer) => (None, Some(Box::new(answer))),
                Err(fault) => (Some(fault), None),
            };
            wire::HTTPResult { error, response }
        });
        Ok(wire::HTTPAllReply {
            results: results.collect(),
        }
        .encode())
    }

    fn sql(&self, call: &str, statement: &wire::SQL) -> Result<Settled, Malformed> {
        let Some(database) = &self.world.config.database else {
            return Ok(Err(self.missing("SQL", "Test::sql")));
        };
        let params = match &statement.args {
            Some(args) => Vec::<Value>::decode(args)?,
            None => Vec::new(),
        };
        if let Err(refused) = statement::check_params(&params) {
            return Ok(Err(refused));
        }
        if let Err(refused) = statement::check(&statement.query) {
            return Ok(Err(refused));
        }
        let mut database = database.borrow_mut();
        if let Err(late) = self.check_open(&mut **database) {
            return Ok(Err(late));
        }
        let reply = self.run_statement(&mut **database, call, &statement.query, &params);
        if let Err(late) = self.check_open(&mut **database) {
            return Ok(Err(late));
        }
        Ok(reply
            .map_err(|e| sql_fault(&e))
            .and_then(|reply| match reply.len() > MAX_BODY {
                false => Ok(reply),
                true => Err(codes::SQL_RESULT.fault(format!(
                    "the rows of the query have more than {MAX_BODY} bytes"
                ))),
            }))
    }

    /// Undoes the transaction, if there is one.
    fn give_up(&self) {
        let database = self.world.config.database.as_ref();
        if let Some(database) = database.filter(|_| self.transaction.end()) {
            database.borrow_mut().rollback();
        }
    }

    /// Refuses to go on with a transaction that is open for too long.
    fn check_open(&self, database: &mut dyn Database) -> Result<(), Box<Fault>> {
        let limit = self.world.config.transaction_limit;
        self.transaction
            .check(Instant::now(), limit, || database.rollback())
    }

    fn run_statement(
        &self,
        database: &mut dyn Database,
        call: &str,
        sql: &str,
        params: &[Value],
    ) -> Result<Vec<u8>, Error> {
        if !self.transaction.is_begun() {
            database.begin()?;
            self.transaction.begin(Instant::now());
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

    /// The error for something a test does not provide.
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
        let (place, hint) = match self.of_entity {
            true => (
                "an entity: it would have to wait",
                "Send a message to another entity, or start a workflow that does it.",
            ),
            false => (
                "an activity",
                "Return from the activity, and make durable calls in the workflow's execute.",
            ),
        };
        let message = format!("{} is not available in {place}", call.name);
        Err(hinted(codes::WRONG_CONTEXT.fault(message), hint))
    }

    fn cancel(&self, _: u32) {}

    fn perform(&self, call: &'static Call, body: &[u8]) -> Result<Vec<u8>, Box<Fault>> {
        check_size(call.name, body)?;
        self.answer(call.name, body)
            .unwrap_or_else(|e| Err(codes::BAD_BODY.fault(e.to_string())))
    }
}
