//! Statements that are put together before they run.

use std::marker::PhantomData;

use serde::de::DeserializeOwned;

use crate::error::Result;
use crate::transaction::Transaction;
use crate::value::Value;

/// A statement, whose parameters are bound one after the other: `$1`, `$2`, ….
///
/// ```
/// # use cruster::prelude::*;
/// # #[workflow]
/// # pub struct Example;
/// # #[workflow_impl]
/// # impl Example {
/// # async fn execute(&self, id: String) -> Result<u64, Error> {
/// #     self.ship(id).await
/// # }
/// #[activity]
/// async fn ship(&self, id: String) -> Result<u64, Error> {
///     let tx = self.transaction();
///     cruster::query("UPDATE orders SET shipped = $1 WHERE id = $2").bind(self.now()).bind(id).execute(&tx)
/// }
/// # }
/// ```
///
/// [`Transaction::execute`] does the same with the parameters in a tuple.
pub fn query(sql: impl Into<String>) -> Statement {
    Statement {
        sql: sql.into(),
        params: Vec::new(),
    }
}

/// A query for rows that are a `T`, as for [`Transaction::query`]: a struct that is `Deserialize`,
/// a tuple, or a single value.
///
/// ```
/// # use cruster::prelude::*;
/// #[derive(Serialize, Deserialize, Schema)]
/// pub struct Order {
///     id: String,
///     cents: i64,
/// }
/// # #[workflow]
/// # pub struct Example;
/// # #[workflow_impl]
/// # impl Example {
/// # async fn execute(&self, limit: i64) -> Result<Vec<Order>, Error> {
/// #     self.dear(limit).await
/// # }
///
/// #[activity]
/// async fn dear(&self, limit: i64) -> Result<Vec<Order>, Error> {
///     cruster::query_as("SELECT id, cents FROM orders WHERE cents > $1").bind(limit).fetch_all(&self.transaction())
/// }
/// # }
/// ```
pub fn query_as<T: DeserializeOwned>(sql: impl Into<String>) -> RowStatement<T> {
    RowStatement {
        statement: query(sql),
        rows: PhantomData,
    }
}

/// A statement in the making; see [`query`].
#[derive(Debug, Clone)]
#[must_use = "a statement runs when it is executed"]
pub struct Statement {
    sql: String,
    params: Vec<Value>,
}

/// A query in the making; see [`query_as`].
#[derive(Debug, Clone)]
#[must_use = "a query runs when its rows are fetched"]
pub struct RowStatement<T> {
    statement: Statement,
    rows: PhantomData<fn() -> T>,
}

impl Statement {
    /// Binds the next parameter.
    pub fn bind(mut self, value: impl Into<Value>) -> Self {
        self.params.push(value.into());
        self
    }

    /// Runs the statement and returns how many rows it changed.
    pub fn execute(self, tx: &Transaction) -> Result<u64> {
        tx.execute(&self.sql, self.params)
    }
}

impl<T: DeserializeOwned> RowStatement<T> {
    /// Binds the next parameter.
    pub fn bind(mut self, value: impl Into<Value>) -> Self {
        self.statement = self.statement.bind(value);
        self
    }

    /// All rows.
    pub fn fetch_all(self, tx: &Transaction) -> Result<Vec<T>> {
        tx.query(&self.statement.sql, self.statement.params)
    }

    /// The row; an error if there is none, see [`Error::is_no_rows`](crate::Error::is_no_rows), or
    /// more than one.
    pub fn fetch_one(self, tx: &Transaction) -> Result<T> {
        tx.query_one(&self.statement.sql, self.statement.params)
    }

    /// The row, if there is one; an error if there is more than one.
    pub fn fetch_optional(self, tx: &Transaction) -> Result<Option<T>> {
        tx.query_optional(&self.statement.sql, self.statement.params)
    }
}
