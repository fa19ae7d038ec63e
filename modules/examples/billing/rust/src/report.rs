//! What came in.

use cruster::prelude::*;

/// Adds up what was charged so far.
#[workflow]
pub struct Report;

#[workflow_impl]
impl Report {
    async fn execute(&self, _: ()) -> Result<i64> {
        self.sum().await
    }

    /// What was charged so far, in cents.
    #[activity]
    async fn sum(&self) -> Result<i64> {
        self.transaction().query_one(
            "SELECT CAST(COALESCE(SUM(cents), 0) AS BIGINT) FROM billing_charges",
            (),
        )
    }
}
