//! Keeps [accounts](Account) as entities, and [moves](Transfer) money between them in critical
//! sections: while a transfer looks at a balance and changes two accounts, no other call of
//! them runs, and none sees one of the two changed alone.

mod account;
mod transfer;

pub use account::Account;
pub use transfer::{Receipt, Transfer, TransferRequest};

cruster::module! {
    workflows: [Transfer],
    entities: [Account],
}
