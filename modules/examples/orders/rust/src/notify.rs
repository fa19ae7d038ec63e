//! Messages to customers.

use cruster::prelude::*;

use crate::effects::record;

/// The request of [`NotifyCustomer`].
#[derive(Serialize, Deserialize, Schema)]
pub struct Notification {
    pub order_id: String,
    pub email: String,
    pub message: String,
}

/// The result of [`NotifyCustomer`].
#[derive(Serialize, Deserialize, Schema)]
pub struct NotificationResult {
    pub notification_id: String,
}

#[derive(Serialize, Deserialize, Schema)]
pub struct Message {
    pub id: String,
    pub order_id: String,
    pub email: String,
    pub body: String,
}

/// Sends one message for an order, once, however often it is asked to.
#[workflow]
pub struct NotifyCustomer;

#[workflow_impl(key = |notification: &Notification| format!("order-{}", notification.order_id), hash = false)]
impl NotifyCustomer {
    async fn execute(&self, notification: Notification) -> Result<NotificationResult> {
        let Notification {
            order_id,
            email,
            message,
        } = notification;
        let id = self.uuid();
        self.send(Message {
            id: id.clone(),
            order_id,
            email,
            body: message,
        })
        .await?;
        Ok(NotificationResult {
            notification_id: id,
        })
    }

    /// Puts a message into the outbox.
    #[activity(retries = 3, backoff = "exponential", base = "100ms")]
    async fn send(&self, message: Message) -> Result<bool> {
        self.transaction().execute(
            "INSERT INTO notifications (notification_id, order_id, email, body) VALUES ($1, $2, $3, $4)",
            (&message.id, &message.order_id, &message.email, &message.body),
        )?;
        record(self, "send")?;
        Ok(true)
    }
}
