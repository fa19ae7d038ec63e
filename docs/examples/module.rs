//! The module that docs/writing-workflows-rust.md begins with, and its test.

use cruster::prelude::*;

#[derive(Clone, Serialize, Deserialize, Schema)]
pub struct Order {
    pub id: String,
    pub cents: i64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

#[workflow]
pub struct ProcessOrder;

#[workflow_impl(key = |order: &Order| order.id.clone(), hash = false)]
impl ProcessOrder {
    async fn execute(&self, order: Order) -> Result<String> {
        let charge = self.charge(order).await?;
        self.sleep(Duration::from_secs(14 * 24 * 60 * 60)).await?;
        Ok(charge)
    }

    #[activity(retries = 5, backoff = "exponential", base = "1s", timeout = "30s")]
    async fn charge(&self, order: Order) -> Result<String> {
        let id = self.idempotency_key();
        self.transaction().execute(
            "INSERT INTO charges (id, order_id, cents) VALUES ($1, $2, $3)",
            (id, &order.id, order.cents),
        )?;
        Ok(id.to_owned())
    }
}

cruster::module! {
    workflows: [ProcessOrder],
    migrations: [
        Migration::new(1, "charges", "CREATE TABLE charges (id TEXT PRIMARY KEY, order_id TEXT, cents BIGINT)"),
    ],
}

fn main() {}

#[cfg(test)]
mod tests {
    use super::*;
    use cruster::testing::Test;

    #[test]
    fn an_order_is_charged() {
        let order = Order {
            id: "42".into(),
            cents: 300,
            note: String::new(),
        };
        let run = Test::new(&MODULE)
            .stub("charge", |_, order: Order| Ok(format!("ch_{}", order.id)))
            .run::<ProcessOrder>(order);
        assert_eq!(run.result.unwrap(), "ch_42");
        assert_eq!(run.history.steps(), ["activity charge", "sleep 1209600s"]);
        run.history.replay().unwrap(); // runs it again from its history: is it deterministic?
    }
}
