//! What the activities of both workflows have in common.

use cruster::ActivityContext;
use cruster::prelude::*;

/// Writes down that a step took effect. The rows of a step are as many as the
/// times it was committed: one.
pub fn record<A>(activity: &ActivityContext<A>, step: &str) -> Result<()> {
    activity.transaction().execute(
        "INSERT INTO order_effects (execution, step, attempt) VALUES ($1, $2, $3)",
        (activity.execution_id(), step, activity.attempt()),
    )?;
    Ok(())
}
