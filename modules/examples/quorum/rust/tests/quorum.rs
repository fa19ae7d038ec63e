//! Runs the decision without a host, in virtual time: days of waiting take no time at all.

use std::cell::RefCell;
use std::rc::Rc;

use cruster::prelude::*;
use cruster::testing::{Rows, Test};
use cruster::{Value, err};
use quorum_rust::{Decide, Decision, MODULE, QuorumRequest, QuorumResult, VOTES, Vote};

const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The letters that were written, without the proposal.
type Letters = Rc<RefCell<Vec<String>>>;

fn setup() -> (Test, Letters) {
    let letters = Letters::default();
    let table = letters.clone();
    let test = Test::new(&MODULE).sql(move |_: &str, params: &[Value]| {
        table.borrow_mut().push(match params {
            [_, Value::String(name), Value::Int(number)] => format!("reminder {name} {number}"),
            [_, Value::String(decision)] => format!("{decision} all"),
            _ => panic!("{params:?} is not a letter"),
        });
        Ok(Rows::affected(1))
    });
    (test, letters)
}

fn request() -> QuorumRequest {
    QuorumRequest {
        proposal: "p".to_owned(),
        approvers: ["ada", "bob", "eve"].map(str::to_owned).into(),
        deadline_ms: 3 * DAY.as_millis() as i64,
        ..QuorumRequest::default()
    }
}

fn vote(test: Test, after: Duration, name: &str, agrees: bool) -> Test {
    let remark = String::new();
    test.resolve_after(after, VOTES.named(name), Vote { agrees, remark })
}

fn result(decision: Decision, agree: &[&str], against: &[&str]) -> QuorumResult {
    let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect();
    QuorumResult {
        decision,
        r#for: names(agree),
        against: names(against),
    }
}

#[track_caller]
fn check(
    votes: impl FnOnce(Test) -> Test,
    want: &QuorumResult,
    want_letters: &[&str],
    after: Duration,
) {
    let (test, letters) = setup();
    let run = votes(test).run::<Decide>(request());
    assert_eq!(run.result.unwrap(), *want);
    assert_eq!(*letters.borrow(), want_letters);
    assert_eq!(run.history.duration(), after);
    run.history.replay().unwrap();
}

#[test]
fn accepted() {
    check(
        |test| vote(vote(test, HOUR, "ada", true), 30 * HOUR, "eve", true),
        &result(Decision::Accepted, &["ada", "eve"], &[]),
        &["reminder bob 1", "reminder eve 1", "accepted all"],
        30 * HOUR,
    );
}

#[test]
fn rejected() {
    check(
        |test| {
            let test = vote(test, Duration::ZERO, "ada", true);
            vote(vote(test, HOUR, "bob", false), 2 * HOUR, "eve", false)
        },
        &result(Decision::Rejected, &["ada"], &["bob", "eve"]),
        &["rejected all"],
        2 * HOUR,
    );
}

#[test]
fn expired() {
    check(
        |test| vote(vote(test, HOUR, "ada", true), HOUR, "eve", false),
        &result(Decision::Expired, &["ada"], &["eve"]),
        &["reminder bob 1", "reminder bob 2", "expired all"],
        3 * DAY,
    );
}

/// One whose vote is called off has none, and is not reminded.
#[test]
fn votes_can_be_called_off() {
    check(
        |test| {
            ["ada", "bob", "eve"].iter().fold(test, |test, name| {
                test.reject_after(HOUR, VOTES.named(name), err!("", "on leave"))
            })
        },
        &result(Decision::Expired, &[], &[]),
        &["expired all"],
        3 * DAY,
    );
}

#[test]
fn more_than_there_are_can_never_agree() {
    for (approvers, needed) in [(vec!["ada".to_owned()], 2), (vec![], 0)] {
        let run = Test::new(&MODULE).run::<Decide>(QuorumRequest {
            approvers,
            needed,
            ..request()
        });
        assert_eq!(run.result.unwrap_err().error_type(), "invalid_request");
        assert!(run.history.steps().is_empty());
    }
}

#[test]
fn an_interrupt_ends_it() {
    let (test, letters) = setup();
    let run = test
        .interrupt_after(25 * HOUR, "withdrawn")
        .run::<Decide>(request());
    assert!(run.result.unwrap_err().is_interrupted());
    assert_eq!(letters.borrow().len(), 3);
    run.history.replay().unwrap();
}
