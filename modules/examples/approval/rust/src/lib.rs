//! A workflow that waits for a person: until the deferred `approved` is settled,
//! or until the time is up.

use cruster::ActivityContext;
use cruster::prelude::*;

/// The request of [`RequestApproval`].
#[derive(Clone, Debug, Default, Serialize, Deserialize, Schema)]
pub struct ApprovalRequest {
    pub document: String,
    /// How long to wait, in milliseconds. Defaults to a day.
    #[serde(default)]
    pub timeout_ms: i64,
}

impl ApprovalRequest {
    fn timeout(&self) -> Duration {
        match u64::try_from(self.timeout_ms) {
            Ok(ms @ 1..) => Duration::from_millis(ms),
            _ => Duration::from_secs(24 * 60 * 60),
        }
    }
}

/// The decision of a person; the value of the deferred [`APPROVED`].
#[derive(Clone, Debug, Default, Serialize, Deserialize, Schema)]
pub struct Decision {
    pub approved: bool,
    pub by: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub comment: String,
}

/// The result of [`RequestApproval`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct ApprovalResult {
    pub document: String,
    pub status: Status,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub comment: String,
}

/// How an approval ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Approved,
    #[default]
    Rejected,
    TimedOut,
    Withdrawn,
}

impl Status {
    /// The status as it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Approved => "approved",
            Status::Rejected => "rejected",
            Status::TimedOut => "timed_out",
            Status::Withdrawn => "withdrawn",
        }
    }
}

/// Settled from outside:
///
/// ```text
/// cruster-host deferred resolve EXECUTION approved --input '{"approved":true,"by":"ada"}'
/// ```
pub const APPROVED: Deferred<Decision> = Deferred::new("approved");

/// Asks for the approval of a document, once per document.
#[workflow]
pub struct RequestApproval;

#[workflow_impl(key = |request: &ApprovalRequest| request.document.clone(), hash = false, deferreds(APPROVED))]
impl RequestApproval {
    async fn execute(&self, request: ApprovalRequest) -> Result<ApprovalResult> {
        if request.document.is_empty() {
            cruster::bail!("invalid_request", "an approval needs a document");
        }
        self.open(request.document.clone()).await?;

        let decision = self
            .timeout(request.timeout(), self.await_deferred(APPROVED))
            .await;
        let result = Self::outcome(request.document, &decision);
        // The outcome is written down in any case, also when the request was
        // withdrawn by an interrupt: hence the shield.
        self.shield(self.close(result.clone())).await?;
        match decision {
            Err(interrupt) if interrupt.is_interrupted() => Err(interrupt),
            _ => Ok(result),
        }
    }

    /// The outcome of a decision, or of its absence.
    fn outcome(document: String, decision: &Result<Decision>) -> ApprovalResult {
        let (status, by, comment) = match decision {
            Ok(Decision {
                approved: true,
                by,
                comment,
            }) => (Status::Approved, by.clone(), comment.clone()),
            Ok(Decision { by, comment, .. }) => (Status::Rejected, by.clone(), comment.clone()),
            Err(e) if e.is_interrupted() => (Status::Withdrawn, String::new(), String::new()),
            Err(e) if e.is_timeout() => (Status::TimedOut, String::new(), String::new()),
            Err(e) => (Status::Rejected, String::new(), e.message()),
        };
        ApprovalResult {
            document,
            status,
            by,
            comment,
        }
    }

    /// Writes down that an approval was asked for.
    #[activity(retries = 3, backoff = "exponential", base = "100ms")]
    async fn open(&self, document: String) -> Result<bool> {
        self.transaction().execute(
            "INSERT INTO approvals (document, execution, status) VALUES ($1, $2, 'open')
             ON CONFLICT (document) DO UPDATE SET status = 'open'",
            (&document, self.execution_id()),
        )?;
        record(self, "open")?;
        Ok(true)
    }

    /// Writes the outcome down.
    #[activity(retries = 3, backoff = "exponential", base = "100ms")]
    async fn close(&self, result: ApprovalResult) -> Result<bool> {
        self.transaction().execute(
            "UPDATE approvals SET status = $1, decided_by = $2, remark = $3 WHERE document = $4",
            (
                result.status.as_str(),
                &result.by,
                &result.comment,
                &result.document,
            ),
        )?;
        record(self, "close")?;
        Ok(true)
    }
}

/// Writes down that a step took effect, so that effects can be counted.
fn record<A>(activity: &ActivityContext<A>, step: &str) -> Result<()> {
    activity.transaction().execute(
        "INSERT INTO approval_effects (execution, step) VALUES ($1, $2)",
        (activity.execution_id(), step),
    )?;
    Ok(())
}

cruster::module! {
    workflows: [RequestApproval],
    migrations: [
        Migration::new(1, "approvals", "
CREATE TABLE approvals (
	document   TEXT PRIMARY KEY,
	execution  TEXT NOT NULL,
	status     TEXT NOT NULL,
	decided_by TEXT,
	remark     TEXT
)"),
        Migration::new(2, "effects", "
CREATE TABLE approval_effects (
	execution TEXT NOT NULL,
	step      TEXT NOT NULL
)"),
    ],
}
