//! Runs the workflow without a host, in virtual time: a day of waiting takes no
//! time at all.

use std::cell::RefCell;
use std::rc::Rc;

use approval_rust::{
    APPROVED, ApprovalRequest, ApprovalResult, Decision, MODULE, RequestApproval, Status,
};
use cruster::prelude::*;
use cruster::testing::{Rows, Test};
use cruster::{Value, err};

const HOUR: Duration = Duration::from_secs(60 * 60);

/// A test whose SQL is taken for granted, and the statements that it ran.
fn setup() -> (Test, Rc<RefCell<Vec<Vec<Value>>>>) {
    let closed = Rc::new(RefCell::new(Vec::new()));
    let seen = closed.clone();
    let test = Test::new(&MODULE).sql(move |sql: &str, params: &[Value]| {
        if sql.starts_with("UPDATE approvals") {
            seen.borrow_mut().push(params.to_vec());
        }
        Ok(Rows::affected(1))
    });
    (test, closed)
}

fn budget() -> ApprovalRequest {
    ApprovalRequest {
        document: "budget".to_owned(),
        ..ApprovalRequest::default()
    }
}

fn result(status: Status, by: &str, comment: &str) -> ApprovalResult {
    ApprovalResult {
        document: "budget".to_owned(),
        status,
        by: by.to_owned(),
        comment: comment.to_owned(),
    }
}

#[track_caller]
fn check(decide: impl FnOnce(Test) -> Test, want: &ApprovalResult, after: Duration) {
    let (test, closed) = setup();
    let run = decide(test).run::<RequestApproval>(budget());
    assert_eq!(run.result.unwrap(), *want);
    assert_eq!(run.history.duration(), after);
    run.history.replay().unwrap();
    let row = [
        want.status.as_str(),
        &want.by,
        &want.comment,
        &want.document,
    ]
    .map(Value::from);
    assert_eq!(*closed.borrow(), [row], "the outcome is written down once");
}

fn decision(approved: bool, comment: &str) -> Decision {
    Decision {
        approved,
        by: "ada".to_owned(),
        comment: comment.to_owned(),
    }
}

#[test]
fn approved() {
    let decide = |test: Test| test.resolve_after(HOUR, APPROVED, decision(true, ""));
    check(decide, &result(Status::Approved, "ada", ""), HOUR);
}

#[test]
fn declined() {
    let decide = |test: Test| test.resolve_after(HOUR, APPROVED, decision(false, "too much"));
    check(decide, &result(Status::Rejected, "ada", "too much"), HOUR);
}

#[test]
fn rejected() {
    let decide = |test: Test| test.reject_after(HOUR, APPROVED, err!("", "no such document"));
    check(
        decide,
        &result(Status::Rejected, "", "no such document"),
        HOUR,
    );
}

#[test]
fn too_late() {
    let decide = |test: Test| test.resolve_after(25 * HOUR, APPROVED, decision(true, ""));
    check(decide, &result(Status::TimedOut, "", ""), 24 * HOUR);
}

#[test]
fn withdrawn() {
    let (test, closed) = setup();
    let run = test
        .interrupt_after(HOUR, "withdrawn by its author")
        .run::<RequestApproval>(budget());
    let error = run.result.unwrap_err();
    assert!(error.is_interrupted());
    assert_eq!(closed.borrow()[0][0], Value::from("withdrawn"));
    run.history.replay().unwrap();
}
