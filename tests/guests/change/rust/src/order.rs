//! A workflow in several versions, for tests that change code under executions that run: the twin
//! of the Go package `change`. Each version is a crate with `STEPS` of its own that includes this
//! file, as the exports of a module cannot come from a crate that others depend on.

use std::collections::BTreeMap;

use cruster::prelude::*;

use crate::STEPS;

pub const EFFECTS: Migration = Migration::new(
    1,
    "effects",
    "CREATE TABLE effects (order_id TEXT NOT NULL, step TEXT NOT NULL, key TEXT NOT NULL)",
);

const GATE: Deferred<bool> = Deferred::new("gate");

/// The result.
#[derive(Default, Serialize, Deserialize, Schema)]
pub struct Report {
    /// The idempotency keys of the steps, by name.
    keys: BTreeMap<String, String>,
    /// The draw of the callee of this execution.
    reminder: String,
    /// In the order in which the workflow saw them.
    steps: Vec<String>,
    /// Drawn at the start.
    uuid: String,
}

/// The arguments of a step.
#[derive(Serialize, Deserialize, Schema)]
pub struct Args {
    amount: i64,
    order: String,
    step: String,
}

/// A callee: it tells its draw, so that two runs of it differ.
#[workflow]
pub struct Remind;

#[workflow_impl(key = |order: &String| order.clone(), hash = false)]
impl Remind {
    async fn execute(&self, _order: String) -> Result<String> {
        Ok(self.uuid())
    }
}

/// Lists the steps of an order that took effect.
#[workflow]
pub struct Effects;

#[workflow_impl(key = |order: &String| order.clone())]
impl Effects {
    async fn execute(&self, order: String) -> Result<Vec<String>> {
        self.count(order).await
    }

    #[activity]
    async fn count(&self, order: String) -> Result<Vec<String>> {
        self.transaction().query(
            "SELECT step FROM effects WHERE order_id = $1 ORDER BY step",
            (&order,),
        )
    }
}

/// Waits for an order, also if another has started it.
#[workflow]
pub struct Follow;

#[workflow_impl(key = |order: &String| order.clone(), hash = false)]
impl Follow {
    async fn execute(&self, order: String) -> Result<Report> {
        Order::client(self).execute(order).await
    }
}

/// The workflow.
#[workflow]
pub struct Order;

#[workflow_impl(key = |order: &String| order.clone(), hash = false, deferreds(GATE))]
impl Order {
    async fn execute(&self, order: String) -> Result<Report> {
        let mut report = Report {
            uuid: self.uuid(),
            ..Report::default()
        };
        for name in STEPS {
            self.run(&mut report, name, &order).await?;
        }
        report.reminder = Remind::client(self).execute(order.clone()).await?;
        self.await_deferred(GATE).await?;
        self.run(&mut report, "ship", &order).await?;
        Ok(report)
    }

    async fn run(&self, report: &mut Report, name: &str, order: &str) -> Result<()> {
        let args = Args {
            amount: if name == "charge" { 5 } else { 0 },
            order: order.to_owned(),
            step: name.to_owned(),
        };
        let key = match name {
            "reserve" => self.reserve(args).await?,
            "charge" => self.charge(args).await?,
            "audit" => self.audit(args).await?,
            _ => self.ship(args).await?,
        };
        report.keys.insert(name.to_owned(), key);
        report.steps.push(name.to_owned());
        Ok(())
    }

    #[activity]
    async fn reserve(&self, args: Args) -> Result<String> {
        write(self.transaction(), args, self.idempotency_key())
    }

    #[activity]
    async fn charge(&self, args: Args) -> Result<String> {
        write(self.transaction(), args, self.idempotency_key())
    }

    #[activity]
    async fn audit(&self, args: Args) -> Result<String> {
        write(self.transaction(), args, self.idempotency_key())
    }

    #[activity]
    async fn ship(&self, args: Args) -> Result<String> {
        write(self.transaction(), args, self.idempotency_key())
    }
}

/// Leaves a row, exactly once, and tells the key of the step.
fn write(tx: cruster::Transaction, args: Args, key: &str) -> Result<String> {
    tx.execute(
        "INSERT INTO effects (order_id, step, key) VALUES ($1, $2, $3)",
        (&args.order, &args.step, key),
    )?;
    Ok(key.to_owned())
}
