//! Workflows that do several things at the same time.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::{Future, ready};
use std::pin::Pin;
use std::rc::Rc;

use cruster::prelude::*;
use cruster::{Value, first, join_all};

use crate::deferreds::GATE;
use crate::interrupts::Notes;
use crate::steps::Blocking;
use crate::{HOUR, MILLISECOND, Seen, list, seen};

/// The module says which number is unlucky.
#[activity_group]
#[derive(Default)]
pub struct Numbers {
    unlucky: i64,
}

#[activity_group_impl]
impl Numbers {
    #[activity(name = "square")]
    async fn square(&self, n: i64) -> Result<i64> {
        if n == self.unlucky {
            return Err(cruster::err!("unlucky", "{n} is unlucky").non_retryable());
        }
        Ok(n * n)
    }
}

impl Numbers {
    pub fn avoiding(unlucky: i64) -> Self {
        Numbers { unlucky }
    }
}

/// A deferred that is never settled.
pub const NEVER: Deferred<i64> = Deferred::new("never");

#[derive(Serialize, Deserialize, Schema)]
#[serde(rename_all = "PascalCase")]
pub struct AllRequest {
    from: i64,
    n: i64,
}

/// Squares n numbers, beginning with from, at the same time.
#[workflow]
pub struct All;

#[workflow_impl(activity_groups(Numbers))]
impl All {
    async fn execute(&self, request: AllRequest) -> Result<Seen> {
        let numbers = request.from..request.from + request.n;
        let results = match join_all(numbers.clone().map(|n| self.square(n))).await {
            Ok(results) => results,
            Err(e) => return Ok(seen(Err::<(), Error>(e))),
        };
        if !numbers.map(|n| n * n).eq(results.iter().copied()) {
            return Ok(Seen {
                text: "a result is not at its place".to_owned(),
                ..Seen::default()
            });
        }
        Ok(seen(Ok(results.iter().sum::<i64>())))
    }
}

/// Waits for the first of an activity and of something that never comes.
#[workflow]
pub struct First;

#[workflow_impl(activity_groups(Numbers), deferreds(NEVER))]
impl First {
    async fn execute(&self, _request: cruster::Empty) -> Result<Vec<i64>> {
        let never: Pin<Box<dyn Future<Output = Result<i64>>>> =
            Box::pin(self.await_deferred(NEVER));
        let (i, n) = first([never, Box::pin(self.square(7))]).await?;
        Ok(vec![i as i64, n])
    }
}

/// Waits for an activity and for a timer: which of them wins is the request. It then waits for a
/// signal, so that a test can see its other waits.
#[workflow]
pub struct Race;

#[workflow_impl(activity_groups(Blocking, Numbers), deferreds(GATE))]
impl Race {
    async fn execute(&self, winner: String) -> Result<Vec<String>> {
        let mut log = Vec::new();
        match winner.as_str() {
            "activity" => {
                let n = self.timeout(HOUR, self.square(5)).await?;
                if n == 25 {
                    log.push("the activity won".to_owned());
                }
            }
            "timer" => match self.timeout(MILLISECOND, self.block(false)).await {
                Err(e) if e.is_timeout() => log.push("the timer won".to_owned()),
                other => cruster::bail!("unexpected", "not a timeout: {other:?}"),
            },
            _ => {}
        }
        log.push(self.await_deferred(GATE).await?);
        Ok(log)
    }
}

/// Takes the first of several, in the order of the list if several are there.
#[workflow]
pub struct Select;

#[workflow_impl(activity_groups(Numbers), deferreds(NEVER))]
impl Select {
    async fn execute(&self, _request: cruster::Empty) -> Result<Vec<String>> {
        let (one, two) = cruster::join!(self.square(1), self.square(2)).await?;
        let chosen = cruster::select! {
            _ = self.await_deferred(NEVER) => "never",
            _ = ready(two) => "two",
            _ = ready(one) => "one",
        };
        let then = cruster::select! {
            _ = self.await_deferred(NEVER) => "never",
            slept = self.sleep(Duration::ZERO) => slept.map(|()| "after")?,
        };
        let nothing: [cruster::Op<()>; 0] = [];
        if first(nothing).await.is_ok() {
            cruster::bail!("unexpected", "the first of nothing must fail");
        }
        Ok(vec![chosen.to_owned(), then.to_owned()])
    }
}

/// Starts tasks in tasks.
#[workflow]
pub struct Nested;

#[workflow_impl(activity_groups(Numbers))]
impl Nested {
    async fn execute(&self, depth: i64) -> Result<i64> {
        self.nest(depth).await
    }

    fn nest(&self, depth: i64) -> Pin<Box<dyn Future<Output = Result<i64>>>> {
        let this = self.clone();
        Box::pin(async move {
            if depth == 0 {
                return this.square(2).await;
            }
            let (left, right) = (
                this.spawn(this.nest(depth - 1)),
                this.spawn(this.nest(depth - 1)),
            );
            let (left, right) = cruster::join!(left, right).await?;
            Ok(left + right)
        })
    }
}

/// Runs n tasks that hand a baton around, and tells whether they ran in the order in which they
/// were started.
#[workflow]
pub struct Crowd;

#[workflow_impl]
impl Crowd {
    async fn execute(&self, n: i64) -> Result<BTreeMap<String, i64>> {
        let order = Rc::new(RefCell::new(Vec::new()));
        let runner = |i: i64| {
            let (this, order) = (self.clone(), order.clone());
            self.spawn(async move {
                this.sleep(Duration::ZERO).await?;
                order.borrow_mut().push(i);
                Ok(())
            })
        };
        join_all((0..n).map(runner).collect::<Vec<_>>()).await?;
        let order = order.borrow();
        let in_order = (0..).zip(order.iter()).filter(|(i, who)| i == *who).count();
        let counts = [("ran", order.len()), ("in order", in_order)];
        Ok(counts.map(|(what, n)| (what.to_owned(), n as i64)).into())
    }
}

/// Sleeps for each of the durations, in nanoseconds, and tells whether the clock went on by as
/// much.
#[workflow]
pub struct Sleeps;

#[workflow_impl]
impl Sleeps {
    async fn execute(&self, durations: Vec<i64>) -> Result<Vec<bool>> {
        let mut out = Vec::new();
        for d in durations {
            let before = self.now().unix_nanos();
            self.sleep_until(Timestamp::from_unix_nanos(before + d))
                .await?;
            let passed = self.now().unix_nanos() - before;
            out.push(passed >= d && passed >= 0);
        }
        self.sleep_until(self.now() - HOUR).await?;
        Ok(out)
    }
}

/// Sleeps for each of the durations, in nanoseconds, at the same time, and returns the order in
/// which the sleeps ended.
#[workflow]
pub struct Due;

#[workflow_impl]
impl Due {
    async fn execute(&self, durations: Vec<i64>) -> Result<Vec<i64>> {
        let order = Rc::new(RefCell::new(Vec::new()));
        let sleeper = |(i, nanos): (i64, i64)| {
            let (this, order) = (self.clone(), order.clone());
            self.spawn(async move {
                this.sleep(Duration::from_nanos(nanos.try_into()?)).await?;
                order.borrow_mut().push(i);
                Ok(())
            })
        };
        join_all((0..).zip(durations).map(sleeper).collect::<Vec<_>>()).await?;
        Ok(order.take())
    }
}

/// Squares groups of numbers, all groups and all numbers of a group at the same time.
#[workflow]
pub struct Groups;

#[workflow_impl(activity_groups(Numbers))]
impl Groups {
    async fn execute(&self, groups: Vec<Vec<i64>>) -> Result<Seen> {
        let square = |group: Vec<i64>| {
            let this = self.clone();
            self.spawn(async move { join_all(group.into_iter().map(|n| this.square(n))).await })
        };
        let results = join_all(groups.into_iter().map(square).collect::<Vec<_>>()).await;
        Ok(seen(
            results.map(|groups| list(groups.into_iter().map(list))),
        ))
    }
}

/// Runs two steps of different types at the same time.
#[workflow]
pub struct Two;

#[workflow_impl(activity_groups(Notes, Numbers))]
impl Two {
    async fn execute(&self, n: i64) -> Result<Vec<Value>> {
        let (number, text) = cruster::join!(self.square(n), self.note("two".to_owned())).await?;
        Ok(vec![number.into(), text.into()])
    }
}

/// The kind of wait of the steps of [`Order`].
#[derive(Serialize, Deserialize, Schema)]
pub struct OrderRequest {
    by: String,
}

/// The order in which the steps ended, and their results in the order in which they were begun.
#[derive(Serialize, Deserialize, Schema)]
pub struct OrderResult {
    order: Vec<String>,
    values: Vec<String>,
}

const LEFT: Deferred<String> = Deferred::new("left");
const MIDDLE: Deferred<String> = Deferred::new("middle");
const RIGHT: Deferred<String> = Deferred::new("right");

/// Takes three steps at the same time; the test decides in which order they end.
#[workflow]
pub struct Order;

#[workflow_impl(deferreds(LEFT, MIDDLE, RIGHT))]
impl Order {
    async fn execute(&self, request: OrderRequest) -> Result<OrderResult> {
        let order = Rc::new(RefCell::new(Vec::new()));
        let by_activity = request.by == "activity";
        let step = |side: Deferred<String>| {
            let (this, order) = (self.clone(), order.clone());
            self.spawn(async move {
                let value = match by_activity {
                    true => this.pass(side.name().to_owned()).await,
                    false => this.await_deferred(side).await,
                };
                order.borrow_mut().push(side.name().to_owned());
                value
            })
        };
        let values = join_all([LEFT, MIDDLE, RIGHT].map(step)).await?;
        Ok(OrderResult {
            order: order.take(),
            values,
        })
    }

    /// Waits at a gate of the world outside.
    #[activity]
    async fn pass(&self, gate: String) -> Result<String> {
        let config = |name| self.config(name).unwrap_or_default();
        let request = self.http().get(format!("{}/gate", config("outside")));
        let place = format!("{} {} {gate}", config("variant"), self.execution_id());
        request
            .header("X-Key", self.idempotency_key())
            .header("X-Gate", place)
            .send()?
            .error_for_status()?;
        Ok(format!("through {gate}"))
    }
}

/// Settled before anyone waits for it.
pub const INSTANT: Deferred<String> = Deferred::new("instant");

/// Begins things in one turn, and returns the order in which they end: things that are ready as
/// they begin, and others that a host has to do.
#[workflow]
pub struct Instant;

#[workflow_impl(activity_groups(Numbers), deferreds(INSTANT))]
impl Instant {
    async fn execute(&self, kinds: Vec<String>) -> Result<Vec<String>> {
        self.resolve_deferred(INSTANT, "there".to_owned()).await?;
        let order = Rc::new(RefCell::new(Vec::new()));
        let begin = |kind: String| {
            let (this, order) = (self.clone(), order.clone());
            self.spawn(async move {
                match kind.as_str() {
                    "activity" => drop(this.square(2).await?),
                    "call" => drop(First::client(&this).execute(cruster::Empty {}).await?),
                    "deferred" => drop(this.await_deferred(INSTANT).await?),
                    "poll" => drop(First::client(&this).poll(this.execution_id()).await?),
                    _ => this.sleep(Duration::ZERO).await?,
                }
                order.borrow_mut().push(kind);
                Ok(())
            })
        };
        join_all(kinds.into_iter().map(begin).collect::<Vec<_>>()).await?;
        Ok(order.take())
    }
}
