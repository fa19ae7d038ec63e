//! The subscription.

use std::cell::RefCell;
use std::rc::Rc;

use cruster::prelude::*;

/// The request of [`Subscription`].
#[derive(Clone, Debug, Default, Serialize, Deserialize, Schema)]
pub struct SubscriptionRequest {
    pub customer: String,
    pub plan: String,
    /// How long a period is, in milliseconds. Defaults to 30 days.
    #[serde(default)]
    pub period_ms: i64,
    /// How many periods there are. Defaults to 12.
    #[serde(default)]
    pub periods: i64,
}

impl SubscriptionRequest {
    fn period(&self) -> Duration {
        match u64::try_from(self.period_ms) {
            Ok(ms @ 1..) => Duration::from_millis(ms),
            _ => Duration::from_secs(30 * 24 * 60 * 60),
        }
    }

    fn periods(&self) -> i64 {
        match self.periods {
            n @ 1.. => n,
            _ => 12,
        }
    }
}

/// The customer wants another plan:
///
/// ```text
/// cruster-host workflow signal EXECUTION change_plan --input '{"plan":"large"}'
/// ```
#[derive(Clone, Debug, Serialize, Deserialize, Schema, Signal)]
pub struct ChangePlan {
    pub plan: String,
}

/// The customer wants no further period:
///
/// ```text
/// cruster-host workflow signal EXECUTION cancel --input '{"reason":"too much"}'
/// ```
#[derive(Clone, Debug, Serialize, Deserialize, Schema, Signal)]
pub struct Cancel {
    #[serde(default)]
    pub reason: String,
}

/// How is the subscription?
///
/// ```text
/// cruster-host workflow query EXECUTION status
/// ```
#[derive(Clone, Debug, Serialize, Deserialize, Schema, Query)]
#[query(answer = SubscriptionStatus)]
pub struct Status;

/// The answer to [`Status`], and the result of [`Subscription`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct SubscriptionStatus {
    /// The plan that the next period is charged for.
    pub plan: String,
    /// How many periods were charged.
    pub charged: i64,
    /// Whether the customer wants no further period.
    pub canceled: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// Charges a customer for one period after the other, until the customer cancels or the
/// last period has ended. There is one per customer.
#[workflow]
pub struct Subscription;

#[workflow_impl(
    key = |request: &SubscriptionRequest| request.customer.clone(),
    hash = false,
    signals(ChangePlan, Cancel),
    queries(Status)
)]
impl Subscription {
    async fn execute(&self, request: SubscriptionRequest) -> Result<SubscriptionStatus> {
        let status = Rc::new(RefCell::new(SubscriptionStatus {
            plan: request.plan.clone(),
            ..SubscriptionStatus::default()
        }));
        let seen = status.clone();
        self.answer(move |_: Status| seen.borrow().clone());

        for number in 1..=request.periods() {
            let plan = status.borrow().plan.clone();
            self.charge(request.customer.clone(), number, plan).await?;
            status.borrow_mut().charged = number;
            self.wait(request.period(), &status).await?;
            if status.borrow().canceled {
                break;
            }
        }
        Ok(status.take())
    }

    /// Ends at the end of a period. Signals that come meanwhile count from the next
    /// period on; a signal between two waits is kept for the second.
    async fn wait(&self, period: Duration, status: &RefCell<SubscriptionStatus>) -> Result<()> {
        let mut end = self.sleep(period);
        loop {
            cruster::select! {
                slept = &mut end => return slept,
                cancel = self.receive::<Cancel>() => {
                    let reason = cancel?.reason;
                    let mut status = status.borrow_mut();
                    (status.canceled, status.reason) = (true, reason);
                }
                change = self.receive::<ChangePlan>() => status.borrow_mut().plan = change?.plan,
            }
        }
    }

    /// Charges a customer for a period.
    #[activity(retries = 3, backoff = "exponential", base = "100ms")]
    async fn charge(&self, customer: String, number: i64, plan: String) -> Result<bool> {
        self.transaction().execute(
            "INSERT INTO cart_charges (customer, period, plan) VALUES ($1, $2, $3)",
            (&customer, number, &plan),
        )?;
        Ok(true)
    }
}
