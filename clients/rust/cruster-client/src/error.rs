//! The errors of calls.

use std::fmt;
use std::time::Duration;

use cruster::__private::{
    BAD_REQUEST, Code, DEADLINE, INTERNAL, PAYLOAD_TOO_LARGE, UNREACHABLE, from_bytes,
};
use prost::Message;
use serde::de::DeserializeOwned;

use crate::proto;
use crate::state::State;

/// The result of a call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A call that failed, or a workflow that did not complete. Codes are stable: docs/errors.md has
/// them all.
pub struct Error(Box<Inner>);

struct Inner {
    wire: proto::Error,
    /// The execution that did not complete, and how far it is.
    run: Option<(String, State)>,
}

impl Error {
    pub(crate) fn of(code: &Code, message: impl Into<String>) -> Self {
        Error::from_wire(proto::Error {
            code: code.code.to_owned(),
            message: message.into(),
            hint: code.hint.to_owned(),
            retryable: code.retryable,
            ..proto::Error::default()
        })
    }

    pub(crate) fn from_wire(wire: proto::Error) -> Self {
        Error(Box::new(Inner { wire, run: None }))
    }

    /// The error of an execution that did not complete.
    pub(crate) fn of_run(execution: proto::Execution, state: State) -> Self {
        let mut error = match execution.error {
            Some(wire) => Error::from_wire(wire),
            None => Error::of(&INTERNAL, "the host gave no reason"),
        };
        error.0.run = Some((execution.name, state));
        error
    }

    /// The deadline of the caller has passed.
    pub(crate) fn late() -> Self {
        Error::of(&DEADLINE, "the deadline passed before the host answered")
    }

    /// The deadline of the caller has passed, or is too near for another attempt, and no attempt
    /// had a connection.
    pub(crate) fn never_left(status: &tonic::Status) -> Self {
        let message = format!("no host answers: {}; it was not sent", cause(status));
        Error::of(&UNREACHABLE, message)
    }

    /// The answer of a host, or of gRPC itself.
    pub(crate) fn from_status(status: &tonic::Status) -> Self {
        for detail in details(status) {
            if detail.type_url.ends_with("/cruster.v1.Error") {
                if let Ok(wire) = proto::Error::decode(&*detail.value) {
                    return Error::from_wire(wire);
                }
            }
        }
        let message = status.message();
        match status.code() {
            _ if lost(status) => {
                Error::of(&UNREACHABLE, format!("no host answers: {}", cause(status)))
            }
            tonic::Code::DeadlineExceeded | tonic::Code::Cancelled => Error::late(),
            tonic::Code::ResourceExhausted | tonic::Code::OutOfRange => {
                Error::of(&PAYLOAD_TOO_LARGE, message)
            }
            tonic::Code::InvalidArgument => Error::of(&BAD_REQUEST, message),
            code => Error::of(&INTERNAL, format!("{code:?}: {message}")),
        }
    }

    /// The code: `CR-2001`.
    pub fn code(&self) -> &str {
        &self.0.wire.code
    }

    /// The event and its subject, without the code.
    pub fn message(&self) -> &str {
        &self.0.wire.message
    }

    /// What to do about it; empty if there is no advice.
    pub fn hint(&self) -> &str {
        &self.0.wire.hint
    }

    /// The application's own name of the error, for instance `card_declined`; empty if it gave
    /// none.
    pub fn error_type(&self) -> &str {
        &self.0.wire.r#type
    }

    /// Whether another attempt may succeed.
    pub fn is_retryable(&self) -> bool {
        self.0.wire.retryable
    }

    /// The application's own data about the error; `None` if there is none, or if it is of
    /// another type.
    pub fn details<T: DeserializeOwned>(&self) -> Option<T> {
        from_bytes(&self.0.wire.details).ok()
    }

    /// How far the workflow is that did not complete: failed, interrupted or paused. `None` if it
    /// was the call that failed.
    pub fn state(&self) -> Option<State> {
        self.0.run.as_ref().map(|(_, state)| *state)
    }

    /// The execution of that workflow.
    pub fn execution(&self) -> Option<&str> {
        self.0.run.as_ref().map(|(name, _)| name.as_str())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((execution, state)) = &self.0.run {
            write!(f, "{execution} {state}: ")?;
        }
        write!(f, "{}: {}", self.code(), self.message())
    }
}

/// `main` and `unwrap` show errors with this.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)?;
        if !self.error_type().is_empty() {
            write!(f, " [{}]", self.error_type())?;
        }
        if !self.hint().is_empty() {
            write!(f, "\n{}", self.hint())?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// Whether a call was lost: no host has answered, and it is not known whether it arrived. An error
/// of the transport itself has a source, and the answer of a host has none.
pub(crate) fn lost(status: &tonic::Status) -> bool {
    match status.code() {
        tonic::Code::Unavailable => true,
        tonic::Code::DeadlineExceeded
        | tonic::Code::ResourceExhausted
        | tonic::Code::OutOfRange => false,
        // Also how this library says that a limit of its own has passed.
        tonic::Code::Cancelled if caused_by::<tonic::TimeoutExpired>(status) => false,
        _ => std::error::Error::source(status).is_some(),
    }
}

/// Whether a call was lost before it left: there was no connection.
pub(crate) fn unsent(status: &tonic::Status) -> bool {
    caused_by::<tonic::ConnectError>(status)
}

fn caused_by<E: std::error::Error + 'static>(status: &tonic::Status) -> bool {
    let mut source = std::error::Error::source(status);
    while let Some(error) = source {
        if error.is::<E>() {
            return true;
        }
        source = error.source();
    }
    false
}

/// Whether a call was lost because nothing came from its host, not even the answer to a keep-alive.
/// Of the transport's own statuses, only this and [`unsent`] are UNAVAILABLE.
pub(crate) fn silent(status: &tonic::Status) -> bool {
    status.code() == tonic::Code::Unavailable
        && std::error::Error::source(status).is_some()
        && !unsent(status)
}

/// The innermost reason for which the transport failed.
fn cause(status: &tonic::Status) -> String {
    let mut text = status.message().to_owned();
    let mut source = std::error::Error::source(status);
    while let Some(error) = source {
        text = error.to_string();
        source = error.source();
    }
    text
}

/// When the host asks the caller to try again, if it does.
pub(crate) fn retry_delay(status: &tonic::Status) -> Option<Duration> {
    let delay = details(status)
        .iter()
        .find(|detail| detail.type_url.ends_with("/google.rpc.RetryInfo"))
        .and_then(|detail| RetryInfo::decode(&*detail.value).ok())?
        .retry_delay?;
    Duration::try_from(delay).ok()
}

fn details(status: &tonic::Status) -> Vec<prost_types::Any> {
    RpcStatus::decode(status.details()).map_or_else(|_| Vec::new(), |s| s.details)
}

/// The part of google.rpc.Status that is read.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(message, repeated, tag = "3")]
    details: Vec<prost_types::Any>,
}

/// google.rpc.RetryInfo.
#[derive(Clone, PartialEq, Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<prost_types::Duration>,
}

#[cfg(test)]
#[path = "error_test.rs"]
mod error_test;
