//! Workflows whose callers give them up, and that others interrupt.

use cruster::prelude::*;
use cruster::{OnCancel, Value};

use crate::children::Double;
use crate::deferreds::ANSWER;
use crate::{Seen, seen};

/// Names a child, and the caller that it tells how it fares.
#[derive(Serialize, Deserialize, Schema)]
pub struct TendedRequest {
    caller: String,
    name: String,
}

const CLEANED: Deferred<String> = Deferred::new("cleaned");
const KILLED: Deferred<String> = Deferred::new("killed");
const LEFT: Deferred<String> = Deferred::new("left");
const STOPPED: Deferred<String> = Deferred::new("stopped");

fn begun(name: &str) -> Deferred<String> {
    match name {
        "killed" => KILLED,
        "left" => LEFT,
        _ => STOPPED,
    }
}

/// Tells its caller that it has begun, and waits for the answer. If it is asked to stop, it tells
/// its caller why. The caller may ask before this one knows that it has told.
#[workflow]
pub struct Tended;

#[workflow_impl(key = |r: &TendedRequest| format!("{}/{}", r.caller, r.name), hash = false, deferreds(ANSWER))]
impl Tended {
    async fn execute(&self, request: TendedRequest) -> Result<String> {
        let TendedRequest { caller, name } = request;
        let told = self.resolve_deferred_in(&caller, begun(&name), name);
        self.shield(told).await?;
        let text = self.await_deferred(ANSWER).await;
        if text.as_ref().is_err_and(Error::is_interrupted) {
            let why = self.interrupt_reason();
            let told = self.resolve_deferred_in(&caller, CLEANED, why);
            let _ = self.shield(told).await; // the caller may be over
        }
        text
    }
}

fn tended(caller: &str, name: &str) -> TendedRequest {
    TendedRequest {
        caller: caller.to_owned(),
        name: name.to_owned(),
    }
}

/// Gives up three children, each in its own way, and sees their fate.
#[workflow]
pub struct GiveUp;

#[workflow_impl(deferreds(CLEANED, KILLED, LEFT, STOPPED))]
impl GiveUp {
    async fn execute(&self, _request: cruster::Empty) -> Result<Vec<Value>> {
        let me = self.execution_id();
        let client = || Tended::client(self);
        let call = |policy, name| client().on_cancel(policy).execute(tended(me, name));
        let calls = cruster::join!(
            call(OnCancel::Cancel, "stopped"),
            call(OnCancel::Abandon, "left"),
            call(OnCancel::Terminate, "killed"),
        );
        let all_begun = async {
            for name in ["stopped", "left", "killed"] {
                self.await_deferred(begun(name)).await?;
            }
            Ok::<(), Error>(())
        };
        cruster::select! {
            _ = calls => cruster::bail!("unexpected", "the children have ended"),
            begun = all_begun => begun?,
        }
        let why = self.await_deferred(CLEANED).await?;
        let left = format!("conformance/Tended/{me}/left");
        self.resolve_deferred_in(&left, ANSWER, "go on".to_owned())
            .await?;
        let mut out: Vec<Value> = vec![why.ends_with("does not wait for it any more").into()];
        for name in ["stopped", "left", "killed"] {
            out.push(seen(client().execute(tended(me, name)).await).into());
        }
        Ok(out)
    }
}

/// Is interrupted while it waits for a child, and waits behind a shield until that has cleaned up.
#[workflow]
pub struct GiveUpInterrupted;

#[workflow_impl(deferreds(CLEANED, STOPPED))]
impl GiveUpInterrupted {
    async fn execute(&self, _request: cruster::Empty) -> Result<Vec<Value>> {
        let me = self.execution_id();
        let mut call = Tended::client(self).execute(tended(me, "stopped"));
        cruster::select! {
            _ = &mut call => cruster::bail!("unexpected", "the child has ended"),
            begun = self.await_deferred(STOPPED) => drop(begun?),
        }
        match call.await {
            Err(e) if e.is_interrupted() => {}
            _ => cruster::bail!("unexpected", "not interrupted"),
        }
        let why = self.shield(self.await_deferred(CLEANED)).await?;
        let again = Tended::client(self).execute(tended(me, "stopped"));
        let ended = seen(self.shield(again).await);
        let told = why.ends_with("does not wait for it any more: enough");
        Ok(vec![told.into(), ended.into()])
    }
}

/// Ends while a child is running.
#[workflow]
pub struct GiveUpAtItsEnd;

#[workflow_impl(deferreds(CLEANED, STOPPED))]
impl GiveUpAtItsEnd {
    async fn execute(&self, end: String) -> Result<String> {
        let mut call = Tended::client(self).execute(tended(self.execution_id(), "stopped"));
        cruster::select! {
            _ = &mut call => cruster::bail!("unexpected", "the child has ended"),
            begun = self.await_deferred(STOPPED) => drop(begun?),
        }
        if end == "failed" {
            cruster::bail!("broken", "it broke");
        }
        Ok(end)
    }
}

/// Waits for the child of an execution that has ended.
#[workflow]
pub struct AwaitsGivenUp;

#[workflow_impl]
impl AwaitsGivenUp {
    async fn execute(&self, caller: String) -> Result<Seen> {
        let call = Tended::client(self).execute(tended(&caller, "stopped"));
        Ok(seen(call.await))
    }
}

/// Asks other executions to stop.
#[workflow]
pub struct Interrupts;

#[workflow_impl(deferreds(CLEANED, STOPPED))]
impl Interrupts {
    async fn execute(&self, _request: cruster::Empty) -> Result<Vec<Value>> {
        let me = self.execution_id();
        let client = Tended::client(self);
        let id = client.start(tended(me, "stopped")).await?;
        self.await_deferred(STOPPED).await?;
        client.interrupt(&id, "enough").await?;
        let why = self.await_deferred(CLEANED).await?;
        let ended = seen(client.execute(tended(me, "stopped")).await);
        let mut out: Vec<Value> = vec![why.into(), ended.into()];
        Double::client(self).with_key_raw(me).execute(1).await?;
        let over = format!("conformance/Double/{me}");
        for other in [&id, "conformance/Tended/none", &over] {
            let told = client.interrupt(other, "late").await;
            out.push(seen(told.map(|()| Value::Nil)).into());
        }
        Ok(out)
    }
}
