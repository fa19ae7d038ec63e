//! From the reservation of an order to its confirmation.

use cruster::prelude::*;

use crate::effects::record;
use crate::notify::{Notification, NotifyCustomer};
use crate::payments::{Payment, Refund, pay};

/// The request of [`ProcessOrder`].
#[derive(Clone, Debug, Default, Serialize, Deserialize, Schema)]
pub struct OrderRequest {
    pub order_id: String,
    pub email: String,
    pub items: Vec<Item>,
    /// How long the customer can still change their mind, in milliseconds.
    /// Defaults to two seconds.
    #[serde(default)]
    pub cooling_off_ms: i64,
    /// Makes the first attempts to charge fail, to show retries.
    #[serde(default)]
    pub fail_charges: i64,
}

/// One line of an order.
#[derive(Clone, Debug, Default, Serialize, Deserialize, Schema)]
pub struct Item {
    pub sku: String,
    pub quantity: i64,
    pub price_cents: i64,
}

/// The result of [`ProcessOrder`].
#[derive(Debug, Serialize, Deserialize, Schema)]
pub struct OrderResult {
    pub order_id: String,
    pub charge_id: String,
    pub total_cents: i64,
    pub status: String,
    pub notification_id: String,
}

/// The input of `reserve`.
#[derive(Serialize, Deserialize, Schema)]
pub struct Order {
    pub order_id: String,
    pub email: String,
    pub items: Vec<Item>,
    pub total_cents: i64,
}

#[derive(Serialize, Deserialize, Schema)]
pub struct ChargeRequest {
    pub order_id: String,
    pub amount_cents: i64,
    pub fail_first: i64,
}

#[derive(Serialize, Deserialize, Schema)]
pub struct ChargeResult {
    pub id: String,
}

#[derive(Serialize, Deserialize, Schema)]
pub struct Confirmation {
    pub order_id: String,
    pub charge_id: String,
}

impl OrderRequest {
    /// Adds the order up. An invalid one fails before it has any effect.
    fn total_cents(&self) -> Result<i64> {
        if self.order_id.is_empty() || self.items.is_empty() {
            cruster::bail!(
                "invalid_order",
                "an order needs an id and at least one item"
            );
        }
        let mut total = 0;
        for Item {
            sku,
            quantity,
            price_cents,
        } in &self.items
        {
            if sku.is_empty() || *quantity <= 0 || *price_cents < 0 {
                cruster::bail!(
                    "invalid_order",
                    "{quantity} of {sku:?} at {price_cents} cents is no item"
                );
            }
            total += quantity * price_cents;
        }
        Ok(total)
    }

    fn cooling_off(&self) -> Duration {
        match u64::try_from(self.cooling_off_ms) {
            Ok(ms @ 1..) => Duration::from_millis(ms),
            _ => Duration::from_secs(2),
        }
    }
}

/// Takes an order from its reservation to its confirmation. The order id is the
/// idempotency key: an order that is sent twice is processed once.
#[workflow]
pub struct ProcessOrder;

#[workflow_impl(key = |request: &OrderRequest| request.order_id.clone(), hash = false)]
impl ProcessOrder {
    async fn execute(&self, request: OrderRequest) -> Result<OrderResult> {
        let total_cents = request.total_cents()?;
        let OrderRequest {
            order_id,
            email,
            items,
            ..
        } = request.clone();
        // From here on an interrupt waits for the step under way: only then is it certain
        // which steps to undo.
        let reserve = self.reserve(Order {
            order_id,
            email,
            items,
            total_cents,
        });
        self.shield(reserve).await.context("reserve")?;

        let charge = match self.charge_and_confirm(&request, total_cents).await {
            Ok(charge) => charge,
            Err(failure) => {
                // The order is undone also after an interrupt: hence the shield.
                if let Err(undo) = self.shield(self.cancel(request.order_id.clone())).await {
                    cruster::bail!(
                        "not_cancelled",
                        "the order could not be cancelled: {undo}; it was to be, because of: {failure}{}",
                        self.reason()
                    );
                }
                return Err(failure);
            }
        };

        let (whole, cents) = (total_cents / 100, total_cents % 100);
        let OrderRequest {
            order_id, email, ..
        } = request;
        let message = format!("Your order {order_id} over {whole}.{cents:02} is confirmed.");
        let notification = Notification {
            order_id: order_id.clone(),
            email,
            message,
        };
        let note = NotifyCustomer::client(self)
            .execute(notification)
            .await
            .context("notify")?;
        Ok(OrderResult {
            order_id,
            charge_id: charge.id,
            total_cents,
            status: "confirmed".to_owned(),
            notification_id: note.notification_id,
        })
    }

    /// Why the order was interrupted, if it was.
    fn reason(&self) -> String {
        match self.interrupted() {
            true => format!(" ({})", self.interrupt_reason()),
            false => String::new(),
        }
    }

    async fn charge_and_confirm(
        &self,
        request: &OrderRequest,
        amount_cents: i64,
    ) -> Result<ChargeResult> {
        if self.interrupted() {
            return Err(Error::interrupted());
        }
        let order_id = request.order_id.clone();
        let charge = self.charge(ChargeRequest {
            order_id,
            amount_cents,
            fail_first: request.fail_charges,
        });
        // A charge under way could overtake the refund, hence the shield.
        let charge = self.shield(charge).await.context("charge")?;
        self.sleep(request.cooling_off())
            .await
            .context("cooling off")?;
        let confirmation = Confirmation {
            order_id: request.order_id.clone(),
            charge_id: charge.id.clone(),
        };
        self.confirm(confirmation).await.context("confirm")?;
        Ok(charge)
    }

    /// Writes the order and its reservations down.
    #[activity(retries = 3, backoff = "exponential", base = "100ms")]
    async fn reserve(&self, order: Order) -> Result<i64> {
        let tx = self.transaction();
        tx.execute(
            "INSERT INTO orders (order_id, email, total_cents, status) VALUES ($1, $2, $3, 'reserved')
             ON CONFLICT (order_id) DO UPDATE SET status = 'reserved'",
            (&order.order_id, &order.email, order.total_cents),
        )?;
        for item in &order.items {
            tx.execute(
                "INSERT INTO reservations (order_id, sku, quantity) VALUES ($1, $2, $3)",
                (&order.order_id, &item.sku, item.quantity),
            )?;
        }
        record(self, "reserve")?;
        Ok(i64::try_from(order.items.len())?)
    }

    /// Takes the money: through the payment service if there is one, and in the table
    /// of charges. The idempotency key of the step is the id of the charge.
    #[activity(
        retries = 5,
        backoff = "exponential",
        base = "200ms",
        jitter = 0.2,
        timeout = "30s"
    )]
    async fn charge(&self, request: ChargeRequest) -> Result<ChargeResult> {
        let attempt = self.attempt();
        if i64::from(attempt) <= request.fail_first {
            cruster::bail!(
                "payment_unavailable",
                "the payment service is busy (attempt {attempt})"
            );
        }
        let ChargeRequest {
            order_id,
            amount_cents,
            ..
        } = request;
        let id = format!("ch_{}", self.idempotency_key());
        // The call goes out before the first statement: a transaction must not wait
        // for the network.
        let payment = Payment {
            id: &id,
            order_id: &order_id,
            amount_cents,
        };
        pay(self, "", &payment)?;
        self.transaction().execute(
            "INSERT INTO charges (charge_id, order_id, amount_cents, attempt, status) VALUES ($1, $2, $3, $4, 'taken')",
            (&id, &order_id, amount_cents, attempt),
        )?;
        record(self, "charge")?;
        Ok(ChargeResult { id })
    }

    /// Marks the order as confirmed.
    #[activity(retries = 3, backoff = "exponential", base = "100ms")]
    async fn confirm(&self, confirmation: Confirmation) -> Result<bool> {
        let Confirmation {
            order_id,
            charge_id,
        } = confirmation;
        let confirmed = self.transaction().execute(
            "UPDATE orders SET status = 'confirmed', charge_id = $1 WHERE order_id = $2",
            (&charge_id, &order_id),
        )?;
        if confirmed != 1 {
            return Err(
                cruster::err!("unknown_order", "there is no order {order_id}").non_retryable(),
            );
        }
        record(self, "confirm")?;
        Ok(true)
    }

    /// Undoes an order: the money goes back, the reservations go. The payment service
    /// is told the order and not the charge, because a charge whose answer was lost has
    /// no id here; it gives back whatever it took for the order.
    ///
    /// Money that does not go back is worse than an order that takes long to end: hence
    /// the many attempts, over an hour and a half.
    #[activity(
        retries = 100,
        backoff = "exponential",
        base = "100ms",
        timeout = "30s"
    )]
    async fn cancel(&self, order_id: String) -> Result<bool> {
        let refund = Refund {
            order_id: &order_id,
        };
        pay(self, "/refunds", &refund)?;
        let tx = self.transaction();
        for sql in [
            "DELETE FROM reservations WHERE order_id = $1",
            "UPDATE charges SET status = 'refunded' WHERE order_id = $1",
            "UPDATE orders SET status = 'cancelled' WHERE order_id = $1",
        ] {
            tx.execute(sql, (&order_id,))?;
        }
        record(self, "cancel")?;
        Ok(true)
    }
}
