//! Workflows that are interrupted.

use cruster::prelude::*;
use cruster::{Value, join_all};

use crate::deferreds::{Await, GATE};
use crate::parallel::NEVER;
use crate::steps::Blocking;
use crate::{HOUR, MILLISECOND};

#[activity_group]
pub struct Notes;

#[activity_group_impl]
impl Notes {
    #[activity(name = "note")]
    async fn note(&self, text: String) -> Result<String> {
        Ok(format!("noted: {text}"))
    }
}

/// Waits in several tasks until it is interrupted, cleans up behind a shield, and ends as the
/// request says.
#[workflow]
pub struct Interruptible;

#[workflow_impl(activity_groups(Notes), deferreds(NEVER))]
impl Interruptible {
    async fn execute(&self, end: String) -> Result<Vec<String>> {
        let other = self.spawn(self.sleep(HOUR));
        let interrupt = Self::interrupted_by("the main task", self.await_deferred(NEVER).await)?;
        Self::interrupted_by("the other", self.shield(other).await)?;
        Self::interrupted_by(
            "a step after the interrupt",
            self.note("not shielded".to_owned()).await,
        )?;
        let text = self.shield(self.note(self.interrupt_reason())).await?;
        self.shield(self.sleep(MILLISECOND)).await?;
        if end == "as if nothing was" {
            return Ok(vec![text]);
        }
        Err(interrupt)
    }

    /// The interrupt that ended a wait; anything else is a failure.
    fn interrupted_by<T>(what: &str, waited: Result<T>) -> Result<Error> {
        match waited {
            Err(e) if e.is_interrupted() => Ok(e),
            Err(e) => Err(cruster::err!(
                "unexpected",
                "{what} was not interrupted: {e}"
            )),
            Ok(_) => Err(cruster::err!("unexpected", "{what} was not interrupted")),
        }
    }
}

/// Does nothing about an interrupt.
#[workflow]
pub struct Unhandled;

#[workflow_impl(deferreds(NEVER))]
impl Unhandled {
    async fn execute(&self, _request: cruster::Empty) -> Result<i64> {
        self.await_deferred(NEVER).await
    }
}

/// Is interrupted while a shielded wait is under way: the next wait ends at once.
#[workflow]
pub struct InterruptedEarly;

#[workflow_impl(deferreds(GATE))]
impl InterruptedEarly {
    async fn execute(&self, _request: cruster::Empty) -> Result<Vec<Value>> {
        let before = self.interrupted();
        self.shield(self.await_deferred(GATE)).await?;
        let slept = self.sleep(HOUR).await;
        let shielded = self.shield(async { self.interrupted() }).await;
        let seen = [
            before,
            self.interrupted(),
            shielded,
            slept.is_err_and(|e| e.is_interrupted()),
        ];
        Ok(seen.map(Value::from).into())
    }
}

/// Waits in the way that is asked for, and passes on the cause of its end in words of its own.
#[workflow]
pub struct InterruptedWait;

#[workflow_impl(activity_groups(Blocking))]
impl InterruptedWait {
    async fn execute(&self, what: String) -> Result<String> {
        self.wait(what)
            .await
            .context("while waiting")
            .map(|()| String::new())
    }

    async fn wait(&self, what: String) -> Result<()> {
        match what.as_str() {
            "sleep" => self.sleep(HOUR).await?,
            "activity" => drop(self.block(false).await?),
            "child" => {
                let client = Await::client(self).with_key_raw("of one that is interrupted");
                drop(client.execute(what).await?);
            }
            "many" => drop(join_all([self.sleep(HOUR), self.sleep(2 * HOUR)]).await?),
            "coroutine" => self.shield(self.spawn(self.sleep(HOUR))).await?,
            _ => {}
        }
        Ok(())
    }
}
