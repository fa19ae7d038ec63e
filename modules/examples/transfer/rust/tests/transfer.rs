//! Runs the workflows without a host, on a bank of a few lines.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use cruster::Value;
use cruster::prelude::*;
use cruster::testing::{Database, Rows, Test};
use transfer_rust::{
    Account, MODULE, Missing, OpenAccount, Transfer, TransferRequest, TransferResult,
};

/// The changes of a transaction, and the values before.
#[derive(Clone, Default)]
struct Bank {
    state: Rc<RefCell<State>>,
    before: State,
}

#[derive(Clone, Default)]
struct State {
    accounts: BTreeMap<String, i64>,
    ledger: Vec<String>,
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => panic!("{other:?} is no text"),
    }
}

fn number(value: &Value) -> i64 {
    match value {
        Value::Int(number) => *number,
        other => panic!("{other:?} is no number"),
    }
}

impl Database for Bank {
    fn begin(&mut self) -> Result<()> {
        self.before = self.state.borrow().clone();
        Ok(())
    }

    fn rollback(&mut self) {
        self.state.replace(self.before.clone());
    }

    fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64> {
        let mut state = self.state.borrow_mut();
        let changed = match sql.split(' ').take(3).collect::<Vec<_>>()[..] {
            ["INSERT", "INTO", "accounts"] => {
                let taken = state.accounts.contains_key(&text(&params[0]));
                if !taken {
                    state.accounts.insert(text(&params[0]), number(&params[1]));
                }
                !taken
            }
            ["UPDATE", "accounts", "SET"] => match state.accounts.get_mut(&text(&params[1])) {
                Some(balance) => {
                    *balance += number(&params[0]);
                    true
                }
                None => false,
            },
            ["INSERT", "INTO", "ledger"] => {
                state.ledger.push(text(&params[0]));
                true
            }
            _ => panic!("the bank knows no {sql}"),
        };
        Ok(changed.into())
    }

    fn query(&mut self, _: &str, params: &[Value]) -> Result<Rows> {
        let rows = Rows::new(["balance_cents"]);
        Ok(match self.state.borrow().accounts.get(&text(&params[0])) {
            Some(balance) => rows.row((*balance,)),
            None => rows,
        })
    }
}

fn account(name: &str, balance_cents: i64) -> Account {
    Account {
        account: name.to_owned(),
        balance_cents,
    }
}

fn transfer(id: &str, from: &str, to: &str, amount_cents: i64) -> TransferRequest {
    TransferRequest {
        transfer_id: id.to_owned(),
        from: from.to_owned(),
        to: to.to_owned(),
        amount_cents,
    }
}

fn setup() -> Bank {
    let bank = Bank::default();
    for account in [account("ada", 1000), account("bob", 50)] {
        let run = Test::new(&MODULE)
            .sql(bank.clone())
            .run::<OpenAccount>(account.clone());
        assert_eq!(run.result.unwrap(), account);
    }
    bank
}

#[test]
fn money_moves() {
    let bank = setup();
    for (request, from_balance_cents, to_balance_cents) in [
        (transfer("t1", "ada", "bob", 300), 700, 350),
        (transfer("t2", "bob", "ada", 350), 0, 1050),
    ] {
        let transfer_id = request.transfer_id.clone();
        let run = Test::new(&MODULE)
            .sql(bank.clone())
            .run::<Transfer>(request);
        assert_eq!(
            run.result.unwrap(),
            TransferResult {
                transfer_id,
                from_balance_cents,
                to_balance_cents
            }
        );
        run.history.replay().unwrap();
    }
    assert_eq!(bank.state.borrow().ledger, ["t1", "t2"]);
}

#[test]
fn what_fails_moves_nothing() {
    let bank = setup();
    let run = Test::new(&MODULE)
        .sql(bank.clone())
        .run::<Transfer>(transfer("t1", "bob", "ada", 51));
    let error = run.result.unwrap_err();
    assert_eq!(error.error_type(), "insufficient_funds");
    assert_eq!(error.details(), Some(Missing { missing_cents: 1 }));
    assert_eq!(run.history.duration(), Duration::ZERO, "it is not retried");

    let run = Test::new(&MODULE)
        .sql(bank.clone())
        .run::<Transfer>(transfer("t2", "ada", "eve", 1));
    assert_eq!(run.result.unwrap_err().error_type(), "unknown_account");

    let run = Test::new(&MODULE)
        .sql(bank.clone())
        .run::<OpenAccount>(account("ada", 5));
    assert_eq!(run.result.unwrap_err().error_type(), "account_exists");

    let state = bank.state.borrow();
    assert_eq!(
        state.accounts,
        BTreeMap::from([("ada".to_owned(), 1000), ("bob".to_owned(), 50)])
    );
    assert!(state.ledger.is_empty());
}

#[test]
fn bad_requests_do_nothing() {
    for request in [
        transfer("t", "a", "b", 0),
        transfer("t", "a", "b", -5),
        transfer("t", "a", "a", 5),
    ] {
        let run = Test::new(&MODULE).run::<Transfer>(request);
        assert_eq!(run.result.unwrap_err().error_type(), "invalid_transfer");
        assert!(run.history.steps().is_empty());
    }
    let run = Test::new(&MODULE).run::<OpenAccount>(account("a", -1));
    assert_eq!(run.result.unwrap_err().error_type(), "invalid_account");
}
