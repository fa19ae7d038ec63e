//! Uses ordinary crates in activities, unchanged: `http`, `serde_json` and
//! `form_urlencoded` for two services, `sea-query` for SQL, `jiff` for time zones, and an
//! embedded file.

mod services;
mod store;

use cruster::prelude::*;

pub use services::{Message, Services};
pub use store::{Kept, Summaries};

/// The request of [`Standup`].
#[derive(Clone, Debug, Default, Serialize, Deserialize, Schema)]
pub struct StandupRequest {
    pub channel: String,
    /// `2026-03-29`
    pub day: String,
    /// `Europe/Berlin`
    pub zone: String,
    pub notes: Vec<String>,
}

/// The result of [`Standup`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct StandupResult {
    pub summary: String,
    /// How many hours the day has where the team is: 23 or 25 when the clocks change.
    pub hours: i64,
    /// The id of the message.
    pub posted: String,
    /// How many summaries the channel had before.
    pub before: i64,
}

/// Has the notes of a team summarised, keeps the summary, and posts it.
#[workflow]
pub struct Standup;

#[workflow_impl(
    key = |request: &StandupRequest| format!("{}/{}", request.channel, request.day),
    hash = false,
    activity_groups(Services, Summaries)
)]
impl Standup {
    async fn execute(&self, request: StandupRequest) -> Result<StandupResult> {
        let hours = self.hours(request.clone()).await?;
        let summary = self.summarise(request.notes.clone()).await?;
        let kept = Kept {
            channel: request.channel.clone(),
            day: request.day,
            summary: summary.clone(),
            lines: request.notes,
        };
        let before = self.keep(kept).await?;
        let message = Message {
            channel: request.channel,
            text: summary.clone(),
        };
        let posted = self.post(message).await?;
        Ok(StandupResult {
            summary,
            hours,
            posted,
            before,
        })
    }

    /// Tells how many hours a day has somewhere. Zones could be used in the workflow itself;
    /// that they change from one version of a module to the next is a reason to do it in an
    /// activity.
    #[activity]
    async fn hours(&self, request: StandupRequest) -> Result<i64> {
        let hours = || {
            let day = request.day.parse::<jiff::civil::Date>()?;
            let begin = day.in_tz(&request.zone)?;
            Ok(begin.duration_until(&begin.tomorrow()?).as_hours())
        };
        hours().map_err(|e: jiff::Error| Error::from(e).non_retryable())
    }
}

cruster::module! {
    workflows: [Standup],
    migrations: [
        Migration::new(1, "summaries", "
CREATE TABLE summaries (
	channel TEXT NOT NULL,
	day     TEXT NOT NULL,
	summary TEXT NOT NULL,
	at      TIMESTAMP NOT NULL,
	PRIMARY KEY (channel, day)
)"),
        Migration::new(2, "lines", "
CREATE TABLE summary_lines (
	channel TEXT NOT NULL,
	day     TEXT NOT NULL,
	line    TEXT NOT NULL
)"),
    ],
}
