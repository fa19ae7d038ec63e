//! The payment service.

use cruster::ActivityContext;
use cruster::prelude::*;

/// Takes money.
#[derive(Serialize)]
pub struct Payment<'a> {
    pub id: &'a str,
    pub order_id: &'a str,
    pub amount_cents: i64,
}

/// Gives back whatever was taken for an order.
#[derive(Serialize)]
pub struct Refund<'a> {
    pub order_id: &'a str,
}

/// Calls the payment service: charges are posted to the configured payments_url,
/// refunds to payments_url/refunds. Without a payments_url there is no service, and
/// the table of charges is all there is.
///
/// The idempotency key of the step lets the service recognise a repeated attempt.
pub fn pay<A>(activity: &ActivityContext<A>, path: &str, request: &impl Serialize) -> Result<()> {
    let Some(url) = activity.config("payments_url").filter(|u| !u.is_empty()) else {
        return Ok(());
    };
    activity
        .http()
        .post(format!("{}{path}", url.trim_end_matches('/')))
        .header("Idempotency-Key", activity.idempotency_key())
        .json(serde_json::to_string(request)?)
        .send()?
        .error_for_status()?;
    Ok(())
}
