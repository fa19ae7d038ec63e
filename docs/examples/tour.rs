//! Every primitive of the SDK; docs/go-and-rust.md and
//! docs/writing-workflows-rust.md quote it. tour.go says the same in Go.

#![allow(dead_code, unused_variables)] // it is only read

use cruster::OnCancel;
use cruster::prelude::*;

#[derive(Clone, Serialize, Deserialize, Schema)]
pub struct Order {
    pub id: String,
    pub cents: i64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

#[derive(Clone, Serialize, Deserialize, Schema)]
pub struct Receipt {
    pub order: String,
    pub charge: String,
}

#[derive(Serialize, Deserialize, Schema)]
pub struct Decision {
    pub approved: bool,
    pub by: String,
}

#[derive(Deserialize)]
pub struct Account {
    pub id: String,
    pub cents: i64,
}

#[derive(Serialize, Deserialize)]
pub struct Missing {
    pub cents: i64,
}

// A workflow, known by a key of the request.

#[workflow]
pub struct ProcessOrder;

#[workflow_impl(key = |order: &Order| order.id.clone(), hash = false)]
impl ProcessOrder {
    async fn execute(&self, order: Order) -> Result<Receipt> {
        let charge = self.charge(order.clone()).await?;
        Ok(Receipt {
            order: order.id,
            charge,
        })
    }

    #[activity(
        retries = 5,
        backoff = "exponential",
        base = "1s",
        jitter = 0.2,
        timeout = "30s"
    )]
    async fn charge(&self, order: Order) -> Result<String> {
        Ok(self.idempotency_key().to_owned())
    }
}

// Other keys.

#[derive(Serialize, Deserialize, Schema)]
pub struct Range {
    pub from: i64,
    pub to: i64,
}

#[workflow]
pub struct Report;

#[workflow_impl(key = |range: &Range| (range.from, range.to))]
impl Report {
    async fn execute(&self, range: Range) -> Result<i64> {
        Ok(range.to - range.from)
    }
}

#[workflow]
pub struct Sum;

#[workflow_impl]
impl Sum {
    async fn execute(&self, range: Range) -> Result<i64> {
        Ok(range.from + range.to)
    }
}

// Activities: calling them, and their abilities.

#[activity_group]
pub struct Payments;

#[activity_group_impl(retries = 5, backoff = "exponential", base = "100ms")]
impl Payments {
    #[activity]
    async fn refund(&self, charge: String) -> Result<bool> {
        Ok(true)
    }

    #[activity(timeout = "5s")]
    async fn price(&self, sku: String) -> Result<i64> {
        Ok(30)
    }
}

#[workflow]
pub struct Activities;

#[workflow_impl(activity_groups(Payments))]
impl Activities {
    async fn execute(&self, order: Order) -> Result<i64> {
        let refunded = self.refund(order.id.clone()).await?;
        let price = self
            .price(order.id.clone())
            .key(format!("price-{}", order.id))
            .retries(1)
            .await?;
        Ok(price)
    }

    #[activity]
    async fn sql(&self, id: String) -> Result<i64> {
        let tx = self.transaction();
        let changed = tx.execute(
            "UPDATE accounts SET cents = cents - $1 WHERE id = $2",
            (100, &id),
        )?;
        let accounts: Vec<Account> = tx.query("SELECT id, cents FROM accounts", ())?;
        let cents: i64 = tx.query_one("SELECT cents FROM accounts WHERE id = $1", (&id,))?;
        let pairs: Vec<(String, Option<i64>)> = tx.query("SELECT id, cents FROM accounts", ())?;
        let found: Option<i64> =
            tx.query_optional("SELECT cents FROM accounts WHERE id = $1", (&id,))?;
        let poor: Vec<Account> =
            cruster::query_as("SELECT id, cents FROM accounts WHERE cents < $1")
                .bind(100)
                .fetch_all(&tx)?;
        Ok(cents)
    }

    #[activity(retries = 3)]
    async fn notify(&self, text: String) -> Result<u16> {
        let url = self.config("notify_url").unwrap_or_default();
        let response = self
            .http()
            .post(url)
            .header("Idempotency-Key", self.idempotency_key())
            .json(format!("{{\"attempt\":{}}}", self.attempt()))
            .send()?
            .error_for_status()?;
        Ok(response.status)
    }

    #[activity(retries = 3)]
    async fn look(&self, urls: Vec<String>) -> Result<usize> {
        let http = self.http();
        for answer in http.send_all(urls.iter().map(|url| http.get(url)))? {
            log::info!("status {}", answer?.status);
        }
        Ok(urls.len())
    }
}

// Waiting.

pub const APPROVED: Deferred<Decision> = Deferred::new("approved");

pub const APPROVALS: DynamicDeferred<Decision> = DynamicDeferred::new("approve-");

#[workflow]
pub struct Waiting;

#[workflow_impl(deferreds(APPROVED, APPROVALS))]
impl Waiting {
    async fn execute(&self, other: String) -> Result<String> {
        self.sleep(Duration::from_secs(30 * 24 * 60 * 60)).await?;
        let deadline = self.now() + Duration::from_secs(60);
        self.sleep_until(deadline).await?;

        let ada = || Decision {
            approved: true,
            by: "ada".into(),
        };
        let first = self.resolve_deferred(APPROVED, ada()).await?;
        let first = self
            .reject_deferred(APPROVED, cruster::err!("refused", "no"))
            .await?;
        let first = self.resolve_deferred_in(&other, APPROVED, ada()).await?;
        let decision = self.await_deferred(APPROVED).await?;
        let second = self.await_deferred(APPROVALS.named(&decision.by)).await?;
        Ok(second.by)
    }
}

// Several things at once.

#[workflow]
pub struct Parallel;

#[workflow_impl(activity_groups(Payments), deferreds(APPROVED))]
impl Parallel {
    async fn execute(&self, skus: Vec<String>) -> Result<i64> {
        let prices = cruster::join_all(skus.iter().map(|sku| self.price(sku.clone()))).await?;
        let (apple, refunded) =
            cruster::join!(self.price("apple".into()), self.refund("ch_1".into())).await?;
        let (i, cheapest) = cruster::first(skus.iter().map(|sku| self.price(sku.clone()))).await?;

        let by = cruster::select! {
            decision = self.await_deferred(APPROVED) => decision?.by,
            slept = self.sleep(Duration::from_secs(60)) => slept.map(|()| "no one".to_owned())?,
        };

        let waited = self
            .timeout(Duration::from_secs(60), self.await_deferred(APPROVED))
            .await;
        if waited.is_err_and(|e| e.is_timeout()) {
            return Ok(0);
        }

        let this = self.clone();
        let task = self.spawn(async move {
            this.sleep(Duration::from_secs(1)).await?;
            this.price("pear".into()).await
        });
        let pear = task.await?;

        let pending = self.price("plum".into());
        drop(pending); // cancels it
        Ok(prices.iter().sum::<i64>() + apple + cheapest + pear)
    }
}

// Structure.

#[workflow]
pub struct Structure {
    shops: Vec<&'static str>,
}

#[workflow_impl(activity_groups(Payments))]
impl Structure {
    async fn execute(&self, skus: Vec<String>) -> Result<i64> {
        let prices = || skus.iter().map(|sku| self.price(sku.clone()));
        let all = cruster::join_all(prices()).limit(10).await?;
        let all_or_nothing = cruster::try_join_all(prices()).limit(10).await?;
        let minute = self.sleep(Duration::from_secs(60));
        for price in cruster::join_all(prices())
            .limit(10)
            .settled_by(minute)
            .await
        {
            match price {
                Err(e) if e.is_timeout() => log::warn!("the minute was over"),
                price => log::info!("{}", price?),
            }
        }

        let this = self.clone();
        let reminder = self.spawn(async move {
            loop {
                this.sleep(Duration::from_secs(3600)).await?;
                this.shield(this.refund("ch_2".into())).await?; // not left half done
            }
        });
        reminder.cancel();
        let ended: Result<()> = reminder.await; // an error that is_canceled()

        let mut tasks = cruster::JoinSet::new(self);
        let slots = cruster::Semaphore::new(self, 2);
        let (sender, offers) = cruster::channel(self, 8);
        for shop in &self.shops {
            let (this, slots, sender) = (self.clone(), slots.clone(), sender.clone());
            let shop = shop.to_string();
            tasks.spawn(async move {
                let _slot = slots.acquire().await?;
                sender.send(this.price(shop).await?).await
            });
        }
        drop(sender); // the channel is closed when the tasks are done
        let mut sum = 0;
        while let Some(offer) = offers.recv().await? {
            sum += offer;
        }
        while let Some(done) = tasks.join_next().await {
            done?;
        }
        Ok(sum)
    }
}

// Other workflows.

#[workflow]
pub struct Callers;

#[workflow_impl]
impl Callers {
    async fn execute(&self, order: Order) -> Result<String> {
        let left = ProcessOrder::client(self)
            .on_cancel(OnCancel::Abandon)
            .execute(order.clone());
        left.await?;
        let receipt = ProcessOrder::client(self).execute(order.clone()).await?;
        let id = ProcessOrder::client(self).start(order.clone()).await?;
        let keyed = ProcessOrder::client(self)
            .with_key_raw("order-42")
            .execute(order.clone());
        let status = ProcessOrder::client(self).poll(&id).await?;
        let billing = cruster::remote::<Order, Receipt>(self, "billing/Invoice");
        let invoice = billing.execute(order).await?;
        let receipt = keyed.await?;
        ProcessOrder::client(self)
            .interrupt(&id, "out of stock")
            .await?;
        if let Some(outcome) = status.outcome {
            return Ok(outcome?.charge);
        }
        Ok(status.state)
    }
}

// Errors.

#[workflow]
pub struct Failures;

#[workflow_impl(activity_groups(Payments))]
impl Failures {
    async fn execute(&self, order: Order) -> Result<String> {
        let charged = self.charge_card(order.cents).await;
        if let Err(e) = charged {
            match e.error_type() {
                "card_declined" => return Ok("declined".into()),
                "insufficient_funds" => {
                    let missing: Option<Missing> = e.details();
                    return Ok(e.message());
                }
                _ => return Err(e.context("charge")),
            }
        }
        Ok("charged".into())
    }

    #[activity]
    async fn charge_card(&self, cents: i64) -> Result<()> {
        match cents {
            0 => cruster::bail!("card_declined", "card {} was declined", "4242"),
            1 => Err(cruster::err!("insufficient_funds", "there is too little")
                .with_details(&Missing { cents: 5 })
                .non_retryable()),
            _ => Ok(()),
        }
    }
}

// Interrupts.

#[workflow]
pub struct Careful;

#[workflow_impl(activity_groups(Payments), deferreds(APPROVED))]
impl Careful {
    async fn execute(&self, charge: String) -> Result<String> {
        match self.await_deferred(APPROVED).await {
            Err(e) if e.is_interrupted() => {
                self.shield(self.refund(charge)).await?;
                log::info!("stopped: {}", self.interrupt_reason());
                Err(e) // the execution ends as interrupted
            }
            decision => Ok(decision?.by),
        }
    }

    async fn until_interrupted(&self) -> Result<String> {
        cruster::select! {
            reason = self.on_interrupt() => Ok(reason),
            slept = self.sleep(Duration::from_secs(60)) => slept.map(|()| String::new()),
        }
    }
}

// Time, random numbers, ids, logs.

#[workflow]
pub struct Surroundings;

#[workflow_impl]
impl Surroundings {
    async fn execute(&self, sides: u64) -> Result<String> {
        let now = self.now();
        let dice = self.random().range(1..sides + 1);
        let id = self.uuid();
        log::info!("{} rolled {dice} at {now}", self.execution_id());
        log::info!(dice, sides, by:% = self.execution_id(); "rolled"); // :% is for text
        Ok(id)
    }
}

// A change that runs under way do not take.

#[workflow]
pub struct Taxed;

#[workflow_impl]
impl Taxed {
    async fn execute(&self, mut order: Order) -> Result<String> {
        if self.patched("tax").await {
            order.cents += order.cents / 5;
        }
        self.take(order).await
    }

    #[activity]
    async fn take(&self, order: Order) -> Result<String> {
        Ok(format!("{} for {}", order.cents, order.id))
    }
}

cruster::module! {
    workflows: [
        ProcessOrder, Report, Sum, Activities, Waiting, Parallel, Callers, Failures, Careful, Surroundings, Taxed,
        Structure { shops: vec!["corner", "market"] },
    ],
    migrations: [
        Migration::new(1, "accounts", "CREATE TABLE accounts (id TEXT PRIMARY KEY, cents BIGINT)"),
        Migration::new(2, "index", "CREATE INDEX accounts_cents ON accounts USING brin (cents)").postgres(),
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
        assert_eq!(run.result.unwrap().charge, "ch_42");
        assert_eq!(run.history.steps(), ["activity charge"]);
        run.history.replay().unwrap();
    }

    #[test]
    fn what_comes_from_outside() {
        let hour = Duration::from_secs(60 * 60);
        let test = Test::new(&MODULE)
            .takes("Payments.refund", Duration::from_secs(2))
            .interrupt_after(hour, "enough");
        let run = test.run::<Careful>("ch_1".into());
        assert!(run.result.unwrap_err().is_interrupted());
        assert_eq!(run.history.duration(), hour + Duration::from_secs(2));
        run.history.replay().unwrap();
    }
}
