//! Asks several people at once, reminds the silent ones, and goes by the majority that was asked
//! for.

use std::cell::RefCell;
use std::rc::Rc;

use cruster::JoinSet;
use cruster::prelude::*;

/// The request of [`Decide`].
#[derive(Clone, Debug, Default, Serialize, Deserialize, Schema)]
pub struct QuorumRequest {
    /// The key of a decision.
    pub proposal: String,
    pub approvers: Vec<String>,
    /// How many have to agree. Defaults to more than half of them.
    #[serde(default)]
    pub needed: i64,
    /// After how long people without a vote are reminded, in milliseconds, again and again.
    /// Defaults to a day.
    #[serde(default)]
    pub remind_ms: i64,
    /// How long all may take, in milliseconds. Defaults to a week.
    #[serde(default)]
    pub deadline_ms: i64,
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn milliseconds(n: i64, otherwise: Duration) -> Duration {
    match u64::try_from(n) {
        Ok(ms @ 1..) => Duration::from_millis(ms),
        _ => otherwise,
    }
}

/// The vote of one of them; the value of the deferred `vote-NAME`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, Schema)]
pub struct Vote {
    pub agrees: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remark: String,
}

/// The result of [`Decide`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Schema)]
pub struct QuorumResult {
    pub decision: Decision,
    pub r#for: Vec<String>,
    pub against: Vec<String>,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Schema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Accepted,
    Rejected,
    Expired,
}

impl Decision {
    /// The decision as it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Decision::Accepted => "accepted",
            Decision::Rejected => "rejected",
            Decision::Expired => "expired",
        }
    }
}

/// The votes so far.
struct Tally {
    approvers: usize,
    needed: usize,
    agree: Vec<String>,
    against: Vec<String>,
}

impl Tally {
    fn new(request: &QuorumRequest) -> Result<Self> {
        let approvers = request.approvers.len();
        let needed = match request.needed {
            ..=0 => approvers / 2 + 1,
            n => usize::try_from(n).unwrap_or(usize::MAX),
        };
        if needed > approvers {
            cruster::bail!("invalid_request", "{needed} of {approvers} can never agree");
        }
        Ok(Tally {
            approvers,
            needed,
            agree: Vec::new(),
            against: Vec::new(),
        })
    }

    fn add(&mut self, name: String, vote: &Vote) {
        let side = if vote.agrees {
            &mut self.agree
        } else {
            &mut self.against
        };
        side.push(name);
    }

    /// The decision, once the votes that are missing cannot change it.
    fn decision(&self) -> Option<Decision> {
        if self.agree.len() >= self.needed {
            Some(Decision::Accepted)
        } else if self.approvers - self.against.len() < self.needed {
            Some(Decision::Rejected)
        } else {
            None
        }
    }
}

/// Settled from outside, one for each of the people asked:
///
/// ```text
/// cruster-host deferred resolve EXECUTION vote-ada --input '{"agrees":true}'
/// ```
pub const VOTES: DynamicDeferred<Vote> = DynamicDeferred::new("vote-");

/// Asks for votes on a proposal, once per proposal.
#[workflow]
pub struct Decide;

#[workflow_impl(key = |request: &QuorumRequest| request.proposal.clone(), hash = false, deferreds(VOTES))]
impl Decide {
    async fn execute(&self, request: QuorumRequest) -> Result<QuorumResult> {
        let tally = Rc::new(RefCell::new(Tally::new(&request)?));
        let deadline = milliseconds(request.deadline_ms, 7 * DAY);
        let remind = milliseconds(request.remind_ms, DAY);
        let mut asked = JoinSet::new(self);
        for name in request.approvers {
            let (this, tally, proposal) = (self.clone(), tally.clone(), request.proposal.clone());
            asked.spawn(async move {
                let vote = this.ask(&proposal, &name, remind).await?;
                tally.borrow_mut().add(name, &vote);
                Ok(())
            });
        }
        let votes = tally.clone();
        let decided = self.until(move || votes.borrow().decision().is_some());
        match self.timeout(deadline, decided).await {
            Err(e) if !e.is_timeout() => return Err(e),
            _ => drop(asked), // waits and reminders under way are given up
        }
        let decision = tally.borrow().decision().unwrap_or(Decision::Expired);
        self.announce(request.proposal, decision).await?;
        let mut tally = tally.borrow_mut();
        Ok(QuorumResult {
            decision,
            r#for: std::mem::take(&mut tally.agree),
            against: std::mem::take(&mut tally.against),
        })
    }

    /// Waits for the vote of one of them, and reminds them while there is none.
    async fn ask(&self, proposal: &str, name: &str, remind: Duration) -> Result<Vote> {
        let mut vote = self.await_deferred(VOTES.named(name));
        let mut number = 0;
        loop {
            cruster::select! {
                vote = &mut vote => return vote,
                slept = self.sleep(remind) => slept?,
            }
            number += 1;
            self.remind(proposal.to_owned(), name.to_owned(), number)
                .await?;
        }
    }

    /// Reminds one of them: here it writes a row, in the place of a letter.
    #[activity(retries = 3, backoff = "exponential", base = "100ms")]
    async fn remind(&self, proposal: String, name: String, number: i64) -> Result<bool> {
        self.transaction().execute(
            "INSERT INTO quorum_letters (proposal, kind, recipient, number) VALUES ($1, 'reminder', $2, $3)",
            (&proposal, &name, number),
        )?;
        Ok(true)
    }

    /// Tells everyone the decision.
    #[activity(retries = 3, backoff = "exponential", base = "100ms")]
    async fn announce(&self, proposal: String, decision: Decision) -> Result<bool> {
        self.transaction().execute(
            "INSERT INTO quorum_letters (proposal, kind, recipient, number) VALUES ($1, $2, 'all', 1)",
            (&proposal, decision.as_str()),
        )?;
        Ok(true)
    }
}

cruster::module! {
    workflows: [Decide],
    migrations: [
        Migration::new(1, "letters", "
CREATE TABLE quorum_letters (
	proposal  TEXT NOT NULL,
	kind      TEXT NOT NULL,
	recipient TEXT NOT NULL,
	number    BIGINT NOT NULL
)"),
    ],
}
