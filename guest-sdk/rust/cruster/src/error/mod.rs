//! The one error type of workflows and activities.

mod sent;

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codec::{self, DecodeError, EncodeError, MAX_VALUE};
use crate::codes::{self, Code};
use crate::wire::Fault;

/// The result of workflows and activities.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure: of an activity, a deferred, another workflow, or of your own code.
///
/// `?` converts every standard error into it. It carries to the caller a *type* to
/// switch on, a message, and details of your own. As `anyhow::Error` does, it does
/// not implement [`std::error::Error`] itself.
///
/// ```
/// use cruster::prelude::*;
///
/// fn parse(cents: &str) -> Result<u64> {
///     let cents: u64 = cents.parse().context("the amount")?;
///     if cents == 0 {
///         return Err(Error::new("empty_amount", "there is nothing to charge").non_retryable());
///     }
///     Ok(cents)
/// }
///
/// assert_eq!(parse("x").unwrap_err().to_string(), "the amount: invalid digit found in string");
/// assert_eq!(parse("0").unwrap_err().error_type(), "empty_amount");
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    /// The words before the message, innermost first.
    context: Vec<String>,
    cause: Cause,
    /// Another attempt cannot succeed.
    last: bool,
    /// It is of a value that does not decode.
    misfit: bool,
    /// A test sees it as the result of an interrupted execution.
    stopped: bool,
}

enum Cause {
    /// An error with a code, or with a type of the application.
    Fault(Box<Fault>),
    /// The execution was asked to stop.
    Interrupted,
    /// The awaited call was cancelled.
    Canceled,
    /// A timeout passed.
    Timeout,
    /// A query found no row.
    NoRows,
    /// The workflow goes on as a new run, with this request.
    Continue(Vec<u8>),
    /// Some other error.
    Other(Box<dyn std::error::Error>),
}

impl Error {
    fn from_cause(cause: Cause) -> Self {
        Error(Box::new(Inner {
            context: Vec::new(),
            cause,
            last: false,
            misfit: false,
            stopped: false,
        }))
    }

    /// An error of a type that callers can switch on with
    /// [`error_type`](Error::error_type). As the error of an activity it may be
    /// retried; see [`non_retryable`](Error::non_retryable).
    pub fn new(error_type: impl Into<String>, message: impl fmt::Display) -> Self {
        Self::from_cause(Cause::Fault(Box::new(Fault {
            kind: error_type.into(),
            message: message.to_string(),
            retryable: true,
            ..Fault::default()
        })))
    }

    /// An error that has no type, only a message.
    pub fn message_only(message: impl fmt::Display) -> Self {
        Self::from_cause(Cause::Other(Box::new(Plain(message.to_string()))))
    }

    /// The error of waits in an interrupted execution. A workflow that returns it ends
    /// as interrupted.
    pub fn interrupted() -> Self {
        Self::from_cause(Cause::Interrupted)
    }

    /// The error of awaiting a call that was cancelled.
    pub fn canceled() -> Self {
        Self::from_cause(Cause::Canceled)
    }

    /// The error of a timeout.
    pub fn timeout() -> Self {
        Self::from_cause(Cause::Timeout)
    }

    pub(crate) fn no_rows() -> Self {
        Self::from_cause(Cause::NoRows)
    }

    pub(crate) fn continue_as_new(request: Vec<u8>) -> Self {
        Self::from_cause(Cause::Continue(request))
    }

    /// The request of the run that takes the place of this one.
    pub(crate) fn next_request(&self) -> Option<&[u8]> {
        match &self.0.cause {
            Cause::Continue(request) => Some(request),
            _ => None,
        }
    }

    pub(crate) fn with_code(code: &Code, message: impl Into<String>) -> Self {
        Self::from_cause(Cause::Fault(code.fault(message)))
    }

    /// The error of a value that does not decode.
    #[cold]
    #[inline(never)]
    pub(crate) fn misfit(code: &Code, misfit: fmt::Arguments<'_>, e: &DecodeError) -> Self {
        let mut error = Self::with_code(code, format!("{misfit}: {e}"));
        error.0.misfit = true;
        error
    }

    /// The same error with other advice, if it has a code.
    pub(crate) fn with_hint(mut self, hint: &str) -> Self {
        if let Cause::Fault(fault) = &mut self.0.cause {
            hint.clone_into(&mut fault.hint);
        }
        self
    }

    pub(crate) fn not_encoded(what: impl fmt::Display, e: EncodeError) -> Self {
        match e {
            EncodeError::Value(e) => Error::from(e).context(what),
            EncodeError::TooLarge(size) => Error::with_code(
                &codes::PAYLOAD_TOO_LARGE,
                format!("{what} takes {size} bytes, the limit is {MAX_VALUE}"),
            ),
        }
    }

    pub(crate) fn from_fault(fault: Box<Fault>) -> Self {
        Self::from_cause(Cause::Fault(fault))
    }

    /// The error that an execution ended with, as its caller sees it. To a test it is
    /// also the error that the workflow returned.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn of_execution(fault: Box<Fault>) -> Self {
        let stopped = fault.code == codes::INTERRUPTED.code;
        let mut error = Self::from_fault(fault);
        error.0.stopped = stopped;
        error
    }

    /// Marks the error of an activity as final: the host makes no further attempt, regardless of
    /// the retry policy.
    #[must_use]
    pub fn non_retryable(mut self) -> Self {
        self.0.last = true;
        self
    }

    /// Adds a value of your own, which callers read with [`details`](Error::details).
    /// An error without a type gets an empty one. [`Error::interrupted`] takes no
    /// details.
    #[must_use]
    pub fn with_details<T: Serialize + ?Sized>(mut self, details: &T) -> Self {
        if self.is_interrupted() {
            return self;
        }
        if !matches!(self.0.cause, Cause::Fault(_)) {
            let text = self.0.cause.to_string();
            self.0.cause = Cause::Fault(Box::new(Fault {
                message: text,
                retryable: true,
                ..Fault::default()
            }));
        }
        if let Cause::Fault(fault) = &mut self.0.cause {
            match codec::encode(details) {
                Ok(b) => fault.details = Some(b),
                Err(e) => {
                    let e = Error::not_encoded("the details", e);
                    fault.message = format!("{} (its details are lost: {e})", fault.message);
                }
            }
        }
        self
    }

    /// Puts words before the message: `charge: the card was declined`. Type, code
    /// and details do not change.
    #[must_use]
    pub fn context(mut self, words: impl fmt::Display) -> Self {
        self.0.context.push(words.to_string());
        self
    }

    /// The details of the error; `None` if it has none, or if they are of another
    /// type.
    pub fn details<T: DeserializeOwned>(&self) -> Option<T> {
        let b = self.fault()?.details.as_deref()?;
        codec::decode(b).ok()
    }

    /// The type of the error; empty if it has none.
    pub fn error_type(&self) -> &str {
        self.fault().map_or("", |f| &f.kind)
    }

    /// Cruster's code (`CR-3001`: the activity returned an error); empty for
    /// errors that did not cross the boundary.
    pub fn code(&self) -> &str {
        self.fault().map_or("", |f| &f.code)
    }

    /// The message, without code and context.
    pub fn message(&self) -> String {
        match &self.0.cause {
            Cause::Fault(f) => f.message.clone(),
            cause => cause.to_string(),
        }
    }

    /// Advice; empty if there is none.
    pub fn hint(&self) -> &str {
        self.fault().map_or("", |f| &f.hint)
    }

    /// Whether another attempt may succeed.
    pub fn is_retryable(&self) -> bool {
        !self.0.last && self.fault().is_none_or(|f| f.retryable)
    }

    /// Whether the execution was interrupted.
    pub fn is_interrupted(&self) -> bool {
        self.0.stopped || matches!(self.0.cause, Cause::Interrupted)
    }

    /// Whether the awaited call was cancelled.
    pub fn is_canceled(&self) -> bool {
        matches!(self.0.cause, Cause::Canceled)
    }

    /// Whether a timeout ended the wait.
    pub fn is_timeout(&self) -> bool {
        matches!(self.0.cause, Cause::Timeout)
    }

    /// Whether a query found no row.
    pub fn is_no_rows(&self) -> bool {
        matches!(self.0.cause, Cause::NoRows)
    }

    /// The standard error that this one was converted from, if it is an `E`.
    pub fn downcast_ref<E: std::error::Error + 'static>(&self) -> Option<&E> {
        match &self.0.cause {
            Cause::Other(e) => e.downcast_ref(),
            _ => None,
        }
    }

    fn fault(&self) -> Option<&Fault> {
        match &self.0.cause {
            Cause::Fault(f) => Some(f),
            _ => None,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Fault(e) if e.code.is_empty() => f.write_str(&e.message),
            Cause::Fault(e) => write!(f, "{}: {}", e.code, e.message),
            Cause::Interrupted => f.write_str("the execution was asked to stop"),
            Cause::Canceled => f.write_str("it was cancelled"),
            Cause::Timeout => f.write_str("timed out"),
            Cause::NoRows => f.write_str("the query found no row"),
            Cause::Continue(_) => f.write_str(
                "the workflow was to go on as a new run: return this error from `execute`",
            ),
            Cause::Other(e) => write_chain(f, &**e),
        }
    }
}

/// Writes an error and its sources, except sources that its own text repeats.
fn write_chain(f: &mut fmt::Formatter<'_>, e: &dyn std::error::Error) -> fmt::Result {
    let mut text = e.to_string();
    f.write_str(&text)?;
    let mut source = e.source();
    while let Some(s) = source {
        let next = s.to_string();
        if !text.contains(&next) {
            write!(f, ": {next}")?;
        }
        text = next;
        source = s.source();
    }
    Ok(())
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for words in self.0.context.iter().rev() {
            write!(f, "{words}: ")?;
        }
        self.0.cause.fmt(f)
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

impl<E: std::error::Error + 'static> From<E> for Error {
    fn from(e: E) -> Self {
        Self::from_cause(Cause::Other(Box::new(e)))
    }
}

#[derive(Debug)]
struct Plain(String);

impl fmt::Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Plain {}

/// Adds context to the error of a result: `.context("charge")?`.
pub trait ResultExt<T> {
    /// Puts words before the message of the error, if there is one.
    fn context(self, words: impl fmt::Display) -> Result<T>;
    /// [`context`](ResultExt::context) with words that are computed only for an error.
    fn with_context<D: fmt::Display>(self, words: impl FnOnce() -> D) -> Result<T>;
}

impl<T, E: Into<Error>> ResultExt<T> for std::result::Result<T, E> {
    fn context(self, words: impl fmt::Display) -> Result<T> {
        self.map_err(|e| e.into().context(words))
    }

    fn with_context<D: fmt::Display>(self, words: impl FnOnce() -> D) -> Result<T> {
        self.map_err(|e| e.into().context(words()))
    }
}

/// Makes an [`Error`](crate::Error) of a type, with a formatted message.
///
/// ```
/// let e = cruster::err!("out_of_stock", "there are only {} left", 3);
/// assert_eq!(e.error_type(), "out_of_stock");
/// assert_eq!(e.to_string(), "there are only 3 left");
/// ```
#[macro_export]
macro_rules! err {
    ($type:expr, $($message:tt)+) => {
        $crate::Error::new($type, ::std::format_args!($($message)+))
    };
}

/// Returns with an [`Error`](crate::Error) of a type.
///
/// ```
/// fn ship(parcels: u32) -> cruster::Result<u32> {
///     if parcels == 0 {
///         cruster::bail!("no_parcels", "there is nothing to ship");
///     }
///     Ok(parcels)
/// }
/// assert_eq!(ship(0).unwrap_err().error_type(), "no_parcels");
/// ```
#[macro_export]
macro_rules! bail {
    ($type:expr, $($message:tt)+) => {
        return ::std::result::Result::Err(::std::convert::Into::into($crate::err!($type, $($message)+)))
    };
}
