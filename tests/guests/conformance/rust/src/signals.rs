//! Workflows that receive signals, and send them.

use std::time::Duration;

use cruster::prelude::*;
use cruster::{Value, join_all};

use crate::deferreds::GATE;
use crate::{Seen, seen};

#[derive(Serialize, Deserialize, Schema, Signal)]
#[serde(transparent)]
pub struct Word(pub String);

#[derive(Serialize, Deserialize, Schema, Signal)]
#[serde(transparent)]
pub struct Count(pub i64);

/// Receives as many words as it is asked to, behind the gate if it is asked to wait.
#[workflow]
pub struct Collect;

/// How many words to collect.
#[derive(Serialize, Deserialize, Schema)]
pub struct CollectRequest {
    pub words: i64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
}

#[workflow_impl(signals(Word), deferreds(GATE))]
impl Collect {
    async fn execute(&self, request: CollectRequest) -> Result<Vec<String>> {
        if request.late {
            self.await_deferred(GATE).await?;
        }
        let mut all = Vec::new();
        for _ in 0..request.words {
            all.push(self.receive::<Word>().await?.0);
        }
        Ok(all)
    }
}

/// Receives words and counts by turns, and tells which came.
#[workflow]
pub struct CollectTwo;

#[workflow_impl(signals(Word, Count))]
impl CollectTwo {
    async fn execute(&self, n: i64) -> Result<Vec<Value>> {
        let mut all = Vec::new();
        for _ in 0..n {
            cruster::select! {
                word = self.receive::<Word>() => all.push(word?.0.into()),
                count = self.receive::<Count>() => all.push(count?.0.into()),
            }
        }
        Ok(all)
    }
}

/// Has two tasks receive words: each gets its own.
#[workflow]
pub struct CollectApart;

#[workflow_impl(signals(Word))]
impl CollectApart {
    async fn execute(&self, _request: cruster::Empty) -> Result<Vec<String>> {
        let tasks = [(); 2].map(|()| {
            let next = self.receive::<Word>();
            self.spawn(async move { Ok(next.await?.0) })
        });
        join_all(tasks).await
    }
}

/// Gives up on a word, and receives it all the same when it asks again.
#[workflow]
pub struct Impatient;

#[workflow_impl(signals(Word), deferreds(GATE))]
impl Impatient {
    async fn execute(&self, _request: cruster::Empty) -> Result<Vec<String>> {
        let patience = Duration::from_millis(1);
        match self.timeout(patience, self.receive::<Word>()).await {
            Err(e) if e.is_timeout() => {}
            _ => return Err(Error::new("unexpected", "no timeout")),
        }
        self.await_deferred(GATE).await?;
        let mut all = Vec::new();
        for _ in 0..2 {
            all.push(self.receive::<Word>().await?.0);
        }
        Ok(all)
    }
}

/// Waits for a word until it is interrupted, and then for the last one.
#[workflow]
pub struct InterruptedReceive;

#[workflow_impl(signals(Word))]
impl InterruptedReceive {
    async fn execute(&self, _request: cruster::Empty) -> Result<String> {
        match self.receive::<Word>().await {
            Err(e) if e.is_interrupted() => {}
            _ => return Err(Error::new("unexpected", "not interrupted")),
        }
        Ok(self.shield(self.receive::<Word>()).await?.0)
    }
}

/// Sends words to another execution.
#[workflow]
pub struct Tell;

#[workflow_impl]
impl Tell {
    async fn execute(&self, execution: String) -> Result<Vec<Seen>> {
        let mut all = Vec::new();
        for text in ["one", "two"] {
            all.push(told(self.signal(&execution, Word(text.to_owned())).await));
        }
        all.push(told(self.signal(&execution, Count(3)).await));
        let missing = Word("x".to_owned());
        all.push(told(
            self.signal("conformance/Collect/missing", missing).await,
        ));
        Ok(all)
    }
}

/// Sends itself a word.
#[workflow]
pub struct TellItself;

#[workflow_impl(signals(Word))]
impl TellItself {
    async fn execute(&self, _request: cruster::Empty) -> Result<String> {
        let me = self.execution_id().to_owned();
        self.signal(&me, Word("to myself".to_owned())).await?;
        Ok(self.receive::<Word>().await?.0)
    }
}

pub fn told(result: Result<()>) -> Seen {
    seen(result.map(|()| true))
}
