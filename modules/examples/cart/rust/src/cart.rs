//! The cart.

use cruster::prelude::*;

use crate::order::{Order, PlaceOrder};

/// How many different items a cart holds: a state is saved whole.
pub const MAX_ITEMS: usize = 100;

/// Something in a cart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Schema)]
pub struct Item {
    pub sku: String,
    pub quantity: i64,
    pub price_cents: i64,
}

/// The cart of a customer, whose name is its id.
#[stateful_entity(concurrency = 4)]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct Cart {
    pub items: Vec<Item>,
    /// How many checkouts there were; each gives an order of its own.
    pub orders: i64,
}

#[operations]
impl Cart {
    /// Puts something into the cart, and returns the new total.
    pub fn add(&mut self, item: Item) -> Result<i64> {
        if item.sku.is_empty() || item.quantity < 1 || item.price_cents < 0 {
            cruster::bail!(
                "invalid_item",
                "an item needs a sku, a quantity and a price"
            );
        }
        if let Some(found) = self.items.iter_mut().find(|i| i.sku == item.sku) {
            found.quantity += item.quantity;
            found.price_cents = item.price_cents;
        } else if self.items.len() == MAX_ITEMS {
            cruster::bail!("cart_full", "the cart holds {MAX_ITEMS} items already");
        } else {
            self.items.push(item);
        }
        Ok(self.total())
    }

    /// Takes something out of the cart, and returns the new total.
    pub fn remove(&mut self, sku: String) -> Result<i64> {
        let Some(at) = self.items.iter().position(|i| i.sku == sku) else {
            cruster::bail!("no_such_item", "there is no {sku} in the cart");
        };
        self.items.remove(at);
        Ok(self.total())
    }

    /// The price of the cart. It writes nothing.
    #[read_only]
    pub fn total(&self) -> i64 {
        self.items.iter().map(|i| i.quantity * i.price_cents).sum()
    }

    /// Starts the workflow that places the order, empties the cart, and returns the id of
    /// the order. All of that is one commit: there is no order without an empty cart.
    pub fn checkout(&mut self, cx: &EntityContext) -> Result<String> {
        if self.items.is_empty() {
            cruster::bail!("cart_empty", "there is nothing in the cart");
        }
        self.orders += 1;
        let order = Order {
            order_id: format!("{}-{}", cx.id(), self.orders),
            items: self.items.len() as i64,
            total_cents: self.total(),
        };
        self.items.clear();
        let id = order.order_id.clone();
        cx.workflow::<PlaceOrder>().start(order)?;
        Ok(id)
    }
}
