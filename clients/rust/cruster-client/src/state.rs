//! The state of an execution.

use std::fmt;

use crate::proto;

/// How far an execution is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// It is at work, or waits for something.
    Running,
    /// It cannot go on until an operator resumes it.
    Paused,
    /// It has returned a result.
    Completed,
    /// It has returned an error.
    Failed,
    /// It was asked to stop, and did.
    Interrupted,
    /// The host says something that this version does not know.
    Unknown,
}

impl State {
    pub(crate) fn of(execution: &proto::Execution) -> Self {
        match execution.state() {
            proto::State::Running => State::Running,
            proto::State::Paused => State::Paused,
            proto::State::Completed => State::Completed,
            proto::State::Failed => State::Failed,
            proto::State::Interrupted => State::Interrupted,
            proto::State::Unspecified => State::Unknown,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            State::Running => "running",
            State::Paused => "paused",
            State::Completed => "completed",
            State::Failed => "failed",
            State::Interrupted => "interrupted",
            State::Unknown => "unknown",
        })
    }
}
