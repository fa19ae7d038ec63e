//! The account.

use cruster::prelude::*;

/// An account, whose owner is its id.
#[stateful_entity]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct Account {
    pub cents: i64,
}

#[operations]
impl Account {
    /// Adds to the account, or takes from it, and returns the balance then.
    pub fn deposit(&mut self, cents: i64) -> Result<i64> {
        if self.cents + cents < 0 {
            cruster::bail!("insufficient_funds", "the account holds {}", self.cents);
        }
        self.cents += cents;
        Ok(self.cents)
    }

    /// The balance of the account. It writes nothing.
    #[read_only]
    pub fn balance(&self) -> i64 {
        self.cents
    }
}
