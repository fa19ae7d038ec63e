//! Runs the workflow without a host, with real and with stubbed steps.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use cruster::testing::{Rows, Test};
use cruster::{Value, err};
use fanout_rust::{FanOut, FanOutRequest, FanOutResult, MODULE, Step};

fn request(n: i64) -> FanOutRequest {
    FanOutRequest {
        run: "a".to_owned(),
        n,
        ..FanOutRequest::default()
    }
}

#[test]
fn each_step_takes_effect_once() {
    let effects = Rc::new(RefCell::new(BTreeMap::new()));
    let seen = effects.clone();
    let database = move |_: &str, params: &[Value]| {
        *seen
            .borrow_mut()
            .entry(format!("{:?}", params[1]))
            .or_insert(0) += 1;
        Ok(Rows::affected(1))
    };
    let request = FanOutRequest {
        record: true,
        ..request(0)
    };
    let run = Test::new(&MODULE).sql(database).run::<FanOut>(request);
    assert_eq!(
        run.result.unwrap(),
        FanOutResult {
            n: 100,
            sum: 338_350
        }
    );
    assert_eq!(run.history.steps().len(), 100);
    run.history.replay().unwrap();
    assert_eq!(effects.borrow().len(), 100);
    assert!(effects.borrow().values().all(|times| *times == 1));
}

/// Every third step fails at first; one never works.
fn with_failures(broken: i64) -> Test {
    Test::new(&MODULE).stub("square", move |activity, step: Step| {
        if step.number == broken || step.number % 3 == 0 && activity.attempt() == 1 {
            return Err(err!("busy", "not now"));
        }
        Ok(step.number * step.number)
    })
}

#[test]
fn failures_are_retried() {
    let run = with_failures(0).run::<FanOut>(request(10));
    assert_eq!(run.result.unwrap().sum, 385);
    let error = with_failures(7)
        .run::<FanOut>(request(10))
        .result
        .unwrap_err();
    assert_eq!(error.error_type(), "busy");
}

#[test]
fn there_are_limits() {
    for n in [-1, 5001] {
        let run = Test::new(&MODULE).run::<FanOut>(request(n));
        assert_eq!(run.result.unwrap_err().error_type(), "invalid_request");
        assert!(run.history.steps().is_empty());
    }
}
