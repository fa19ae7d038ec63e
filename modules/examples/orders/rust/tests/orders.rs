//! Runs the workflows without a host, in virtual time.

use std::cell::RefCell;
use std::rc::Rc;

use cruster::Value;
use cruster::prelude::*;
use cruster::testing::{Database, Rows, Test};
use orders_rust::{Item, MODULE, OrderRequest, ProcessOrder};

/// A database that knows the committed statements, by their beginnings.
#[derive(Clone, Default)]
struct Committed(Rc<RefCell<Statements>>);

#[derive(Default)]
struct Statements {
    open: Vec<(String, Vec<Value>)>,
    committed: Vec<(String, Vec<Value>)>,
}

impl Committed {
    /// The parameters of the committed statements that begin like this.
    fn params(&self, statement: &str) -> Vec<Vec<Value>> {
        let statements = self.0.borrow();
        let alike = statements
            .committed
            .iter()
            .filter(|(sql, _)| sql.starts_with(statement));
        alike.map(|(_, params)| params.clone()).collect()
    }

    /// The steps that took effect, in order.
    fn steps(&self) -> Vec<String> {
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => panic!("{other:?} is not the name of a step"),
        };
        self.params("INSERT INTO order_effects")
            .iter()
            .map(|params| text(&params[1]))
            .collect()
    }
}

impl Database for Committed {
    fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64> {
        self.0
            .borrow_mut()
            .open
            .push((sql.to_owned(), params.to_vec()));
        Ok(1)
    }

    fn query(&mut self, sql: &str, _: &[Value]) -> Result<Rows> {
        panic!("nothing is queried: {sql}")
    }

    fn commit(&mut self) -> Result<()> {
        let mut statements = self.0.borrow_mut();
        let open = std::mem::take(&mut statements.open);
        statements.committed.extend(open);
        Ok(())
    }

    fn rollback(&mut self) {
        self.0.borrow_mut().open.clear();
    }
}

fn request() -> OrderRequest {
    let apples = Item {
        sku: "apple".to_owned(),
        quantity: 2,
        price_cents: 150,
    };
    OrderRequest {
        order_id: "42".to_owned(),
        email: "a@b.c".to_owned(),
        items: vec![apples],
        ..OrderRequest::default()
    }
}

#[test]
fn an_order_is_confirmed() {
    let db = Committed::default();
    let run = Test::new(&MODULE)
        .sql(db.clone())
        .run::<ProcessOrder>(request());
    let result = run.result.unwrap();
    assert_eq!(result.status, "confirmed");
    assert_eq!(result.total_cents, 300);
    assert!(
        result
            .charge_id
            .starts_with("ch_test/ProcessOrder/42/charge/")
    );
    assert_eq!(
        run.history.steps(),
        [
            "activity reserve",
            "activity charge",
            "sleep 2s",
            "activity confirm",
            "call NotifyCustomer"
        ]
    );
    run.history.replay().unwrap();

    assert_eq!(db.steps(), ["reserve", "charge", "confirm", "send"]);
    let notified = &db.params("INSERT INTO notifications")[0];
    assert_eq!(notified[0], Value::from(&result.notification_id));
    assert_eq!(
        notified[3],
        Value::from("Your order 42 over 3.00 is confirmed.")
    );
}

#[test]
fn a_charge_is_retried() {
    let db = Committed::default();
    let request = OrderRequest {
        fail_charges: 2,
        ..request()
    };
    Test::new(&MODULE)
        .sql(db.clone())
        .run::<ProcessOrder>(request)
        .result
        .unwrap();
    let charges = db.params("INSERT INTO charges");
    assert_eq!(charges.len(), 1);
    assert_eq!(
        charges[0][3],
        Value::Int(3),
        "the third attempt is the one that counts"
    );
}

#[test]
fn a_failed_charge_cancels_the_order() {
    let db = Committed::default();
    let request = OrderRequest {
        fail_charges: 100,
        ..request()
    };
    let error = Test::new(&MODULE)
        .sql(db.clone())
        .run::<ProcessOrder>(request)
        .result
        .unwrap_err();
    assert_eq!(error.error_type(), "payment_unavailable");
    assert_eq!(db.steps(), ["reserve", "cancel"]);
}

#[test]
fn an_interrupt_refunds() {
    let db = Committed::default();
    let test = Test::new(&MODULE).sql(db.clone());
    let run = test
        .interrupt_after(Duration::from_secs(1), "changed my mind")
        .run::<ProcessOrder>(request());
    assert!(run.result.unwrap_err().is_interrupted());
    assert_eq!(db.steps(), ["reserve", "charge", "cancel"]);
    assert_eq!(db.params("UPDATE charges SET status = 'refunded'").len(), 1);
    run.history.replay().unwrap();
}

#[test]
fn bad_orders_do_nothing() {
    let item = |sku: &str, quantity| Item {
        sku: sku.to_owned(),
        quantity,
        price_cents: 1,
    };
    for items in [vec![], vec![item("apple", -1)], vec![item("", 1)]] {
        let run = Test::new(&MODULE).run::<ProcessOrder>(OrderRequest { items, ..request() });
        assert_eq!(run.result.unwrap_err().error_type(), "invalid_order");
        assert!(run.history.steps().is_empty());
    }
}
