//! Runs the workflow without a host: the bookings, their cancellations, and
//! their order.

use std::cell::RefCell;
use std::rc::Rc;

use cruster::Value;
use cruster::prelude::*;
use cruster::testing::{Rows, Test};
use saga_rust::{BookTrip, MODULE, Part, Status, TripRequest, TripResult};

/// A test, and the log of its trip.
fn setup() -> (Test, Rc<RefCell<Vec<String>>>) {
    let log = Rc::new(RefCell::new(Vec::new()));
    let seen = log.clone();
    let test = Test::new(&MODULE).sql(move |sql: &str, params: &[Value]| {
        let mut log = seen.borrow_mut();
        match (sql.split(' ').next(), params) {
            (Some("SELECT"), _) => return Ok(Rows::new(["count"]).row((log.len(),))),
            (_, [_, _, Value::String(action), Value::String(part)]) => {
                log.push(format!("{action} {part}"))
            }
            _ => {}
        }
        Ok(Rows::affected(1))
    });
    (test, log)
}

fn trip(fail_at: &str, pause_ms: i64) -> TripRequest {
    TripRequest {
        trip_id: "t".to_owned(),
        fail_at: fail_at.to_owned(),
        pause_ms,
    }
}

#[track_caller]
fn check(fail_at: &str, want: TripResult, want_log: &[&str]) {
    let (test, log) = setup();
    let run = test.run::<BookTrip>(trip(fail_at, 0));
    assert_eq!(
        run.result.unwrap(),
        TripResult {
            trip_id: "t".to_owned(),
            ..want
        }
    );
    assert_eq!(*log.borrow(), want_log);
    run.history.replay().unwrap();
}

#[test]
fn all_parts_are_booked() {
    let want = TripResult {
        booked: Part::ALL.to_vec(),
        ..TripResult::default()
    };
    check("", want, &["book flight", "book hotel", "book car"]);
}

#[test]
fn what_was_booked_is_given_back() {
    let want = TripResult {
        status: Status::Compensated,
        compensated: vec![Part::Hotel, Part::Flight],
        reason: "CR-3001: there is no car left".to_owned(),
        ..TripResult::default()
    };
    check(
        "car",
        want,
        &[
            "book flight",
            "book hotel",
            "give_back hotel",
            "give_back flight",
        ],
    );
}

#[test]
fn what_was_not_booked_is_not_given_back() {
    let want = TripResult {
        status: Status::Compensated,
        reason: "CR-3001: there is no flight left".to_owned(),
        ..TripResult::default()
    };
    check("flight", want, &[]);
}

#[test]
fn an_interrupt_gives_everything_back() {
    let (test, log) = setup();
    let test = test.interrupt_after(Duration::from_millis(1500), "staying at home");
    let run = test.run::<BookTrip>(trip("", 1000));
    assert!(run.result.unwrap_err().is_interrupted());
    assert_eq!(
        *log.borrow(),
        [
            "book flight",
            "book hotel",
            "give_back hotel",
            "give_back flight"
        ]
    );
    run.history.replay().unwrap();
}

#[test]
fn an_interrupt_during_a_booking_gives_it_back_too() {
    let (test, log) = setup();
    let test = test
        .takes("Trip.Book", Duration::from_secs(60))
        .interrupt_after(Duration::from_secs(90), "");
    let run = test.run::<BookTrip>(trip("", 0));
    assert!(run.result.unwrap_err().is_interrupted());
    assert!(
        log.borrow()
            .ends_with(&["give_back hotel".to_owned(), "give_back flight".to_owned()])
    );
    run.history.replay().unwrap();
}
