//! The transfer.

use cruster::prelude::*;

use crate::account::Account;

/// The request of [`Transfer`].
#[derive(Clone, Debug, Serialize, Deserialize, Schema)]
pub struct TransferRequest {
    pub transfer_id: String,
    pub from: String,
    pub to: String,
    pub cents: i64,
}

/// The result of [`Transfer`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct Receipt {
    /// Whether there was enough to move.
    pub moved: bool,
    /// The balances of the accounts then.
    pub from: i64,
    pub to: i64,
}

/// Moves money from one account to another, once per transfer.
#[workflow]
pub struct Transfer;

#[workflow_impl(key = |r: &TransferRequest| r.transfer_id.clone(), hash = false)]
impl Transfer {
    async fn execute(&self, request: TransferRequest) -> Result<Receipt> {
        if request.cents <= 0 || request.from == request.to {
            cruster::bail!(
                "invalid_transfer",
                "a transfer moves a positive amount from one account to another"
            );
        }
        let accounts = (
            Account::id(request.from.as_str()),
            Account::id(request.to.as_str()),
        );
        let section = self.lock(accounts).await?;
        let receipt = self.carry_out(&request).await?; // an error releases both
        section.release().await?;
        Ok(receipt)
    }

    /// Runs while both accounts are locked: the balances that it read stay true until it is done.
    async fn carry_out(&self, request: &TransferRequest) -> Result<Receipt> {
        let from = Account::client(self, request.from.as_str());
        let to = Account::client(self, request.to.as_str());
        let balance = from.balance().await?;
        if balance < request.cents {
            return Ok(Receipt {
                moved: false,
                from: balance,
                to: to.balance().await?,
            });
        }
        Ok(Receipt {
            moved: true,
            from: from.deposit(-request.cents).await?,
            to: to.deposit(request.cents).await?,
        })
    }
}
