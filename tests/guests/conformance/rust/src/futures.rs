//! Uses of futures, which Go does not have.

use std::future::ready;

use cruster::prelude::*;

use crate::HOUR;
use crate::deferreds::GATE;
use crate::parallel::{NEVER, Numbers};
use crate::steps::Blocking;

/// Does something with futures of durable calls, and waits at the gate if the test is to see the
/// ops that are still waited for.
#[workflow]
pub struct Futures;

#[workflow_impl(activity_groups(Blocking, Numbers), deferreds(NEVER, GATE))]
impl Futures {
    async fn execute(&self, what: String) -> Result<String> {
        match what.as_str() {
            // A call is not issued before it is polled.
            "never polled" => drop(self.square(1)),
            // The losers are dropped, and the workflow no longer waits for them.
            "dropped" => {
                let won = cruster::select! {
                    _ = self.block(false) => "block",
                    _ = self.sleep(HOUR) => "sleep",
                    _ = self.await_deferred(NEVER) => "never",
                    word = ready("ready") => word,
                };
                return Ok(format!("{won} {}", self.await_deferred(GATE).await?));
            }
            "dropped by join" => {
                let all = cruster::join!(self.sleep(HOUR), self.block(false));
                let late = self
                    .timeout(crate::MILLISECOND, all)
                    .await
                    .is_err_and(|e| e.is_timeout());
                return Ok(format!("{late} {}", self.await_deferred(GATE).await?));
            }
            // A future that is passed as `&mut` is kept, and issued once.
            "lent" => {
                let mut square = self.square(8);
                let first = cruster::select! {
                    _ = &mut square => "the square",
                    word = ready("nothing yet") => word,
                };
                return Ok(format!("{first} {}", square.await?));
            }
            // A future that is never dropped is waited for until the end, which does not wait for it.
            "forgotten" => {
                let mut sleep = Box::pin(self.sleep(HOUR));
                cruster::select! {
                    _ = &mut sleep => {}
                    () = ready(()) => {}
                }
                std::mem::forget(sleep);
                return Ok(format!("gone {}", self.await_deferred(GATE).await?));
            }
            // The handle of a task is not the task.
            "detached" => {
                let this = self.clone();
                drop(self.spawn(async move {
                    this.resolve_deferred(GATE, "by the task".to_owned()).await
                }));
                return self.await_deferred(GATE).await;
            }
            // Of several that are ready the first of the list wins.
            "in order" => {
                let word = cruster::select! {
                    _ = self.await_deferred(NEVER) => "never",
                    word = ready("second") => word,
                    word = ready("third") => word,
                };
                return Ok(word.to_owned());
            }
            _ => {}
        }
        Ok("done".to_owned())
    }
}

/// Learns of an interrupt while it waits behind a shield.
#[workflow]
pub struct OnInterrupt;

#[workflow_impl(deferreds(NEVER))]
impl OnInterrupt {
    async fn execute(&self, _request: cruster::Empty) -> Result<String> {
        let reason = cruster::select! {
            reason = self.on_interrupt() => reason,
            _ = self.shield(self.await_deferred(NEVER)) => "never".to_owned(),
        };
        let again = self.on_interrupt().await;
        Ok(format!("{reason}, {again}, {}", self.interrupt_reason()))
    }
}
