//! However an order ends that is not confirmed, the payment service gives the money back.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use cruster::prelude::*;
use cruster::testing::{Finished, Rows, Test};
use cruster::{HttpRequest, HttpResponse, Value};
use orders_rust::{Confirmation, Item, MODULE, OrderRequest, OrderResult, ProcessOrder};

/// A payment service: it keeps accounts, and performs a request under one
/// idempotency key once. It moves the money also if its answer is lost.
#[derive(Clone, Default)]
struct Service(Rc<RefCell<Accounts>>);

#[derive(Default)]
struct Accounts {
    taken: i64,
    refunded: i64,
    /// The calls of each key, by path.
    calls: BTreeMap<(String, String), u32>,
}

impl Service {
    /// Answers a call with a `status`, by the path and the number of the call.
    fn answer(
        &self,
        request: &HttpRequest,
        status: fn(&str, u32) -> u16,
    ) -> cruster::Result<HttpResponse> {
        let path = request.url.strip_prefix("https://pay.example").unwrap();
        let key = request
            .header("Idempotency-Key")
            .expect("a call has a key")
            .to_owned();
        let accounts = &mut *self.0.borrow_mut();
        let calls = accounts.calls.entry((path.to_owned(), key)).or_default();
        *calls += 1;
        if *calls == 1 {
            let body = request.body.as_ref().expect("a call has a body");
            let body: serde_json::Value = serde_json::from_slice(body).unwrap();
            assert_eq!(body["order_id"], "42");
            match path {
                "/charges" => accounts.taken += body["amount_cents"].as_i64().unwrap(),
                "/charges/refunds" => accounts.refunded = accounts.taken,
                _ => panic!("{path} is not a page of the service"),
            }
        }
        Ok(HttpResponse::new(status(path, *calls), "{}"))
    }

    fn balance(&self) -> (i64, i64) {
        (self.0.borrow().taken, self.0.borrow().refunded)
    }

    /// How often each page was called; all attempts of a step had one key.
    fn calls(&self) -> Vec<(String, u32)> {
        let accounts = self.0.borrow();
        let calls = accounts.calls.iter();
        calls.map(|((path, _), n)| (path.clone(), *n)).collect()
    }
}

fn ok(_: &str, _: u32) -> u16 {
    200
}

/// A test with the service; all that activities write is forgotten.
fn test(service: &Service, status: fn(&str, u32) -> u16) -> Test {
    let service = service.clone();
    Test::new(&MODULE)
        .sql(|_: &str, _: &[Value]| Ok(Rows::affected(1)))
        .config("payments_url", "https://pay.example/charges")
        .http(move |request| service.answer(&request, status))
}

fn run(test: Test) -> Finished<OrderResult> {
    let apples = Item {
        sku: "apple".to_owned(),
        quantity: 2,
        price_cents: 150,
    };
    test.run::<ProcessOrder>(OrderRequest {
        order_id: "42".to_owned(),
        email: "a@b.c".to_owned(),
        items: vec![apples],
        ..OrderRequest::default()
    })
}

#[track_caller]
fn goes_back(service: &Service, test: Test) {
    assert!(run(test).result.is_err());
    assert_eq!(service.balance(), (300, 300));
    assert_eq!(service.calls().len(), 2, "{:?}", service.calls());
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn interrupted_in_the_cooling_off_period() {
    let service = Service::default();
    let test = test(&service, ok);
    goes_back(&service, test.interrupt_after(SECOND, "changed my mind"));
}

#[test]
fn interrupted_while_it_is_charged() {
    let service = Service::default();
    let test = test(&service, ok).takes("charge", 20 * SECOND);
    goes_back(
        &service,
        test.interrupt_after(10 * SECOND, "changed my mind"),
    );
}

#[test]
fn not_confirmed() {
    let service = Service::default();
    let test = test(&service, ok).stub("confirm", |_, _: Confirmation| {
        Err::<bool, _>(cruster::err!("unknown_order", "there is no such order").non_retryable())
    });
    goes_back(&service, test);
}

#[test]
fn the_answers_to_the_charge_are_lost() {
    let service = Service::default();
    let lost = |path: &str, _| if path == "/charges" { 503 } else { 200 };
    goes_back(&service, test(&service, lost));
    let calls = [
        ("/charges".to_owned(), 6),
        ("/charges/refunds".to_owned(), 1),
    ];
    assert_eq!(service.calls(), calls);
}

#[test]
fn the_refund_needs_three_attempts() {
    let service = Service::default();
    let busy = |path: &str, n| {
        if path != "/charges" && n < 3 {
            502
        } else {
            200
        }
    };
    let test = test(&service, busy);
    goes_back(&service, test.interrupt_after(SECOND, "changed my mind"));
    let calls = [
        ("/charges".to_owned(), 1),
        ("/charges/refunds".to_owned(), 3),
    ];
    assert_eq!(service.calls(), calls);
}

#[test]
fn a_charge_is_repeated_with_its_key() {
    let service = Service::default();
    let busy = |_: &str, n| if n == 1 { 503 } else { 200 };
    let result = run(test(&service, busy)).result.unwrap();
    assert_eq!(service.balance(), (300, 0));
    assert_eq!(service.calls(), [("/charges".to_owned(), 2)]);
    let accounts = service.0.borrow();
    let ((_, key), _) = accounts.calls.iter().next().unwrap();
    assert_eq!(result.charge_id, format!("ch_{key}"));
}

#[test]
fn an_order_whose_money_could_not_be_given_back_says_so() {
    let service = Service::default();
    let refused = |path: &str, _| if path == "/charges" { 200 } else { 403 };
    let test = test(&service, refused).interrupt_after(SECOND, "changed my mind");
    let error = run(test).result.unwrap_err();
    assert_eq!(error.error_type(), "not_cancelled");
    assert!(error.message().contains("403"), "{error}");
    assert!(error.message().contains("changed my mind"), "{error}");
}
