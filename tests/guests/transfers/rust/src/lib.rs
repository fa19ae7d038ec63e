//! Moves money between accounts under locks, in a way that loses some as soon as two come in
//! between each other: it reads a balance, and writes the new one.

use cruster::prelude::*;

/// An account.
#[stateful_entity]
#[derive(Default, Serialize, Deserialize, Schema)]
pub struct Account {
    cents: i64,
}

#[operations]
impl Account {
    /// Writes the balance of the account, whatever it had.
    fn put(&mut self, cents: i64) -> i64 {
        self.cents = cents;
        cents
    }

    #[read_only]
    fn balance(&self) -> i64 {
        self.cents
    }
}

/// Asks for a transfer.
#[derive(Serialize, Deserialize, Schema)]
pub struct Request {
    cents: i64,
    from: String,
    /// Has the transfer end without releasing its section.
    leave: bool,
    to: String,
}

/// Moves money if there is enough, and says whether there was.
#[workflow]
pub struct Transfer;

#[workflow_impl]
impl Transfer {
    async fn execute(&self, request: Request) -> Result<bool> {
        let both = (
            Account::id(request.from.as_str()),
            Account::id(request.to.as_str()),
        );
        let section = self.lock(both).await?;
        let moved = self.carry_out(&request).await?;
        if request.leave {
            // Dropped it would be released after all.
            std::mem::forget(section);
        } else {
            section.release().await?;
        }
        Ok(moved)
    }

    async fn carry_out(&self, request: &Request) -> Result<bool> {
        let payer = Account::client(self, request.from.as_str());
        let payee = Account::client(self, request.to.as_str());
        let from = payer.balance().await?;
        if from < request.cents {
            return Ok(false);
        }
        let to = payee.balance().await?;
        payer.put(from - request.cents).await?;
        payee.put(to + request.cents).await?;
        Ok(true)
    }
}

cruster::module! {
    workflows: [Transfer],
    entities: [Account],
}
