//! One event of the execution under test from outside.

use crate::testing::places::Moment;
use crate::testing::run::Apply;

/// An event from outside.
pub(crate) struct OutsideEvent {
    pub(crate) when: Moment,
    pub(crate) apply: Apply,
    /// It is a question, which has an answer also after the end.
    pub(crate) question: bool,
}
