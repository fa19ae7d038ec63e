//! The workflow that runs for years.

use cruster::prelude::*;

/// How many periods a run charges before the next one takes its place.
pub const PERIODS_PER_RUN: usize = 100;

/// The request of [`Billing`], and all that one run tells the next.
#[derive(Clone, Debug, Default, Serialize, Deserialize, Schema)]
pub struct BillingRequest {
    pub customer: String,
    /// The price of a period.
    pub cents: i64,
    /// How long a period is, in milliseconds. Defaults to 30 days.
    #[serde(default)]
    pub period_ms: i64,
    /// How many periods were charged by the runs before.
    #[serde(default)]
    pub charged: i64,
}

impl BillingRequest {
    fn period(&self) -> Duration {
        match u64::try_from(self.period_ms) {
            Ok(ms @ 1..) => Duration::from_millis(ms),
            _ => Duration::from_secs(30 * 24 * 60 * 60),
        }
    }
}

/// The result of [`Billing`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Schema)]
pub struct BillingResult {
    pub charged: i64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// The customer pays another price from the next period on:
///
/// ```text
/// cruster-host workflow signal EXECUTION change_plan --input '{"cents":700}'
/// ```
#[derive(Clone, Debug, Serialize, Deserialize, Schema, Signal)]
pub struct ChangePlan {
    pub cents: i64,
}

/// The customer leaves:
///
/// ```text
/// cruster-host workflow signal EXECUTION cancel --input '{"reason":"moved away"}'
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize, Schema, Signal)]
pub struct Cancel {
    #[serde(default)]
    pub reason: String,
}

/// How many periods were charged:
///
/// ```text
/// cruster-host workflow state EXECUTION charged
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Schema, State)]
pub struct Charged(pub i64);

/// By whom executions are found:
///
/// ```text
/// cruster-host workflow list --where customer=ada
/// ```
#[derive(Attribute)]
pub struct Customer(String);

/// Charges a customer for one period after the other, until the customer cancels. There is one
/// per customer.
#[workflow]
pub struct Billing;

#[workflow_impl(
    key = |request: &BillingRequest| request.customer.clone(),
    hash = false,
    signals(Cancel, ChangePlan),
    state(Charged),
    attributes(Customer)
)]
impl Billing {
    async fn execute(&self, mut request: BillingRequest) -> Result<BillingResult> {
        self.publish(Customer(request.customer.clone()))?;
        for _ in 0..PERIODS_PER_RUN {
            let number = request.charged + 1;
            self.charge(request.customer.clone(), number, request.cents)
                .await?;
            request.charged = number;
            self.publish(Charged(number))?;
            if let Some(Cancel { reason }) = self.serve(&mut request).await? {
                return Ok(BillingResult {
                    charged: number,
                    reason,
                });
            }
        }
        // A signal that comes from now on is the next run's.
        self.continue_as_new(request)
    }

    /// Ends at the end of a period, or when the customer cancels.
    async fn serve(&self, request: &mut BillingRequest) -> Result<Option<Cancel>> {
        let mut end = self.sleep(request.period());
        loop {
            cruster::select! {
                slept = &mut end => return slept.map(|()| None),
                cancel = self.receive::<Cancel>() => return cancel.map(Some),
                change = self.receive::<ChangePlan>() => request.cents = change?.cents,
            }
        }
    }

    /// Charges a customer for a period: once, whatever becomes of the host.
    #[activity(retries = 3, backoff = "exponential", base = "100ms")]
    async fn charge(&self, customer: String, number: i64, cents: i64) -> Result<bool> {
        self.transaction().execute(
            "INSERT INTO billing_charges (customer, period, cents) VALUES ($1, $2, $3)",
            (&customer, number, cents),
        )?;
        Ok(true)
    }
}
