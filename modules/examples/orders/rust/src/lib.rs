//! An order workflow: reserve the items, charge the customer, wait out a
//! cooling-off period, confirm, and notify through another workflow.

mod effects;
mod migrations;
mod notify;
mod order;
mod payments;

pub use notify::{Message, Notification, NotificationResult, NotifyCustomer};
pub use order::{
    ChargeRequest, ChargeResult, Confirmation, Item, Order, OrderRequest, OrderResult, ProcessOrder,
};

cruster::module! {
    workflows: [ProcessOrder, NotifyCustomer],
    migrations: [
        migrations::ORDERS,
        migrations::RESERVATIONS,
        migrations::CHARGES,
        migrations::NOTIFICATIONS,
        migrations::EFFECTS,
    ],
}
