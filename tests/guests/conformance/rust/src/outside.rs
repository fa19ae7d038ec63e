//! Activities with effects: SQL, HTTP, configuration.

use cruster::prelude::*;
use cruster::{Value, join_all};

use crate::{MILLISECOND, Seen, list, seen};

pub const COUNTERS: Migration = Migration::new(
    1,
    "counters",
    "
CREATE TABLE counters (
	name TEXT PRIMARY KEY,
	n    BIGINT NOT NULL CHECK (n < 1000)
)",
);

pub const KINDS_SQLITE: Migration = Migration::new(
    2,
    "kinds",
    "
CREATE TABLE kinds (name TEXT PRIMARY KEY, b BOOLEAN, i BIGINT, f DOUBLE PRECISION, s TEXT, y BLOB, t TIMESTAMP, n TEXT)",
)
.sqlite();

pub const KINDS_POSTGRES: Migration = Migration::new(
    2,
    "kinds",
    "
CREATE TABLE kinds (name TEXT PRIMARY KEY, b BOOLEAN, i BIGINT, f DOUBLE PRECISION, s TEXT, y BYTEA, t TIMESTAMPTZ, n TEXT)",
)
.postgres();

/// Adds to a counter in SQL, and then does as it is told.
#[derive(Clone, Serialize, Deserialize, Schema)]
pub struct CountRequest {
    name: String,
    /// The act of the activity after its statement: nothing, "fail", "fail once", "panic once",
    /// "handle an error", "commit", "http", "roll back", "begin again".
    #[serde(default, skip_serializing_if = "String::is_empty")]
    then: String,
}

/// Counts in SQL, twice with the same arguments.
#[workflow]
pub struct Count;

#[workflow_impl(activity_groups(Counters))]
impl Count {
    async fn execute(&self, request: CountRequest) -> Result<Vec<Seen>> {
        let count = || {
            self.count(request.clone())
                .retries(3)
                .backoff(Backoff::constant(MILLISECOND))
        };
        let first = seen(count().await);
        let second = seen(count().await);
        Ok(vec![
            first,
            second,
            seen(self.read_count(request.name).await),
        ])
    }
}

/// Counts in steps that have explicit keys.
#[workflow]
pub struct CountKeyed;

#[workflow_impl(activity_groups(Counters))]
impl CountKeyed {
    async fn execute(&self, request: CountRequest) -> Result<Vec<i64>> {
        let a = self.count(request.clone()).key("a").await?;
        let b = self.count(request).key("b").await?;
        Ok(vec![a, b])
    }
}

#[derive(Serialize, Deserialize, Schema)]
#[serde(rename_all = "PascalCase")]
pub struct CountManyRequest {
    name: String,
    n: i64,
}

/// Counts in parallel: the transactions collide, and each counts once.
#[workflow]
pub struct CountMany;

#[workflow_impl(activity_groups(Counters))]
impl CountMany {
    async fn execute(&self, request: CountManyRequest) -> Result<i64> {
        let one = || {
            let request = CountRequest {
                name: request.name.clone(),
                then: String::new(),
            };
            self.count(request)
                .retries(50)
                .backoff(Backoff::constant(MILLISECOND))
        };
        join_all((0..request.n).map(|_| one())).await?;
        self.read_count(request.name).await
    }
}

const COUNT_UP: &str = "INSERT INTO counters (name, n) VALUES ($1, 1) ON CONFLICT (name) DO UPDATE SET n = counters.n + 1";

#[activity_group]
pub struct Counters;

#[activity_group_impl]
impl Counters {
    #[activity(name = "count")]
    async fn count(&self, request: CountRequest) -> Result<i64> {
        let CountRequest { name, then } = request;
        let tx = self.transaction();
        tx.execute(COUNT_UP, (&name,))?;
        match (then.as_str(), self.attempt()) {
            ("fail", attempt) | ("fail once", attempt @ 1) => {
                cruster::bail!("after_sql", "attempt {attempt} failed after its statement")
            }
            ("panic once", 1) => panic!("after the statement"),
            ("handle an error", _) => {
                let too_many = format!("{name}-too-many");
                if tx
                    .execute(
                        "INSERT INTO counters (name, n) VALUES ($1, 5000)",
                        (&too_many,),
                    )
                    .is_ok()
                {
                    return Err(Error::message_only("the check did not hold").non_retryable());
                }
            }
            ("roll back", _) => {
                tx.rollback()?;
                return Ok(0);
            }
            ("begin again", _) => {
                tx.rollback()?;
                for _ in 0..2 {
                    tx.execute(COUNT_UP, (&name,))?;
                }
            }
            ("read two rows", _) => {
                let two = "SELECT n FROM counters WHERE name = $1 UNION ALL SELECT 0";
                return tx.query_one(two, (&name,));
            }
            ("commit", _) => drop(tx.execute("COMMIT", ())?),
            ("http", _) => drop(self.http().get("http://127.0.0.1:1/").send()?),
            _ => {}
        }
        tx.query_one("SELECT n FROM counters WHERE name = $1", (&name,))
    }

    #[activity(name = "readCount")]
    async fn read_count(&self, name: String) -> Result<i64> {
        let n = self
            .transaction()
            .query_optional("SELECT n FROM counters WHERE name = $1", (&name,))?;
        Ok(n.unwrap_or(0))
    }
}

/// A row with a column of every kind.
#[derive(Serialize, Deserialize, Schema)]
pub struct Kinds {
    b: bool,
    f: f64,
    i: i64,
    n: Option<String>,
    s: String,
    t: Timestamp,
    y: Bytes,
}

/// Writes a row of all kinds and reads it back.
#[workflow]
pub struct SqlKinds;

#[workflow_impl(name = "SQLKinds")]
impl SqlKinds {
    async fn execute(&self, row: Kinds) -> Result<Vec<Kinds>> {
        self.kinds(row).await
    }

    #[activity]
    async fn kinds(&self, k: Kinds) -> Result<Vec<Kinds>> {
        let tx = self.transaction();
        tx.execute("DELETE FROM kinds", ())?;
        tx.execute(
            "INSERT INTO kinds (name, b, i, f, s, y, t, n) VALUES ('row', $1, $2, $3, $4, $5, $6, $7)",
            (k.b, k.i, k.f, k.s, k.y, k.t, Value::Nil),
        )?;
        tx.query(
            "SELECT b, i, f, s, y, t, n FROM kinds WHERE name = $1 AND n IS NULL",
            ("row",),
        )
    }
}

/// Tries statements that the database refuses; each is handled in the activity.
#[workflow]
pub struct SqlWrong;

#[workflow_impl(name = "SQLWrong")]
impl SqlWrong {
    async fn execute(&self, statements: Vec<String>) -> Result<Vec<String>> {
        let mut out = Vec::new();
        for statement in statements {
            out.push(self.try_statement(statement).await?);
        }
        Ok(out)
    }

    #[activity(name = "tryStatement")]
    async fn try_statement(&self, statement: String) -> Result<String> {
        let refused = self.transaction().execute(&statement, ()).err();
        Ok(refused.map(|e| e.code().to_owned()).unwrap_or_default())
    }
}

/// Makes an HTTP call.
#[workflow]
pub struct Fetch;

#[workflow_impl]
impl Fetch {
    async fn execute(&self, url: String) -> Result<Seen> {
        Ok(seen(self.fetch(url).await))
    }

    #[activity]
    async fn fetch(&self, url: String) -> Result<String> {
        let request = self
            .http()
            .post(url)
            .body("ping")
            .header("X-Key", self.idempotency_key());
        let answer = request
            .send()
            .map_err(Error::non_retryable)?
            .error_for_status()?;
        Ok(format!(
            "{} {}",
            answer.header("X-Answer").unwrap_or_default(),
            answer.text()?
        ))
    }
}

/// Makes HTTP calls at the same time.
#[workflow]
pub struct FetchAll;

#[workflow_impl]
impl FetchAll {
    async fn execute(&self, urls: Vec<String>) -> Result<Seen> {
        Ok(seen(self.fetch_all(urls).await.map(list)))
    }

    #[activity(name = "fetchAll")]
    async fn fetch_all(&self, urls: Vec<String>) -> Result<Vec<String>> {
        let http = self.http();
        let key = self.idempotency_key();
        let requests = urls
            .into_iter()
            .map(|url| http.put(url).header("X-Key", key));
        let answers = http.send_all(requests).map_err(Error::non_retryable)?;
        answers
            .into_iter()
            .map(|answer| match answer {
                Ok(a) => Ok(format!(
                    "{} {}",
                    a.header("X-Answer").unwrap_or_default(),
                    a.text()?
                )),
                Err(e) => Ok(e.code().to_owned()),
            })
            .collect()
    }
}

/// Reads the configuration.
#[workflow]
pub struct Settings;

#[workflow_impl]
impl Settings {
    async fn execute(&self, names: Vec<String>) -> Result<Vec<Value>> {
        self.settings(names).await
    }

    #[activity]
    async fn settings(&self, names: Vec<String>) -> Result<Vec<Value>> {
        let read = |name: String| {
            let value = self.config(&name);
            list([
                Value::from(value.is_some()),
                value.unwrap_or_default().into(),
            ])
        };
        Ok(names.into_iter().map(read).collect())
    }
}
