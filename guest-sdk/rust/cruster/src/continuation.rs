//! Runs that take the place of others.

use crate::context::WorkflowContext;
use crate::error::{Error, Result};
use crate::payload;
use crate::workflow::Workflow;

/// From how many entries on a workflow is advised to continue as a new run.
const CONTINUE_ENTRIES: u64 = 10_000;

impl<W: Workflow> WorkflowContext<W> {
    /// How many entries the journal of this run has: one for each result that the workflow was
    /// given, and one for each attempt of an activity that failed and is tried again. It does not
    /// change while the workflow computes, and is the same on every replay. A run is paused when
    /// its journal has 250,000 (`CR-2016`). In a run that began on an older host, which did not
    /// tell, attempts are not counted.
    pub fn history_len(&self) -> u64 {
        self.core().entries()
    }

    /// Whether the journal of this run has become long, 10,000 entries, so that it is time to
    /// [go on as a new run](Self::continue_as_new). A workflow that never ends asks it where it
    /// has nothing under way:
    ///
    /// ```
    /// # use cruster::prelude::*;
    /// # #[workflow]
    /// # pub struct Bill;
    /// # #[workflow_impl]
    /// # impl Bill {
    /// async fn execute(&self, mut months: u32) -> Result<u32, Error> {
    ///     while !self.should_continue_as_new() {
    ///         self.sleep(Duration::from_secs(30 * 86_400)).await?;
    ///         months += 1;
    ///     }
    ///     self.continue_as_new(months)
    /// }
    /// # }
    /// ```
    pub fn should_continue_as_new(&self) -> bool {
        self.history_len() >= CONTINUE_ENTRIES
    }

    /// Ends this run of the workflow, and has a new one take its place, under the same name and
    /// with an empty journal. Return its result:
    ///
    /// ```
    /// # use cruster::prelude::*;
    /// # #[derive(Serialize, Deserialize, Schema)]
    /// # pub struct Subscription {
    /// #     customer: String,
    /// #     months: u32,
    /// # }
    /// # #[workflow]
    /// # pub struct Bill;
    /// # #[workflow_impl]
    /// # impl Bill {
    /// async fn execute(&self, mut subscription: Subscription) -> Result<u32, Error> {
    ///     self.sleep(Duration::from_secs(30 * 86_400)).await?;
    ///     subscription.months += 1;
    ///     if subscription.months < 120 {
    ///         return self.continue_as_new(subscription);
    ///     }
    ///     Ok(subscription.months)
    /// }
    /// # }
    /// ```
    ///
    /// So a workflow can run for years, while its journal stays short. Unread signals, unread
    /// updates and published values pass to the new run; callers waiting for the result keep
    /// waiting. Tasks that still run are dropped, and [deferreds](crate::Deferred) belong to a run.
    /// The new run has the code that the deployment has then.
    pub fn continue_as_new<T>(&self, request: W::Request) -> Result<T> {
        let what = format_args!("the request of workflow {}", W::NAME);
        Err(Error::continue_as_new(payload::encode(what, &request)?))
    }
}
