//! x
#![allow(missing_docs)]
use cruster::prelude::*;

#[derive(Serialize, Deserialize, Schema, Clone)]
pub struct Item {
    pub sku: String,
    pub count: u32,
}

#[derive(Serialize, Deserialize, Schema)]
pub struct OrderRequest {
    pub order_id: String,
    pub items: Vec<Item>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[workflow]
pub struct ProcessOrder;

/// Orders.
#[workflow_impl(key = |req: &OrderRequest| req.order_id.clone(), hash = false, activity_groups(Payments))]
impl ProcessOrder {
    const LIMIT: u32 = 3;

    /// Processes an order.
    async fn execute(&self, request: OrderRequest) -> Result<u32, Error> {
        let n = self.reserve(request.items).retries(1).await?;
        let cents = self.charge(request.order_id, u64::from(n)).await?;
        self.nap().await?;
        Ok(Self::pure(n) + u32::try_from(cents)?.min(Self::LIMIT))
    }

    /// Reserves.
    #[activity(retries = 3, backoff = "exponential", base = "1s", jitter = 0.2, timeout = "30s", key = |items| items.len().to_string())]
    async fn reserve(&self, mut items: Vec<Item>) -> Result<u32, Error> {
        items.truncate(2);
        Ok(Self::pure(items.len() as u32))
    }

    async fn nap(&self) -> Result<()> {
        self.sleep(Duration::from_secs(1)).await
    }

    fn pure(x: u32) -> u32 {
        x
    }
}

#[activity_group]
pub struct Payments;

#[activity_group_impl(retries = 5)]
impl Payments {
    #[activity(key = |order, key| format!("{order}-{key}"))]
    async fn charge(&self, order: String, key: u64) -> Result<u64, Error> {
        Ok(self.fee(key) + order.len() as u64)
    }

    #[activity]
    async fn ping(&self) -> Result<(), Error> {
        Ok(())
    }

    fn fee(&self, cents: u64) -> u64 {
        cents / 10
    }
}

cruster::module! { workflows: [ProcessOrder] }

#[test]
fn it_compiles() {
    assert_eq!(MODULE.manifest().sdk, "rust/0.1.0");
}
