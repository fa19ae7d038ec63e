//! The database of a test.

use crate::error::Result;
use crate::transaction::Params;
use crate::value::Value;

/// Answers the SQL of activities in a test: a database that the test opened, or a
/// closure.
///
/// The transaction of an attempt begins with its first statement, and is
/// committed if the attempt succeeds.
pub trait Database {
    /// Runs a statement and returns how many rows it changed.
    fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64>;
    /// Runs a query.
    fn query(&mut self, sql: &str, params: &[Value]) -> Result<Rows>;
    /// Begins the transaction of an attempt.
    fn begin(&mut self) -> Result<()> {
        Ok(())
    }
    /// The attempt succeeded.
    fn commit(&mut self) -> Result<()> {
        Ok(())
    }
    /// The attempt failed.
    fn rollback(&mut self) {}
}

/// The rows of a query.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rows {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<Value>>,
    pub(crate) affected: u64,
}

impl Rows {
    /// No rows of these columns; [`row`](Rows::row) adds some.
    pub fn new<'a>(columns: impl IntoIterator<Item = &'a str>) -> Self {
        Rows {
            columns: columns.into_iter().map(str::to_owned).collect(),
            ..Rows::default()
        }
    }

    /// Adds a row.
    ///
    /// # Panics
    ///
    /// If it has another number of values than there are columns.
    #[must_use]
    pub fn row(mut self, values: impl Params) -> Self {
        let values = values.into_values();
        assert_eq!(
            values.len(),
            self.columns.len(),
            "a row needs a value for each column"
        );
        self.rows.push(values);
        self
    }

    /// The answer to a statement that is not a query: how many rows it changed.
    pub fn affected(n: u64) -> Self {
        Rows {
            affected: n,
            ..Rows::default()
        }
    }
}

/// A closure answers statements and queries alike.
impl<F: FnMut(&str, &[Value]) -> Result<Rows>> Database for F {
    fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64> {
        self(sql, params).map(|answer| answer.affected)
    }

    fn query(&mut self, sql: &str, params: &[Value]) -> Result<Rows> {
        self(sql, params)
    }
}
