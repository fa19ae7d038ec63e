//! Workflows that publish.

use cruster::prelude::*;
use cruster::{Empty, Progress, Value};

use crate::Seen;
use crate::deferreds::GATE;
use crate::signals::told;

#[derive(Serialize, Deserialize, Schema, State)]
pub struct Stage(pub String);

#[derive(Serialize, Deserialize, Schema, State)]
pub struct Parts(pub Vec<String>);

#[derive(Attribute)]
pub struct Amount(pub f64);

#[derive(Attribute)]
pub struct Customer(pub String);

#[derive(Attribute)]
pub struct Since(pub Timestamp);

#[derive(Attribute)]
pub struct Vip(pub bool);

/// 2026-01-02T03:04:05Z.
const SINCE: i64 = 1_767_323_045;

pub fn stage(text: &str) -> Stage {
    Stage(text.to_owned())
}

/// Publishes everything, changes some of it behind the gate, and takes some away at its end. It
/// returns the value that it has last set.
#[workflow]
pub struct Publishes;

#[workflow_impl(
    state(Stage, Parts),
    attributes(Amount, Customer, Since, Vip),
    deferreds(GATE)
)]
impl Publishes {
    async fn execute(&self, customer: String) -> Result<Vec<Value>> {
        let before = self.published::<Stage>();
        self.publish(stage("never seen"))?;
        self.publish((stage("begun"), Parts(vec!["a".to_owned()])))?;
        self.publish((Customer(customer), Amount(12.5), Vip(true)))?;
        self.publish(Since(Timestamp::from_unix_seconds(SINCE)))?;
        self.publish(Progress::of(1, 3).note("one"))?;
        self.await_deferred(GATE).await?;
        self.publish((stage("over"), Amount(-1.0), Progress::of(3, 3)))?;
        self.retract::<(Parts, Vip)>()?;
        let cleared = self.published::<Parts>().is_some();
        let after = self.published::<Stage>();
        let text = |stage: &Option<Stage>| stage.as_ref().map_or("", |s| s.0.as_str()).to_owned();
        Ok(vec![
            text(&before).into(),
            before.is_some().into(),
            text(&after).into(),
            cleared.into(),
        ])
    }
}

/// Leaves its published values behind.
#[workflow]
pub struct PublishesAndFails;

#[workflow_impl(state(Stage))]
impl PublishesAndFails {
    async fn execute(&self, _request: Empty) -> Result<i64> {
        self.publish(stage("failed"))?;
        Err(cruster::err!("failed", "it failed as it was told"))
    }
}

/// Gets values that cannot be published, and publishes none of them; or it fails with the first of
/// that.
#[workflow]
pub struct PublishesWrong;

#[workflow_impl(state(Stage), attributes(Amount, Customer))]
impl PublishesWrong {
    async fn execute(&self, fail: bool) -> Result<Vec<Seen>> {
        let text = |n: usize| "x".repeat(n);
        if fail {
            self.publish(Customer(text(257)))?;
        }
        let lines = "two\nlines";
        Ok(vec![
            told(self.publish(Customer(text(256)))),
            told(self.publish(Customer(text(257)))),
            told(self.publish(Customer(lines.to_owned()))),
            told(self.publish(Amount(f64::INFINITY))),
            told(self.publish(stage(&text(64 << 10)))),
            told(self.publish(Progress::of(1, 2).note(text(257)))),
            told(self.publish(Progress::of(1, 2).note(lines))),
        ])
    }
}
