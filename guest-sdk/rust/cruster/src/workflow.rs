//! Workflows as types, and how their code is run.

use std::future::Future;
use std::ops::Deref;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codec;
use crate::codes;
use crate::context::{InWorkflow, WorkflowContext};
use crate::definition::{ActivityDefinition, Start, WorkflowDefinition};
use crate::error::{Error, Result};
use crate::executor::LocalFuture;
use crate::owner::{self, Owner};
use crate::payload;
use crate::wire::{Outcome, Settled};

/// A workflow. `#[workflow_impl]` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a workflow",
    note = "mark the struct with #[workflow] and its impl block with #[workflow_impl]"
)]
pub trait Workflow: 'static {
    /// Its name.
    const NAME: &'static str;
    /// Its request.
    type Request: Serialize + DeserializeOwned + 'static;
    /// Its result.
    type Response: Serialize + DeserializeOwned + 'static;
    /// The entry in the module.
    #[doc(hidden)]
    const DEFINITION: WorkflowDefinition;
}

/// A set of activities that several workflows can use. `#[activity_group_impl]`
/// implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an activity group",
    note = "mark the struct with #[activity_group] and its impl block with #[activity_group_impl]"
)]
pub trait ActivityGroup: Default + 'static {
    /// The first part of the names of its activities.
    const NAME: &'static str;
    /// Their entries in the module.
    #[doc(hidden)]
    const ACTIVITIES: &'static [ActivityDefinition];
    /// A wrapper of a workflow's `self` that adds the calls of the group's activities.
    #[doc(hidden)]
    type Calls<Inner: InWorkflow>: InWorkflow + Deref<Target = Inner>;
    /// Wraps the `self` of a workflow.
    #[doc(hidden)]
    fn calls<Inner: InWorkflow>(inner: Inner) -> Self::Calls<Inner>;
}

/// Runs the code of a workflow: decodes its request and encodes its outcome.
pub fn run_workflow<W, E, F>(
    start: Start,
    execute: impl FnOnce(WorkflowContext<W>, W::Request) -> F + 'static,
) -> LocalFuture<Outcome>
where
    W: Workflow + Owner,
    E: Into<Error>,
    F: Future<Output = std::result::Result<W::Response, E>> + 'static,
{
    Box::pin(async move {
        let request = match decode_request::<W::Request>(W::NAME, &start.body) {
            Ok(request) => request,
            Err(fault) => return Outcome::failed(fault),
        };
        let core = start.core.clone();
        let workflow = owner::of(start.given);
        let result = execute(WorkflowContext::new(start.core, workflow), request).await;
        let result = result.map_err(Into::into);
        if let Some(input) = result.as_ref().err().and_then(Error::next_request) {
            return Outcome::continued(input.to_vec());
        }
        result
            .and_then(|response| {
                payload::encode(
                    format_args!("the result of workflow {}", W::NAME),
                    &response,
                )
            })
            .map_err(|e| e.of_workflow(&core.interrupt_reason().unwrap_or_default()))
            .into()
    })
}

/// Computes the key of a request. `key` also encodes the result of the author's
/// function, because that may borrow from the request.
pub fn derive_key<W: Workflow>(
    body: &[u8],
    key: impl FnOnce(&W::Request) -> Result<Vec<u8>>,
) -> Outcome {
    decode_request(W::NAME, body)
        .and_then(|request| key(&request).map_err(|e| e.under(&codes::KEY_FUNCTION)))
        .into()
}

/// Calls the author's key function. Its result may borrow from the request.
pub fn key_of<'r, R, K>(request: &'r R, key: impl FnOnce(&'r R) -> K) -> K {
    key(request)
}

/// A key that the host hashes; it may be of any type.
pub fn hashed_key<K: Serialize>(key: K) -> Result<Vec<u8>> {
    payload::encode("the key", &key)
}

/// A key that is used unchanged; it must be text.
pub fn raw_key<K: KeyText>(key: K) -> Result<Vec<u8>> {
    payload::encode("the key", &key.into_text())
}

/// The result of a function whose key is text: any type that converts to a `String`.
#[diagnostic::on_unimplemented(
    message = "this key must be text, but it is `{Self}`",
    label = "return a `String` or a `&str`, for instance with `.to_string()`",
    note = "the key of an activity is text, and so is that of a workflow with `hash = false`"
)]
pub trait KeyText {
    /// The text.
    fn into_text(self) -> String;
}

// Without this, errors would speak of `From` and not of keys.
#[diagnostic::do_not_recommend]
impl<T: Into<String>> KeyText for T {
    fn into_text(self) -> String {
        self.into()
    }
}

/// The key of an activity.
pub fn key_text<K: KeyText>(key: K) -> String {
    key.into_text()
}

fn decode_request<T: DeserializeOwned>(name: &str, body: &[u8]) -> Settled<T> {
    codec::decode(body)
        .map_err(|e| codes::BAD_INPUT.fault(format!("the request does not fit {name}: {e}")))
}
