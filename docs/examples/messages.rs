//! Sends signals, asks queries and calls entities; docs/signals-and-queries.md and
//! docs/entities.md quote it. messages/messages.go says the same in Go.

#![allow(dead_code, unused_variables)] // it is only read

use std::cell::Cell;
use std::rc::Rc;

use cruster::prelude::*;

// Signals and a query.

#[derive(Serialize, Deserialize, Schema, Signal)]
pub struct Paid {
    pub cents: i64,
}

#[derive(Serialize, Deserialize, Schema, Query)]
#[query(answer = i64)]
pub struct Left;

#[workflow]
pub struct Invoice;

#[workflow_impl(signals(Paid), queries(Left))]
impl Invoice {
    async fn execute(&self, cents: i64) -> Result<i64> {
        let left = Rc::new(Cell::new(cents));
        let seen = left.clone();
        self.answer(move |_: Left| seen.get());
        while left.get() > 0 {
            let paid: Paid = self.receive().await?;
            left.set(left.get() - paid.cents);
        }
        Ok(left.get())
    }
}

#[workflow]
pub struct Patient;

#[workflow_impl(signals(Paid))]
impl Patient {
    async fn execute(&self, _: ()) -> Result<i64> {
        let month = Duration::from_secs(30 * 24 * 60 * 60);
        match self.timeout(month, self.receive::<Paid>()).await {
            Ok(paid) => Ok(paid.cents),
            Err(e) if e.is_timeout() => Ok(0), // no one has paid
            Err(e) => Err(e),
        }
    }
}

#[workflow]
pub struct Payer;

#[workflow_impl]
impl Payer {
    async fn execute(&self, cents: i64) -> Result<i64> {
        let execution = Invoice::client(self).start(cents).await?;
        self.signal(&execution, Paid { cents }).await?;
        Invoice::client(self).execute(cents).await
    }
}

// An entity with a state, whose shape has changed once.

#[stateful_entity(migrate(in_cents))]
#[derive(Clone, Default, Serialize, Deserialize, Schema)]
pub struct Account {
    cents: i64,
    opened: Option<Timestamp>,
}

#[derive(Deserialize)]
struct AccountInEuros {
    euros: i64,
    opened: Option<Timestamp>,
}

fn in_cents(old: AccountInEuros) -> Account {
    Account {
        cents: 100 * old.euros,
        opened: old.opened,
    }
}

#[operations]
impl Account {
    fn on_create(&mut self, cx: &EntityContext) {
        self.opened = Some(cx.now());
    }

    fn deposit(&mut self, cents: i64) -> Result<i64> {
        self.cents += cents;
        if self.cents < 0 {
            cruster::bail!("too_poor", "{} cents are missing", -self.cents);
        }
        Ok(self.cents)
    }

    #[read_only]
    fn balance(&self) -> i64 {
        self.cents
    }

    fn give(&mut self, cx: &EntityContext, to: String, cents: i64) -> Result<i64> {
        if cents > self.cents {
            cruster::bail!("too_poor", "{} has only {} cents", cx.id(), self.cents);
        }
        self.cents -= cents;
        Account::client(cx, to).deposit(cents).send()?;
        Ok(self.cents)
    }

    fn close(&mut self, cx: &EntityContext) -> Result<i64> {
        cx.destroy()?;
        Ok(self.cents)
    }
}

// A workflow that calls entities.

#[derive(Serialize, Deserialize, Schema)]
pub struct TransferRequest {
    from: String,
    to: String,
    cents: i64,
}

#[workflow]
pub struct Transfer;

#[workflow_impl]
impl Transfer {
    async fn execute(&self, t: TransferRequest) -> Result<i64> {
        let left = Account::client(self, t.from).deposit(-t.cents).await?;
        Account::client(self, t.to).deposit(t.cents).send().await?;
        Ok(left)
    }
}

// An entity without a state.

#[derive(Serialize, Deserialize, Schema)]
pub struct User {
    pub id: String,
    pub name: String,
}

#[entity(mailbox_capacity = 50, concurrency = 4, max_idle_time_secs = 120)]
pub struct Gateway;

#[entity_impl]
impl Gateway {
    #[rpc]
    async fn profile(&self, id: String) -> Result<User> {
        self.transaction()
            .query_one("SELECT id, name FROM users WHERE id = $1", (&id,))
    }

    #[rpc(persisted)]
    async fn rename(&self, user: User) -> Result<bool> {
        let changed = self.transaction().execute(
            "UPDATE users SET name = $2 WHERE id = $1",
            (&user.id, &user.name),
        )?;
        Ok(changed == 1)
    }
}

cruster::module! {
    workflows: [Invoice, Patient, Payer, Transfer],
    entities: [Account, Gateway],
}

fn main() {}

#[cfg(test)]
mod tests {
    use super::*;
    use cruster::testing::Test;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    #[test]
    fn an_invoice_is_paid_in_two_parts() {
        let run = Test::new(&MODULE)
            .signal(Paid { cents: 200 })
            .signal_after(2 * DAY, Paid { cents: 300 })
            .query_after(DAY, Left, |left| assert_eq!(left.unwrap(), 300))
            .run::<Invoice>(500);
        assert_eq!(run.result.unwrap(), 0);
        assert_eq!(run.history.duration(), 2 * DAY);
    }

    #[test]
    fn no_one_pays() {
        let run = Test::new(&MODULE)
            .signal_after(31 * DAY, Paid { cents: 500 })
            .run::<Patient>(());
        assert_eq!(run.result.unwrap(), 0);
    }

    #[test]
    fn a_workflow_pays() {
        let run = Test::new(&MODULE).run::<Payer>(500);
        assert_eq!(run.result.unwrap(), 0);
    }

    #[test]
    fn accounts() {
        let bank = Test::new(&MODULE).entities();
        let ada = Account::client(&bank, "ada");
        assert_eq!(ada.deposit(500).call().unwrap(), 500);
        assert_eq!(ada.give("bob".into(), 200).call().unwrap(), 300);
        bank.settle();
        assert_eq!(bank.state::<Account>("bob").unwrap().cents, 200);

        let error = ada.give("bob".into(), 900).call().unwrap_err();
        assert_eq!(error.error_type(), "too_poor");
        ada.close().call().unwrap();
        assert_eq!(bank.ids::<Account>(), ["bob"]);
    }

    #[test]
    fn a_transfer() {
        let rich = Account {
            cents: 500,
            opened: None,
        };
        let transfer = TransferRequest {
            from: "ada".into(),
            to: "bob".into(),
            cents: 200,
        };
        let run = Test::new(&MODULE)
            .entity("ada", &rich)
            .run::<Transfer>(transfer);
        assert_eq!(run.result.unwrap(), 300);
        assert_eq!(run.entities.state::<Account>("bob").unwrap().cents, 200);
    }
}
