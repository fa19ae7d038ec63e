//! SQL of activities.

use serde::de::DeserializeOwned;

use crate::attempt::Attempt;
use crate::error::{Error, Result};
use crate::host::{TX_EXEC, TX_QUERY, TX_ROLLBACK};
use crate::rows;
use crate::value::Value;
use crate::wire::{ExecReply, QueryReply, SQL, TxRollback, Wire};

/// The SQL transaction of an activity; see
/// [`ActivityContext::transaction`](crate::ActivityContext::transaction).
///
/// `$1`, `$2`, … stand for the parameters, on every database. Parameters are a
/// tuple, `()` for none, or a slice of [`Value`]s.
pub struct Transaction {
    attempt: Attempt,
}

impl Transaction {
    pub(crate) fn new(attempt: Attempt) -> Self {
        Transaction { attempt }
    }

    /// Runs a statement and returns how many rows it changed.
    pub fn execute(&self, sql: &str, params: impl Params) -> Result<u64> {
        let reply: ExecReply = self.attempt.perform(&TX_EXEC, &statement(sql, params))?;
        Ok(u64::try_from(reply.rows_affected).unwrap_or(0))
    }

    /// Undoes the statements so far. The activity goes on: it may return a result, make HTTP calls,
    /// or begin another transaction with the next statement. An activity that returns an error
    /// needs no rollback.
    pub fn rollback(&self) -> Result<()> {
        let _: Value = self.attempt.perform(&TX_ROLLBACK, &TxRollback {})?;
        Ok(())
    }

    /// Runs a query and returns its rows. `T` is one of:
    ///
    /// - a struct that is [`Deserialize`](serde::Deserialize): each column goes to
    ///   the field of that name; a field without a column is an error, unless it is an
    ///   [`Option`] or has `#[serde(default)]`
    /// - a tuple: each column goes to the element at its place
    /// - a single value, if there is one column
    /// - [`Value`], or a map or list of them: the row as it is
    ///
    /// NULL needs an [`Option`]. Databases return different types for the same column
    /// (SQLite has no booleans and no times); values are converted where that loses
    /// nothing.
    pub fn query<T: DeserializeOwned>(&self, sql: &str, params: impl Params) -> Result<Vec<T>> {
        let reply: QueryReply = self.attempt.perform(&TX_QUERY, &statement(sql, params))?;
        rows::decode(reply)
    }

    /// The row of a query; an error if there is none, see
    /// [`Error::is_no_rows`]. More than one row is an error too: add `LIMIT 1` to a query
    /// that is meant to find many.
    pub fn query_one<T: DeserializeOwned>(&self, sql: &str, params: impl Params) -> Result<T> {
        self.query_optional(sql, params)?.ok_or_else(Error::no_rows)
    }

    /// The row of a query, if there is one. More than one row is an error, as for
    /// [`query_one`](Transaction::query_one).
    pub fn query_optional<T: DeserializeOwned>(
        &self,
        sql: &str,
        params: impl Params,
    ) -> Result<Option<T>> {
        let mut rows = self.query(sql, params)?;
        if rows.len() > 1 {
            return Err(many_rows());
        }
        Ok(rows.pop())
    }
}

#[cold]
fn many_rows() -> Error {
    Error::message_only("the query found more than one row: narrow it, or add LIMIT 1")
}

fn statement(sql: &str, params: impl Params) -> SQL {
    SQL {
        args: Some(params.into_values().encode()),
        query: sql.to_owned(),
    }
}

/// The parameters of a statement: a tuple, `()`, or a slice of [`Value`]s.
///
/// ```
/// use cruster::{Params, Value};
///
/// let id = String::from("42");
/// assert_eq!((&id, 3, None::<bool>).into_values(), [Value::from("42"), Value::Int(3), Value::Nil]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a set of parameters",
    note = "give parameters as a tuple: (&id, 3), (&id,) for one, () for none, or as a slice of cruster::Value"
)]
pub trait Params {
    /// The parameters in order.
    fn into_values(self) -> Vec<Value>;
}

impl Params for () {
    fn into_values(self) -> Vec<Value> {
        Vec::new()
    }
}

impl Params for Vec<Value> {
    fn into_values(self) -> Vec<Value> {
        self
    }
}

impl Params for &[Value] {
    fn into_values(self) -> Vec<Value> {
        self.to_vec()
    }
}

impl<const N: usize> Params for [Value; N] {
    fn into_values(self) -> Vec<Value> {
        self.into()
    }
}

macro_rules! params {
    ($($($name:ident)+;)*) => {
        $(impl<$($name: Into<Value>),+> Params for ($($name,)+) {
            #[allow(non_snake_case)] // types and values share their names
            fn into_values(self) -> Vec<Value> {
                let ($($name,)+) = self;
                vec![$($name.into()),+]
            }
        })*
    };
}

params! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
    A B C D E F G H I;
    A B C D E F G H I J;
    A B C D E F G H I J K;
    A B C D E F G H I J K L;
    A B C D E F G H I J K L M;
    A B C D E F G H I J K L M N;
    A B C D E F G H I J K L M N O;
    A B C D E F G H I J K L M N O P;
}
