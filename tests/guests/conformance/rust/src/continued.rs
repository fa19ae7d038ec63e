//! Workflows that go on as new runs.

use std::cell::Cell;
use std::rc::Rc;

use cruster::Value;
use cruster::prelude::*;

use crate::HOUR;
use crate::deferreds::GATE;
use crate::published::{Stage, stage};
use crate::signals::Word;
use crate::updates::{Add, Finish};

/// Says how many runs are left, and the observations of earlier ones.
#[derive(Serialize, Deserialize, Schema)]
pub struct ContinuesRequest {
    left: i64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    seen: Vec<String>,
}

/// Receives a word in each of its runs, and returns all of them.
#[workflow]
pub struct Continues;

#[workflow_impl(signals(Word))]
impl Continues {
    async fn execute(&self, request: ContinuesRequest) -> Result<Vec<String>> {
        let ContinuesRequest { left, mut seen } = request;
        seen.push(self.receive::<Word>().await?.0);
        if left > 1 {
            let left = left - 1;
            return self.continue_as_new(ContinuesRequest { left, seen });
        }
        Ok(seen)
    }
}

/// Continues until nothing is left.
#[workflow]
pub struct CountsDown;

#[workflow_impl]
impl CountsDown {
    async fn execute(&self, left: i64) -> Result<String> {
        if left > 0 {
            return self.continue_as_new(left - 1);
        }
        Ok(self.execution_id().to_owned())
    }
}

/// Calls a workflow that continues, and gets the result of its last run.
#[workflow]
pub struct AwaitsContinued;

#[workflow_impl]
impl AwaitsContinued {
    async fn execute(&self, left: i64) -> Result<String> {
        let child = CountsDown::client(self).with_key_raw("awaited");
        child.execute(left).await
    }
}

/// Continues at the gate with a word that was delivered, and that it did not look at. Its second
/// run looks at it, and sees the published values of the first.
#[workflow]
pub struct ContinuesUnread;

#[workflow_impl(signals(Word), state(Stage), deferreds(GATE))]
impl ContinuesUnread {
    async fn execute(&self, second: bool) -> Result<Vec<Value>> {
        if second {
            let first = self.try_receive::<Word>()?;
            let last = self.receive::<Word>().await?;
            let text = first.as_ref().map_or("", |word| word.0.as_str()).to_owned();
            return Ok(vec![first.is_some().into(), text.into(), last.0.into()]);
        }
        self.publish(stage("first"))?;
        if self.try_receive::<Word>()?.is_some() {
            cruster::bail!("unexpected", "a word before one was sent");
        }
        self.await_deferred(GATE).await?;
        self.continue_as_new(true)
    }
}

/// Leaves its updates to its second run.
#[workflow]
pub struct ContinuesUpdated;

#[workflow_impl(updates(Add, Finish), deferreds(GATE))]
impl ContinuesUpdated {
    async fn execute(&self, second: bool) -> Result<i64> {
        if !second {
            self.await_deferred(GATE).await?;
            return self.continue_as_new(true);
        }
        let (sum, finished) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(false)));
        let adding = sum.clone();
        self.on_update(move |Add(n)| {
            adding.set(adding.get() + n);
            let sum = adding.get();
            async move { sum }
        });
        let finishing = finished.clone();
        self.on_update(move |_: Finish| {
            finishing.set(true);
            async { "bye".to_owned() }
        });
        self.until(move || finished.get()).await?;
        Ok(sum.get())
    }
}

/// Continues when it is asked to stop, and its second run is, too.
#[workflow]
pub struct ContinuesStopped;

#[workflow_impl]
impl ContinuesStopped {
    async fn execute(&self, second: bool) -> Result<Vec<Value>> {
        match self.sleep(HOUR).await {
            Err(e) if e.is_interrupted() => {}
            _ => return Err(Error::new("unexpected", "not interrupted")),
        }
        if !second {
            return self.continue_as_new(true);
        }
        Ok(vec![second.into(), self.interrupt_reason().into()])
    }
}
