//! The kept part of a standup.

use cruster::prelude::*;
use cruster::{Value, query_as};
use sea_query::{Iden, PostgresQueryBuilder, Query};

/// The kept part of a standup.
#[derive(Clone, Debug, Serialize, Deserialize, Schema)]
pub struct Kept {
    pub channel: String,
    pub day: String,
    pub summary: String,
    pub lines: Vec<String>,
}

/// Names of tables and columns.
enum Name {
    SummaryLines,
    Channel,
    Day,
    Line,
}

impl Iden for Name {
    fn unquoted(&self, s: &mut dyn std::fmt::Write) {
        let name = match self {
            Name::SummaryLines => "summary_lines",
            Name::Channel => "channel",
            Name::Day => "day",
            Name::Line => "line",
        };
        s.write_str(name).expect("a name can be written");
    }
}

/// Activities that keep summaries.
#[activity_group]
#[derive(Default)]
pub struct Summaries;

#[activity_group_impl]
impl Summaries {
    /// Keeps a summary with its lines, and returns how many the channel had before.
    #[activity(name = "keep", retries = 5, backoff = "exponential", base = "100ms")]
    async fn keep(&self, kept: Kept) -> Result<i64> {
        let tx = self.transaction();
        let before = query_as::<i64>("SELECT COUNT(*) FROM summaries WHERE channel = $1")
            .bind(&kept.channel)
            .fetch_one(&tx)?;
        tx.execute(
            "INSERT INTO summaries (channel, day, summary, at) VALUES ($1, $2, $3, $4)",
            (&kept.channel, &kept.day, &kept.summary, self.now()),
        )?;
        // The builder writes $1 for arguments, as both databases want it.
        let mut insert = Query::insert();
        insert
            .into_table(Name::SummaryLines)
            .columns([Name::Channel, Name::Day, Name::Line]);
        for line in &kept.lines {
            let row = [&kept.channel, &kept.day, line];
            insert.values_panic(row.map(|text| text.into()));
        }
        let (sql, values) = insert.build(PostgresQueryBuilder);
        tx.execute(&sql, values.into_iter().map(param).collect::<Vec<_>>())?;
        Ok(before)
    }
}

/// An argument of the builder as one of a statement.
fn param(value: sea_query::Value) -> Value {
    match value {
        sea_query::Value::String(Some(text)) => (*text).into(),
        sea_query::Value::BigInt(Some(n)) => n.into(),
        _ => Value::Nil,
    }
}
