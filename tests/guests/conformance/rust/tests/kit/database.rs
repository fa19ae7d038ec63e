//! A database that knows the tables and the statements of the module, and no others.

use std::collections::BTreeMap;

use cruster::testing::{Database, Rows};
use cruster::{Error, Result, Value};

#[derive(Default, Clone)]
struct Tables {
    counters: BTreeMap<String, i64>,
    kinds: Vec<Vec<Value>>,
}

#[derive(Default)]
pub struct Tiny {
    tables: Tables,
    /// The tables as they were when the transaction began.
    before: Tables,
}

impl Tiny {
    fn count(&mut self, name: &Value, n: i64) -> Result<u64> {
        if n >= 1000 {
            return Err(Error::message_only("CHECK constraint failed: n < 1000"));
        }
        self.tables.counters.insert(text(name), n);
        Ok(1)
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(s) => s.clone(),
        other => panic!("{other:?} is not the name of a counter"),
    }
}

impl Database for Tiny {
    fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64> {
        match sql {
            "SELECT 1" => Ok(0),
            "DELETE FROM kinds" => Ok(self.tables.kinds.drain(..).count() as u64),
            "INSERT INTO counters (name, n) VALUES ('x', 1000)" => self.count(&"x".into(), 1000),
            "INSERT INTO counters (name, n) VALUES ($1, 5000)" => self.count(&params[0], 5000),
            _ if sql.starts_with("INSERT INTO counters (name, n) VALUES ($1, 1) ON CONFLICT") => {
                let n = self.tables.counters.get(&text(&params[0])).unwrap_or(&0) + 1;
                self.count(&params[0], n)
            }
            _ if sql.starts_with("INSERT INTO kinds ") => {
                self.tables.kinds.push(params.to_vec());
                Ok(1)
            }
            _ => Err(Error::message_only(format!("no such table: {sql}"))),
        }
    }

    fn query(&mut self, sql: &str, params: &[Value]) -> Result<Rows> {
        match sql {
            "SELECT n FROM counters WHERE name = $1" => {
                let found = self.tables.counters.get(&text(&params[0]));
                Ok(found
                    .iter()
                    .fold(Rows::new(["n"]), |rows, n| rows.row((**n,))))
            }
            "SELECT n FROM counters WHERE name = $1 UNION ALL SELECT 0" => {
                let n = self.tables.counters[&text(&params[0])];
                Ok(Rows::new(["n"]).row((n,)).row((0,)))
            }
            _ if sql.starts_with("SELECT b, i, f, s, y, t, n FROM kinds ") => {
                let rows = Rows::new(["b", "i", "f", "s", "y", "t", "n"]);
                let kinds = self.tables.kinds.iter();
                Ok(kinds.fold(rows, |rows, kind| rows.row(kind.clone())))
            }
            _ => Err(Error::message_only(format!("no such table: {sql}"))),
        }
    }

    fn begin(&mut self) -> Result<()> {
        self.before = self.tables.clone();
        Ok(())
    }

    fn rollback(&mut self) {
        self.tables = self.before.clone();
    }
}
