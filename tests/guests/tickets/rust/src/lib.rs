//! Numbers requests: updates whose handlers call an activity. A request that is handled twice has
//! two numbers, and an unanswered one none.

use std::cell::Cell;
use std::rc::Rc;

use cruster::prelude::*;

/// The input of a run.
#[derive(Clone, Serialize, Deserialize, Schema)]
pub struct Series {
    /// The number that was handed out last.
    last: i64,
    name: String,
    /// After how many requests the workflow goes on as a new run; 0 is never.
    renew: i64,
}

/// Asks for a number.
#[derive(Serialize, Deserialize, Schema, Update)]
#[update(answer = i64)]
pub struct Draw {
    id: String,
    /// Whether its activity uses SQL.
    sql: bool,
}

/// The number that was handed out last.
#[derive(Serialize, Deserialize, Schema, State)]
pub struct Last(i64);

/// Hands out numbers for ever.
#[workflow]
pub struct Tickets;

#[workflow_impl(key = |series: &Series| series.name.clone(), hash = false, updates(Draw), state(Last))]
impl Tickets {
    async fn execute(&self, series: Series) -> Result<i64> {
        let renew = series.renew;
        let begun = Rc::new(Cell::new(0));
        let answered = Rc::new(Cell::new(0));
        let last = Rc::new(Cell::new(series.last));

        let (this, counts) = (self.clone(), (begun, answered.clone(), last.clone()));
        self.on_update(move |draw: Draw| {
            let (this, (begun, answered, last)) = (this.clone(), counts.clone());
            async move {
                if renew > 0 && begun.get() == renew {
                    this.until(|| false).await?; // the next run handles it
                }
                begun.set(begun.get() + 1);
                match draw.sql {
                    true => this.note(draw.id).await?,
                    false => this.look(draw.id).await?,
                };
                last.set(last.get() + 1);
                answered.set(answered.get() + 1);
                this.publish(Last(last.get()))?;
                Ok(last.get())
            }
        });

        self.until(move || renew > 0 && answered.get() == renew)
            .await?;
        self.continue_as_new(Series {
            last: last.get(),
            ..series
        })
    }

    /// Writes a request down.
    #[activity(retries = 5, backoff = "exponential", base = "100ms")]
    async fn note(&self, request: String) -> Result<bool> {
        self.transaction()
            .execute("INSERT INTO noted (request) VALUES ($1)", (&request,))?;
        Ok(true)
    }

    /// Does nothing.
    #[activity]
    async fn look(&self, _request: String) -> Result<bool> {
        Ok(true)
    }
}

/// Counts the written notes: rows, and requests.
#[workflow]
pub struct Noted;

#[workflow_impl(key = |name: &String| name.clone(), hash = false)]
impl Noted {
    async fn execute(&self, _name: String) -> Result<Vec<i64>> {
        self.count().await
    }

    /// Counts the written notes.
    #[activity]
    async fn count(&self) -> Result<Vec<i64>> {
        let tx = self.transaction();
        let rows = tx.query_one("SELECT count(*) FROM noted", ())?;
        let requests = tx.query_one("SELECT count(DISTINCT request) FROM noted", ())?;
        Ok(vec![rows, requests])
    }
}

cruster::module! {
    workflows: [Tickets, Noted],
    migrations: [Migration::new(1, "noted", "CREATE TABLE noted (request TEXT NOT NULL)")],
}
