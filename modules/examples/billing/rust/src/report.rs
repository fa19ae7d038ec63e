//! The income.

use cruster::prelude::*;

/// Adds up the charges so far.
#[workflow]
pub struct Report;

#[workflow_impl]
impl Report {
    async fn execute(&self, _: ()) -> Result<i64> {
        self.sum().await
    }

    /// The sum of the charges so far, in cents.
    #[activity]
    async fn sum(&self) -> Result<i64> {
        self.transaction().query_one(
            "SELECT CAST(COALESCE(SUM(cents), 0) AS BIGINT) FROM billing_charges",
            (),
        )
    }
}
