//! The definitions of workflows and activities in a module.

use cruster::__private::wire::{ActivityInfo, Retry, Schema as Described, WorkflowInfo};
use cruster::prelude::*;

/// A request.
#[derive(Serialize, Deserialize, Schema)]
pub struct OrderRequest {
    /// Names the order.
    pub order_id: String,
}

/// Has an activity of every kind.
#[workflow]
pub struct ProcessOrder;

#[workflow_impl(key = |request| request.order_id.clone(), hash = false, activity_groups(Payments, stock::Inventory))]
impl ProcessOrder {
    /// Processes an order.
    async fn execute(&self, request: OrderRequest) -> Result<u64, Error> {
        let cents = self.price(request.order_id, 3).await?;
        self.nothing().await?;
        self.plain(vec![1]).await?;
        self.renamed(1).await?;
        self.count("bolt".to_string()).await?;
        self.charge(cents).await
    }

    /// The price of an order.
    #[activity(
        retries = 3,
        backoff = "constant",
        base = "100ms",
        jitter = 0.25,
        timeout = "1m30s"
    )]
    async fn price(&self, order_id: String, count: u64) -> Result<u64> {
        Ok(order_id.len() as u64 * count)
    }

    #[activity]
    async fn nothing(&self) -> Result<()> {
        Ok(())
    }

    #[activity(retries = 1, base = "2s")]
    async fn plain(&self, mut numbers: Vec<u8>) -> Result<Option<u8>> {
        Ok(numbers.pop())
    }

    #[activity(name = "other-name", backoff = "exponential")]
    async fn renamed(&self, n: i16) -> Result<i16, std::num::ParseIntError> {
        Ok(n)
    }

    #[cfg(any())]
    #[activity]
    async fn absent(&self, nothing: NoSuchType) -> Result<()> {
        Ok(())
    }
}

/// Takes money.
#[activity_group]
pub struct Payments;

#[activity_group_impl(retries = 5, timeout = "10s")]
impl Payments {
    #[activity]
    async fn charge(&self, cents: u64) -> Result<u64, Error> {
        Ok(cents)
    }

    #[activity(retries = 0, name = "Payments.giveBack")]
    async fn refund(&self, cents: u64) -> Result<u64, Error> {
        Ok(cents)
    }
}

mod stock {
    use cruster::prelude::*;

    #[activity_group]
    pub(super) struct Inventory;

    #[activity_group_impl(name = "Stock")]
    impl Inventory {
        #[activity]
        async fn count(&self, sku: String) -> Result<u32, Error> {
            Ok(u32::try_from(sku.len())?)
        }
    }
}

/// Uses a group that another workflow uses too, and hashes its keys.
#[workflow]
pub struct Refund;

#[workflow_impl(key = Self::key_of, activity_groups(Payments), name = "refund-v2")]
impl Refund {
    async fn execute(&self, (cents, _): (u64, String)) -> Result<u64, Error> {
        ProcessOrder::client(self)
            .start(OrderRequest {
                order_id: "refund".to_string(),
            })
            .await?;
        self.refund(cents).await
    }

    fn key_of(request: &(u64, String)) -> (u64, bool) {
        (request.0, true)
    }
}

/// Has neither key nor activities.
#[workflow]
#[derive(Default)]
pub struct Bare;

#[workflow_impl]
impl Bare {
    async fn execute(&self, (): ()) -> Result<cruster::Empty, Error> {
        Ok(cruster::Empty {})
    }
}

cruster::module! { workflows: [ProcessOrder, Refund, Bare] }

fn workflows() -> Vec<WorkflowInfo> {
    MODULE.manifest().workflows.unwrap().into_iter().collect()
}

fn activity(name: &str) -> ActivityInfo {
    let mut all = MODULE.manifest().activities.unwrap().into_iter();
    all.find(|a| a.name == name)
        .unwrap_or_else(|| panic!("there is no activity {name}"))
}

#[test]
fn workflows_and_their_keys() {
    let found: Vec<_> = workflows().into_iter().map(|w| (w.name, w.key)).collect();
    let want = [
        ("Bare", "request"),
        ("ProcessOrder", "function_raw"),
        ("refund-v2", "function_hashed"),
    ];
    assert_eq!(
        found,
        want.map(|(name, key)| (name.to_string(), key.to_string()))
    );
}

#[test]
fn activities_of_workflows_and_groups() {
    let found: Vec<_> = MODULE
        .manifest()
        .activities
        .unwrap()
        .into_iter()
        .map(|a| a.name)
        .collect();
    let want = [
        "Payments.charge",
        "Payments.giveBack",
        "Stock.count",
        "nothing",
        "other-name",
        "plain",
        "price",
    ];
    assert_eq!(found, want);
}

#[test]
fn policies() {
    let retry = |retries, backoff: &str, base, jitter| Retry {
        backoff: backoff.to_string(),
        base,
        jitter,
        retries,
    };
    let policy = |name| {
        let found = activity(name);
        (found.retry, found.timeout)
    };
    assert_eq!(
        policy("price"),
        (retry(3, "constant", 100_000_000, 0.25), 90_000_000_000)
    );
    assert_eq!(policy("nothing"), (retry(0, "", 0, 0.0), 0));
    assert_eq!(
        policy("plain"),
        (retry(1, "exponential", 2_000_000_000, 0.0), 0)
    );
    assert_eq!(policy("other-name"), (retry(0, "exponential", 0, 0.0), 0));
    assert_eq!(
        policy("Payments.charge"),
        (retry(5, "", 0, 0.0), 10_000_000_000)
    );
    assert_eq!(
        policy("Payments.giveBack"),
        (retry(0, "", 0, 0.0), 10_000_000_000)
    );
}

fn kind(schema: Option<&Described>) -> &str {
    schema.map_or("", |s| &s.kind)
}

#[test]
fn several_parameters_are_a_struct_of_required_fields() {
    let input = *activity("price").input.unwrap();
    assert_eq!(input.kind, "struct");
    let fields = input.fields.unwrap();
    let found: Vec<_> = fields
        .iter()
        .map(|f| (f.name.as_str(), f.required, kind(f.schema.as_deref())))
        .collect();
    assert_eq!(
        found,
        [("count", true, "uint"), ("order_id", true, "string")]
    );
}

#[test]
fn one_parameter_is_the_input_and_none_is_nothing() {
    assert_eq!(kind(activity("plain").input.as_deref()), "list");
    assert_eq!(kind(activity("other-name").input.as_deref()), "int");
    assert_eq!(kind(activity("nothing").input.as_deref()), "struct");
    assert_eq!(kind(activity("nothing").output.as_deref()), "struct");
}

#[test]
fn requests_and_results_of_workflows() {
    let found: Vec<_> = workflows()
        .iter()
        .map(|w| {
            (
                kind(w.input.as_deref()).to_string(),
                kind(w.output.as_deref()).to_string(),
            )
        })
        .collect();
    let want = [("struct", "struct"), ("struct", "uint"), ("list", "uint")];
    assert_eq!(found, want.map(|(i, o)| (i.to_string(), o.to_string())));
}
