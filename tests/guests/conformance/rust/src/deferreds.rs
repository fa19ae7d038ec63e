//! Workflows that wait for promises, and settle them.

use std::collections::BTreeMap;

use cruster::prelude::*;
use cruster::{Value, join_all};

use crate::{Seen, seen};

pub const ANSWER: Deferred<String> = Deferred::new("answer");
pub const GATE: Deferred<String> = Deferred::new("gate");
/// An answer of any type.
const ANYTHING: Deferred<Value> = Deferred::new("answer");

const DECISION: Deferred<Decision> = Deferred::new("decision");
const APPROVALS: DynamicDeferred<Decision> = DynamicDeferred::new("approve-");

/// The value of some promises.
#[derive(Default, Serialize, Deserialize, Schema)]
pub struct Decision {
    approved: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    note: String,
}

/// Waits for the answer.
#[workflow]
pub struct Await;

#[workflow_impl(key = |key: &String| key.clone(), hash = false, deferreds(ANSWER))]
impl Await {
    async fn execute(&self, _key: String) -> Result<Seen> {
        Ok(seen(self.await_deferred(ANSWER).await))
    }
}

/// Waits for the gate first, so that the answer may be there before it is awaited.
#[workflow]
pub struct AwaitLate;

#[workflow_impl(deferreds(GATE, ANSWER))]
impl AwaitLate {
    async fn execute(&self, _request: cruster::Empty) -> Result<Seen> {
        self.await_deferred(GATE).await?;
        Ok(seen(self.await_deferred(ANSWER).await))
    }
}

/// Has two tasks wait for the answer, by ops of their own.
#[workflow]
pub struct AwaitTwice;

#[workflow_impl(deferreds(ANSWER))]
impl AwaitTwice {
    async fn execute(&self, _request: cruster::Empty) -> Result<Vec<String>> {
        join_all([(); 2].map(|()| self.spawn(self.await_deferred(ANSWER)))).await
    }
}

/// Awaits a number under the name of the answer: the given value may not fit.
#[workflow]
pub struct AwaitNumber;

#[workflow_impl(deferreds(ANYTHING))]
impl AwaitNumber {
    async fn execute(&self, _request: cruster::Empty) -> Result<Seen> {
        const NUMBER: Deferred<i64> = Deferred::new("answer");
        Ok(seen(self.await_deferred(NUMBER).await))
    }
}

/// Settles its own deferred, twice, and then awaits it.
#[workflow]
pub struct ResolveOwn;

#[workflow_impl(deferreds(ANSWER))]
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

/// Returns the value of the answer, whatever it is.
#[workflow]
pub struct AwaitAnything;

#[workflow_impl(deferreds(ANYTHING))]
impl AwaitAnything {
    async fn execute(&self, _request: cruster::Empty) -> Result<Value> {
        self.await_deferred(ANYTHING).await
    }
}

/// Waits for a decision, and for one whose name it makes.
#[workflow]
pub struct AwaitTyped;

#[workflow_impl(deferreds(DECISION, APPROVALS))]
impl AwaitTyped {
    async fn execute(&self, by: String) -> Result<Vec<Decision>> {
        let first = self.await_deferred(DECISION).await?;
        let second = self.await_deferred(APPROVALS.named(&by)).await?;
        Ok(vec![first, second])
    }
}

/// Settles the decisions of another execution, first with unacceptable values.
#[workflow]
pub struct ResolveTyped;

#[workflow_impl]
impl ResolveTyped {
    async fn execute(&self, execution: String) -> Result<Vec<Seen>> {
        const MISSPELT: Deferred<Decision> = Deferred::new("decison");
        const NAMELESS: Deferred<Decision> = Deferred::new("approve-");
        const YES: Deferred<bool> = Deferred::new("decision");
        const OTHER: Deferred<BTreeMap<String, bool>> = Deferred::new("decision");
        let resolve = |deferred, value| self.resolve_deferred_in(&execution, deferred, value);
        let misspelt = resolve(MISSPELT, Decision::default()).await;
        let no = Error::message_only("no");
        let nameless = self.reject_deferred_in(&execution, NAMELESS, no).await;
        let yes = self.resolve_deferred_in(&execution, YES, true).await;
        let other = BTreeMap::from([("aproved".to_owned(), true)]);
        let other = self.resolve_deferred_in(&execution, OTHER, other).await;
        let missing = BTreeMap::from([("note".to_owned(), "x".to_owned())]);
        let bob = Deferred::named("approve-bob");
        let missing = self.resolve_deferred_in(&execution, bob, missing).await;
        let approved = Decision {
            approved: true,
            ..Decision::default()
        };
        let declined = Decision {
            note: "no".to_owned(),
            ..Decision::default()
        };
        let first = resolve(DECISION, approved).await;
        let second = resolve(APPROVALS.named("bob"), declined).await;
        let all = [misspelt, nameless, yes, other, missing, first, second];
        Ok(all.into_iter().map(seen).collect())
    }
}

/// Uses a promise that it does not list.
#[workflow]
pub struct AwaitUndeclared;

#[workflow_impl]
impl AwaitUndeclared {
    async fn execute(&self, settle: bool) -> Result<String> {
        self.sleep(Duration::from_millis(1)).await?;
        if settle {
            self.resolve_deferred(ANSWER, "mine".to_owned()).await?;
        }
        self.await_deferred(ANSWER).await
    }
}
