//! Workflows with long journals.

use cruster::Value;
use cruster::prelude::*;

use crate::interrupts::Notes;
use crate::parallel::Numbers;

/// Takes steps until it is interrupted, and then so many more to clean up.
#[workflow]
pub struct Endures;

#[workflow_impl(activity_groups(Notes, Numbers))]
impl Endures {
    async fn execute(&self, cleanup: i64) -> Result<String> {
        let mut n = 0;
        loop {
            if let Err(e) = self.square(n % 10).await {
                for _ in 0..cleanup {
                    self.shield(self.note(self.interrupt_reason())).await?;
                }
                return Err(e);
            }
            n += 1;
        }
    }
}

/// Tells how long its journal is, at its beginning and after each of n steps, and whether it
/// should continue as a new run.
#[workflow]
pub struct Lengths;

#[workflow_impl(activity_groups(Numbers))]
impl Lengths {
    async fn execute(&self, n: i64) -> Result<Vec<Value>> {
        let mut lengths = vec![Value::from(self.history_len())];
        for i in 0..n {
            self.square(i).await?;
            lengths.push(Value::from(self.history_len()));
        }
        lengths.push(Value::from(self.should_continue_as_new()));
        Ok(lengths)
    }
}
