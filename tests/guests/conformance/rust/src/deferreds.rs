//! Workflows that wait for promises, and settle them.

use cruster::prelude::*;
use cruster::{Value, join_all};

use crate::{Seen, seen};

pub const ANSWER: Deferred<String> = Deferred::new("answer");
pub const GATE: Deferred<String> = Deferred::new("gate");

/// Waits for the answer.
#[workflow]
pub struct Await;

#[workflow_impl(key = |key: &String| key.clone(), hash = false)]
impl Await {
    async fn execute(&self, _key: String) -> Result<Seen> {
        Ok(seen(self.await_deferred(ANSWER).await))
    }
}

/// Waits for the gate first, so that the answer may be there before it is awaited.
#[workflow]
pub struct AwaitLate;

#[workflow_impl]
impl AwaitLate {
    async fn execute(&self, _request: cruster::Empty) -> Result<Seen> {
        self.await_deferred(GATE).await?;
        Ok(seen(self.await_deferred(ANSWER).await))
    }
}

/// Has two tasks wait for the answer, by ops of their own.
#[workflow]
pub struct AwaitTwice;

#[workflow_impl]
impl AwaitTwice {
    async fn execute(&self, _request: cruster::Empty) -> Result<Vec<String>> {
        join_all([(); 2].map(|()| self.spawn(self.await_deferred(ANSWER)))).await
    }
}

/// Awaits a number under the name of the answer: what it is given may not fit.
#[workflow]
pub struct AwaitNumber;

#[workflow_impl]
impl AwaitNumber {
    async fn execute(&self, _request: cruster::Empty) -> Result<Seen> {
        const NUMBER: Deferred<i64> = Deferred::new("answer");
        Ok(seen(self.await_deferred(NUMBER).await))
    }
}

/// Settles its own deferred, twice, and then awaits it.
#[workflow]
pub struct ResolveOwn;

#[workflow_impl]
impl ResolveOwn {
    async fn execute(&self, reject: bool) -> Result<Vec<Value>> {
        let first = if reject {
            self.reject_deferred(ANSWER, Error::new("no", "rejected by itself"))
                .await?
        } else {
            self.resolve_deferred(ANSWER, "mine".to_owned()).await?
        };
        let second = self.resolve_deferred(ANSWER, "too late".to_owned()).await?;
        Ok(vec![
            first.into(),
            second.into(),
            seen(self.await_deferred(ANSWER).await).into(),
        ])
    }
}

/// Settles the answer of another execution.
#[workflow]
pub struct ResolveOther;

#[workflow_impl]
impl ResolveOther {
    async fn execute(&self, execution: String) -> Result<Vec<Seen>> {
        let first = seen(
            self.resolve_deferred_in(&execution, ANSWER, "from afar".to_owned())
                .await,
        );
        let late = Error::message_only("too late");
        let second = seen(self.reject_deferred_in(&execution, ANSWER, late).await);
        Ok(vec![first, second])
    }
}

/// Returns what the answer was resolved with, whatever it is.
#[workflow]
pub struct AwaitAnything;

#[workflow_impl]
impl AwaitAnything {
    async fn execute(&self, _request: cruster::Empty) -> Result<Value> {
        const ANYTHING: Deferred<Value> = Deferred::new("answer");
        self.await_deferred(ANYTHING).await
    }
}
