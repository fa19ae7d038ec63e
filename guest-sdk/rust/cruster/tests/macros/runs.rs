//! Workflows that are written with the macros run.

use cruster::prelude::*;
use cruster::testing::Test;

#[derive(Serialize, Deserialize, Schema, Clone)]
struct Item {
    sku: String,
    count: u32,
}

#[derive(Serialize, Deserialize, Schema)]
struct OrderRequest {
    order_id: String,
    items: Vec<Item>,
}

/// Uses everything at once.
#[workflow]
struct ProcessOrder {
    fee: u64,
}

impl Default for ProcessOrder {
    fn default() -> Self {
        ProcessOrder { fee: 5 }
    }
}

#[workflow_impl(
    key = |request: &OrderRequest| format!("{}{}", Self::PREFIX, request.order_id),
    hash = false,
    activity_groups(Payments, Mail),
)]
impl ProcessOrder {
    const PREFIX: &'static str = "order-";

    async fn execute(&self, request: OrderRequest) -> Result<Vec<String>, Error> {
        let reserved = self
            .reserve(request.items, request.order_id.clone())
            .await?;
        let (charge, sent) = cruster::join!(
            self.charge(Self::cents(reserved), self.fee),
            self.send(format!("{reserved} items").to_uppercase()),
        )
        .await?;
        self.rest(Duration::from_secs(60)).await?;
        Ok(vec![
            self.execution_id().to_string(),
            charge,
            sent,
            self.count().await?,
        ])
    }

    #[activity(retries = 1, key = |items, order_id| format!("{order_id}/{}", items.len()))]
    async fn reserve(&self, mut items: Vec<Item>, order_id: String) -> Result<u32, Error> {
        if self.attempt() == 1 {
            bail_out(&order_id)?;
        }
        items.retain(|item| !item.sku.is_empty());
        Ok(items.iter().map(|item| item.count).sum())
    }

    #[activity]
    async fn count(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        std::fmt::Write::write_fmt(&mut text, format_args!("{} {}", self.fee, Self::cents(1)))?;
        Ok(text)
    }

    async fn rest(&self, time: Duration) -> Result<()> {
        self.sleep(time).await
    }

    fn cents(count: u32) -> u64 {
        u64::from(count) * 100
    }
}

fn bail_out(order_id: &str) -> Result<()> {
    cruster::bail!("busy", "the store is busy with {order_id}")
}

#[activity_group]
struct Payments;

#[activity_group_impl]
impl Payments {
    #[activity]
    async fn charge(&self, cents: u64, fee: u64) -> Result<String, Error> {
        Ok(self.receipt(cents + fee))
    }

    fn receipt(&self, cents: u64) -> String {
        format!("{} {cents}", self.config("shop").unwrap_or_default())
    }
}

#[activity_group]
struct Mail;

#[activity_group_impl]
impl Mail {
    #[activity]
    async fn send(&self, text: String) -> Result<String, Error> {
        Ok(format!("sent {text}"))
    }
}

/// Calls the other.
#[workflow]
struct Parent;

#[workflow_impl]
impl Parent {
    async fn execute(&self, order_id: String) -> Result<String, Error> {
        let done = ProcessOrder::client(self)
            .execute(OrderRequest {
                order_id,
                items: Vec::new(),
            })
            .await?;
        Ok(done.join(", "))
    }
}

cruster::module! { workflows: [ProcessOrder, Parent] }

fn order() -> OrderRequest {
    let item = |sku: &str, count| Item {
        sku: sku.to_string(),
        count,
    };
    OrderRequest {
        order_id: "42".to_string(),
        items: vec![item("bolt", 2), item("", 7), item("nut", 1)],
    }
}

#[test]
fn execute_reaches_everything_that_self_has() {
    let run = Test::new(&MODULE)
        .config("shop", "corner")
        .run::<ProcessOrder>(order());
    let want = [
        "test/ProcessOrder/order-42",
        "corner 305",
        "sent 3 ITEMS",
        "5 100",
    ];
    assert_eq!(run.result.unwrap(), want);
    assert_eq!(
        run.history.duration(),
        Duration::from_secs(61),
        "a retry after a second, and a minute's sleep"
    );
    run.history.replay().unwrap();
}

#[test]
fn activities_are_stubbed_by_name() {
    let run = Test::new(&MODULE)
        .stub("reserve", |_, (_, order_id): (Vec<Item>, String)| {
            Ok(order_id.len())
        })
        .stub("Payments.charge", |_, (cents, fee): (u64, u64)| {
            Ok(format!("{cents} and {fee}"))
        })
        .stub("Mail.send", |_, text: String| Ok(text))
        .stub("count", |_, ()| Ok("none"))
        .run::<ProcessOrder>(order());
    assert_eq!(run.result.unwrap()[1..], ["200 and 5", "2 ITEMS", "none"]);
}

#[test]
fn a_client_calls_a_workflow_under_its_key() {
    let run = Test::new(&MODULE).run::<Parent>("7".to_string());
    assert_eq!(
        run.result.unwrap(),
        "test/ProcessOrder/order-7,  5, sent 0 ITEMS, 5 100"
    );
}

#[test]
fn an_activity_is_retried_as_it_says() {
    let run = Test::new(&MODULE)
        .stub("reserve", |cx, _: (Vec<Item>, String)| match cx.attempt() {
            1 => Err(cruster::err!("busy", "not now")),
            _ => Err::<u32, _>(cruster::err!("gone", "not ever")),
        })
        .run::<ProcessOrder>(order());
    assert_eq!(
        run.result.unwrap_err().error_type(),
        "gone",
        "the second attempt is the last"
    );
}
