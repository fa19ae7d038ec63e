//! Runs that take the place of others.

use crate::context::WorkflowContext;
use crate::error::{Error, Result};
use crate::payload;
use crate::workflow::Workflow;

impl<W: Workflow> WorkflowContext<W> {
    /// Ends this run of the workflow, and has a new one take its place, under the same name and
    /// with an empty journal. Return what it returns:
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
    /// So a workflow can run for years, while its journal stays short. Signals and updates that
    /// it has not read are the new run's, and so is what it published; who waits for its result
    /// goes on waiting. Tasks that still run are dropped, and [deferreds](crate::Deferred)
    /// belong to a run. The new run has the code that the deployment has then.
    pub fn continue_as_new<T>(&self, request: W::Request) -> Result<T> {
        let what = format_args!("the request of workflow {}", W::NAME);
        Err(Error::continue_as_new(payload::encode(what, &request)?))
    }
}
