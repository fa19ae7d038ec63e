//! A shop in two parts. A shopping [cart](Cart) is an entity: it is called by its id, keeps
//! a state and answers at once; its checkout starts the workflow that [places the
//! order](PlaceOrder). A [subscription](Subscription) is a workflow: it lives for a year,
//! takes signals and answers a query.

use cruster::prelude::*;

mod cart;
mod order;
mod subscription;

pub use cart::{Cart, Item, MAX_ITEMS};
pub use order::{Order, PlaceOrder};
pub use subscription::{
    Cancel, ChangePlan, Status, Subscription, SubscriptionRequest, SubscriptionStatus,
};

cruster::module! {
    workflows: [PlaceOrder, Subscription],
    entities: [Cart],
    migrations: [
        Migration::new(1, "orders", "
CREATE TABLE cart_orders (
	order_id    TEXT PRIMARY KEY,
	items       BIGINT NOT NULL,
	total_cents BIGINT NOT NULL
)"),
        Migration::new(2, "charges", "
CREATE TABLE cart_charges (
	customer TEXT NOT NULL,
	period   BIGINT NOT NULL,
	plan     TEXT NOT NULL,
	PRIMARY KEY (customer, period)
)"),
    ],
}
