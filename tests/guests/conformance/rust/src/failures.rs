//! Workflows and activities that fail, and others that pass failures on.

use std::collections::BTreeMap;

use cruster::prelude::*;
use cruster::{Value, remote};

use crate::deferreds::ANSWER;
use crate::parallel::NEVER;
use crate::values::Bulky;
use crate::{MILLISECOND, Seen, map, seen};

/// Makes an error of the kind that is asked for, in the words of its twins.
fn failure(how: &str) -> Error {
    let cents = BTreeMap::from([("cents", 150)]);
    let declined =
        || cruster::err!("card_declined", "the card was declined: {how}").with_details(&cents);
    match how {
        "plain" => Error::message_only("plainly wrong"),
        "plain in words" => Error::message_only("plainly wrong").context("while paying"),
        "in words" => declined().context("while paying"),
        "in words twice" => declined().context("while paying").context("order 7"),
        "final" => declined().non_retryable(),
        "final in words" => declined().context("while paying").non_retryable(),
        "without a type" => Error::new("", "an untyped error"),
        "without words" => Error::new("silent", ""),
        "unicode" => Error::new("größe", "zu groß: 世界 🌍 \u{202e}").with_details("größer \0"),
        "long" => Error::new("long", "ä".repeat(10_000)),
        "details of nothing" => {
            Error::new("nothing", "details of nothing").with_details(&Value::Nil)
        }
        "details too large" => {
            Error::new("much", "details too large").with_details(&Bytes(vec![0; 300 << 10]))
        }
        _ => declined(),
    }
}

/// Fails.
#[workflow]
pub struct Fail;

#[workflow_impl]
impl Fail {
    async fn execute(&self, how: String) -> Result<String> {
        Err(failure(&how))
    }
}

/// The outcome of a call, with the details of its error.
#[derive(Serialize, Deserialize, Schema)]
pub struct SeenDetails {
    seen: Seen,
    details: Value,
}

impl From<SeenDetails> for Value {
    fn from(s: SeenDetails) -> Value {
        map([("details", s.details), ("seen", s.seen.into())])
    }
}

fn seen_details(result: Result<impl Into<Value>>) -> SeenDetails {
    let details = result
        .as_ref()
        .err()
        .and_then(Error::details)
        .unwrap_or_default();
    SeenDetails {
        seen: seen(result),
        details,
    }
}

/// Calls an activity that fails, and tells its view of the failure.
#[workflow]
pub struct Decline;

#[workflow_impl(activity_groups(Declines))]
impl Decline {
    async fn execute(&self, how: String) -> Result<SeenDetails> {
        Ok(seen_details(self.decline(how).await))
    }
}

#[activity_group]
pub struct Declines;

#[activity_group_impl]
impl Declines {
    #[activity(name = "decline", retries = 1, backoff = "constant", base = "1ms")]
    async fn decline(&self, how: String) -> Result<String> {
        if how == "statement" {
            self.transaction()
                .execute("nonsense", ())
                .context("while writing")?;
        }
        Err(failure(&how))
    }
}

/// Names the failing call, and how the workflow passes that on.
#[derive(Serialize, Deserialize, Schema)]
pub struct RethrowRequest {
    from: String,
    /// If there are any, they are put before the error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    words: String,
}

/// Fails with the error of something that it waits for.
#[workflow]
pub struct Rethrow;

#[workflow_impl(activity_groups(Declines, Bulky), deferreds(ANSWER, NEVER))]
impl Rethrow {
    async fn execute(&self, request: RethrowRequest) -> Result<String> {
        let result = self.rethrown(&request.from).await;
        let result = if request.words.is_empty() {
            result
        } else {
            result.context(&request.words)
        };
        result.map(|()| String::new())
    }

    async fn rethrown(&self, from: &str) -> Result<()> {
        match from {
            "activity" => drop(self.decline("final".to_owned()).await?),
            "child" => drop(Fail::client(self).execute("no money".to_owned()).await?),
            "plain child" => drop(Fail::client(self).execute("plain".to_owned()).await?),
            "deferred" => {
                self.reject_deferred(ANSWER, failure("by itself")).await?;
                self.await_deferred(ANSWER).await?;
            }
            "timeout" => drop(
                self.timeout(MILLISECOND, self.await_deferred(NEVER))
                    .await?,
            ),
            "refusal" => drop(self.bulk(Bytes(vec![0; 5 << 20])).await?),
            "missing" => drop(
                remote::<String, Value>(self, "Missing")
                    .execute("text".to_owned())
                    .await?,
            ),
            _ => {}
        }
        Ok(())
    }
}

/// Starts a child that fails, waits for it, and looks at it after its end.
#[workflow]
pub struct FollowFailed;

#[workflow_impl]
impl FollowFailed {
    async fn execute(&self, how: String) -> Result<Vec<Value>> {
        let client = Fail::client(self).with_key(format!("followed {how}"));
        let id = client.start(how.clone()).await?;
        let waited = seen_details(client.execute(how).await);
        let poll = client.poll(&id).await?;
        let done = poll.outcome.is_some();
        let ended = seen_details(poll.outcome.unwrap_or_else(|| Ok(String::new())));
        Ok(vec![
            id.into(),
            waited.into(),
            poll.state.into(),
            done.into(),
            ended.into(),
        ])
    }
}
