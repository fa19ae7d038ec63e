//! Code that the activities of both workflows share.

use cruster::ActivityContext;
use cruster::prelude::*;

/// Writes down that a step took effect. Each commit of a step adds a row, so there is
/// one row per step.
pub fn record<A>(activity: &ActivityContext<A>, step: &str) -> Result<()> {
    activity.transaction().execute(
        "INSERT INTO order_effects (execution, step, attempt) VALUES ($1, $2, $3)",
        (activity.execution_id(), step, activity.attempt()),
    )?;
    Ok(())
}
