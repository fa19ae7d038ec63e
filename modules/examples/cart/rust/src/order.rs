//! The workflow that a checkout starts.

use cruster::prelude::*;

/// The order of a checkout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Schema)]
pub struct Order {
    pub order_id: String,
    pub items: i64,
    pub total_cents: i64,
}

/// Places an order, once per order. An operation of an entity has no SQL: the workflow
/// that it starts does that.
#[workflow]
pub struct PlaceOrder;

#[workflow_impl(key = |order: &Order| order.order_id.clone(), hash = false)]
impl PlaceOrder {
    async fn execute(&self, order: Order) -> Result<Order> {
        self.store(order.clone()).await?;
        Ok(order)
    }

    /// Writes the order down.
    #[activity(retries = 3, backoff = "exponential", base = "100ms")]
    async fn store(&self, order: Order) -> Result<bool> {
        self.transaction().execute(
            "INSERT INTO cart_orders (order_id, items, total_cents) VALUES ($1, $2, $3)",
            (&order.order_id, order.items, order.total_cents),
        )?;
        Ok(true)
    }
}
