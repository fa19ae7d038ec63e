//! Moves money between accounts: one activity, one SQL transaction, which
//! commits together with the step's journal entry. The money moves exactly once,
//! whatever crashes.

use cruster::Transaction;
use cruster::prelude::*;

/// An account and its balance: the request of [`OpenAccount`], and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Schema)]
pub struct Account {
    pub account: String,
    pub balance_cents: i64,
}

/// Opens an account with a first balance.
#[workflow]
pub struct OpenAccount;

#[workflow_impl(key = |account: &Account| account.account.clone(), hash = false)]
impl OpenAccount {
    async fn execute(&self, account: Account) -> Result<Account> {
        if account.account.is_empty() || account.balance_cents < 0 {
            cruster::bail!(
                "invalid_account",
                "an account needs a name and a balance of zero or more"
            );
        }
        self.open(account).await
    }

    /// Inserts an account.
    #[activity(retries = 3, backoff = "exponential", base = "100ms")]
    async fn open(&self, account: Account) -> Result<Account> {
        let opened = self.transaction().execute(
            "INSERT INTO accounts (account, balance_cents) VALUES ($1, $2) ON CONFLICT (account) DO NOTHING",
            (&account.account, account.balance_cents),
        )?;
        if opened == 0 {
            return Err(
                cruster::err!("account_exists", "account {} exists", account.account)
                    .non_retryable(),
            );
        }
        Ok(account)
    }
}

/// The request of [`Transfer`].
#[derive(Clone, Debug, Serialize, Deserialize, Schema)]
pub struct TransferRequest {
    pub transfer_id: String,
    pub from: String,
    pub to: String,
    pub amount_cents: i64,
}

/// The result of [`Transfer`]: the balances after it.
#[derive(Debug, PartialEq, Serialize, Deserialize, Schema)]
pub struct TransferResult {
    pub transfer_id: String,
    pub from_balance_cents: i64,
    pub to_balance_cents: i64,
}

/// The details of the error `insufficient_funds`.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Missing {
    pub missing_cents: i64,
}

/// Moves money from one account to another, once per transfer id.
#[workflow]
pub struct Transfer;

#[workflow_impl(key = |request: &TransferRequest| request.transfer_id.clone(), hash = false)]
impl Transfer {
    async fn execute(&self, request: TransferRequest) -> Result<TransferResult> {
        if request.transfer_id.is_empty() || request.amount_cents <= 0 || request.from == request.to
        {
            cruster::bail!(
                "invalid_transfer",
                "a transfer needs an id, two different accounts and an amount above zero"
            );
        }
        self.move_money(request).await
    }

    /// The transfer itself.
    #[activity(name = "move", retries = 5, backoff = "exponential", base = "100ms")]
    async fn move_money(&self, request: TransferRequest) -> Result<TransferResult> {
        let TransferRequest {
            transfer_id,
            from,
            to,
            amount_cents,
        } = request;
        let tx = self.transaction();
        let mut changes = [(&from, -amount_cents), (&to, amount_cents)];
        // Rows are locked in the order of their names, so that two transfers in
        // opposite directions do not wait for each other.
        changes.sort_by_key(|(account, _)| *account);
        for (account, delta) in changes {
            let changed = tx.execute(
                "UPDATE accounts SET balance_cents = balance_cents + $1 WHERE account = $2",
                (delta, account),
            )?;
            if changed == 0 {
                return Err(unknown_account(account));
            }
        }
        let from_balance_cents = balance(&tx, &from)?;
        if from_balance_cents < 0 {
            // The error rolls the transaction back: nothing has moved.
            let missing_cents = -from_balance_cents;
            return Err(cruster::err!(
                "insufficient_funds",
                "account {from} lacks {missing_cents} cents"
            )
            .with_details(&Missing { missing_cents })
            .non_retryable());
        }
        let to_balance_cents = balance(&tx, &to)?;
        tx.execute(
            "INSERT INTO ledger (transfer_id, from_account, to_account, amount_cents) VALUES ($1, $2, $3, $4)",
            (&transfer_id, &from, &to, amount_cents),
        )?;
        Ok(TransferResult {
            transfer_id,
            from_balance_cents,
            to_balance_cents,
        })
    }
}

fn balance(tx: &Transaction, account: &str) -> Result<i64> {
    tx.query_optional(
        "SELECT balance_cents FROM accounts WHERE account = $1",
        (account,),
    )?
    .ok_or_else(|| unknown_account(account))
}

fn unknown_account(account: &str) -> Error {
    cruster::err!("unknown_account", "there is no account {account}").non_retryable()
}

cruster::module! {
    workflows: [OpenAccount, Transfer],
    migrations: [
        Migration::new(1, "accounts", "
CREATE TABLE accounts (
	account       TEXT PRIMARY KEY,
	balance_cents BIGINT NOT NULL
)"),
        Migration::new(2, "ledger", "
CREATE TABLE ledger (
	transfer_id  TEXT NOT NULL,
	from_account TEXT NOT NULL,
	to_account   TEXT NOT NULL,
	amount_cents BIGINT NOT NULL
)"),
    ],
}
