//! The effects of an activity's attempt and of an RPC's call: both run in one go.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use crate::codes;
use crate::error::{Error, Result};

/// Implements the effects of a context with the fields `attempt` and `owner`. The texts are for
/// the documentation.
macro_rules! effects {
    (
        $context:ident,
        belongs: $belongs:literal,
        attempt: $attempt:literal,
        transaction: $transaction:literal,
        result: $result:literal $(,)?
    ) => {
        impl<A> ::std::ops::Deref for $context<A> {
            type Target = A;
            fn deref(&self) -> &A {
                &self.owner
            }
        }

        impl<A> $context<A> {
            fn invocation(&self) -> &$crate::wire::Invocation {
                &self.attempt.0.invocation
            }

            #[doc = concat!("The tenant that the ", $belongs, " belongs to.")]
            pub fn namespace(&self) -> &str {
                &self.invocation().namespace
            }

            #[doc = concat!("A little before the host ends the ", $attempt, ". Time during which the host")]
            /// did not run does not count: it may end later.
            pub fn deadline(&self) -> $crate::Timestamp {
                self.attempt.deadline()
            }

            /// The real time. A module without WASI has no clock; there it is the time at
            #[doc = concat!("which the ", $attempt, " began.")]
            pub fn now(&self) -> $crate::Timestamp {
                self.attempt.now()
            }

            /// A value of the deployment's configuration.
            pub fn config(&self, name: &str) -> Option<String> {
                self.attempt.config(name)
            }

            #[doc = concat!("The transaction of the ", $transaction, ". It begins with the first statement and")]
            #[doc = concat!("commits together with ", $result, ", or neither does. A failed ", $transaction)]
            /// is rolled back.
            pub fn transaction(&self) -> $crate::Transaction {
                $crate::transaction::Transaction::new(self.attempt.clone())
            }

            /// HTTP calls, to the hosts that the deployment was granted. The host refuses
            /// them once the transaction has begun: call out first.
            pub fn http(&self) -> $crate::Http {
                $crate::http_call::Http::new(self.attempt.clone())
            }
        }
    };
}

pub(crate) use effects;

/// Runs a future that makes only immediate calls to its end; `what` names it in errors.
pub(crate) fn poll_once<T, E: Into<Error>>(
    what: fmt::Arguments<'_>,
    future: impl Future<Output = std::result::Result<T, E>>,
) -> Result<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result.map_err(Into::into),
        Poll::Pending => Err(waited(what)),
    }
}

fn waited(what: fmt::Arguments<'_>) -> Error {
    let message = format!("{what} waits for a future that is not ready: an attempt runs in one go");
    Error::with_code(&codes::WRONG_CONTEXT, message)
}
