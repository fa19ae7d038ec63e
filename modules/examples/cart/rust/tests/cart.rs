//! Runs the shop without a host, in virtual time: months take no time at all.

use std::cell::RefCell;
use std::rc::Rc;

use cart_rust::{
    Cancel, Cart, ChangePlan, Item, MAX_ITEMS, MODULE, Status, Subscription, SubscriptionRequest,
    SubscriptionStatus,
};
use cruster::Value;
use cruster::prelude::*;
use cruster::testing::{Rows, Test};

/// A test whose SQL is taken for granted, and the rows that it inserted.
fn setup() -> (Test, Rc<RefCell<Vec<Vec<Value>>>>) {
    let rows = Rc::new(RefCell::new(Vec::new()));
    let inserted = rows.clone();
    let test = Test::new(&MODULE).sql(move |_: &str, params: &[Value]| {
        inserted.borrow_mut().push(params.to_vec());
        Ok(Rows::affected(1))
    });
    (test, rows)
}

fn item(sku: &str, quantity: i64, price_cents: i64) -> Item {
    Item {
        sku: sku.to_owned(),
        quantity,
        price_cents,
    }
}

#[test]
fn a_cart_is_filled_and_ordered() {
    let (test, rows) = setup();
    let shop = test.entities();
    let ada = Cart::client(&shop, "ada");
    assert_eq!(ada.total().call().unwrap(), 0);
    ada.add(item("apple", 2, 150)).call().unwrap();
    ada.add(item("pear", 1, 200)).call().unwrap();
    assert_eq!(ada.add(item("apple", 2, 150)).call().unwrap(), 800);
    assert_eq!(ada.remove("pear".to_owned()).call().unwrap(), 600);

    let error = ada.remove("pear".to_owned()).call().unwrap_err();
    assert_eq!(error.error_type(), "no_such_item");
    assert_eq!(ada.total().call().unwrap(), 600);

    assert_eq!(ada.checkout().call().unwrap(), "ada-1");
    assert!(shop.state::<Cart>("ada").unwrap().items.is_empty());
    shop.settle();
    let order = [Value::from("ada-1"), Value::Int(1), Value::Int(600)];
    assert_eq!(*rows.borrow(), [order]);

    let error = ada.checkout().call().unwrap_err();
    assert_eq!(error.error_type(), "cart_empty");
}

#[test]
fn a_cart_refuses() {
    let items = (0..MAX_ITEMS).map(|i| item(&i.to_string(), 1, 0)).collect();
    let full = Cart { items, orders: 0 };
    let shop = Test::new(&MODULE).entity("bob", &full).entities();

    let error = Cart::client(&shop, "ada").add(item("apple", 0, 0)).call();
    assert_eq!(error.unwrap_err().error_type(), "invalid_item");
    // An operation that fails creates nothing.
    assert_eq!(shop.ids::<Cart>(), ["bob"]);

    let error = Cart::client(&shop, "bob").add(item("apple", 2, 150)).call();
    assert_eq!(error.unwrap_err().error_type(), "cart_full");
}

const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const HOUR: Duration = Duration::from_secs(60 * 60);

fn ada() -> SubscriptionRequest {
    SubscriptionRequest {
        customer: "ada".to_owned(),
        plan: "small".to_owned(),
        ..SubscriptionRequest::default()
    }
}

fn change(plan: &str) -> ChangePlan {
    ChangePlan {
        plan: plan.to_owned(),
    }
}

fn plans(rows: &RefCell<Vec<Vec<Value>>>) -> Vec<Value> {
    rows.borrow().iter().map(|row| row[2].clone()).collect()
}

fn status(plan: &str, charged: i64) -> SubscriptionStatus {
    SubscriptionStatus {
        plan: plan.to_owned(),
        charged,
        ..SubscriptionStatus::default()
    }
}

#[test]
fn a_subscription_changes_and_is_canceled() {
    let (test, rows) = setup();
    let asked = Rc::new(RefCell::new(Vec::new()));
    let ask = |test: Test, after: Duration| {
        let asked = asked.clone();
        test.query_after(after, Status, move |answer| {
            asked.borrow_mut().push(answer.unwrap())
        })
    };
    let test = ask(ask(ask(test, HOUR), MONTH - HOUR), 2 * MONTH + 2 * HOUR);
    let reason = "too much".to_owned();
    let run = test
        .signal_after(MONTH / 2, change("medium"))
        .signal_after(MONTH / 2, change("large"))
        .signal_after(2 * MONTH + HOUR, Cancel { reason })
        .run::<Subscription>(ada());
    let want = SubscriptionStatus {
        canceled: true,
        reason: "too much".to_owned(),
        ..status("large", 3)
    };
    assert_eq!(run.result.unwrap(), want);
    let answers = [status("small", 1), status("large", 1), want];
    assert_eq!(*asked.borrow(), answers);
    // The period that was paid for is served.
    assert_eq!(run.history.duration(), 3 * MONTH);
    assert_eq!(plans(&rows), ["small", "large", "large"].map(Value::from));
    run.history.replay().unwrap();
}

#[test]
fn a_subscription_ends() {
    let (test, rows) = setup();
    let request = SubscriptionRequest {
        periods: 2,
        ..ada()
    };
    let run = test.signal(change("large")).run::<Subscription>(request);
    assert_eq!(run.result.unwrap(), status("large", 2));
    assert_eq!(plans(&rows), ["small", "large"].map(Value::from));
}
