//! Calls of other workflows.

use std::future::{Future, poll_fn};
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::context::InWorkflow;
use crate::error::{Error, Result};
use crate::executor::ContextCore;
use crate::host::{CALL, Call, INTERRUPT, POLL, SEND};
use crate::op::{Op, RawOp};
use crate::payload;
use crate::wire::{self, PollReply, Wire};
use crate::workflow::Workflow;

/// A caller of workflows: the `self` of a workflow's `execute`; and outside of modules the
/// `Cluster` of the crate `cruster-client`.
#[diagnostic::on_unimplemented(
    message = "make durable calls in a workflow's `execute`",
    label = "this is not the `self` of a workflow's `execute` or of one of its helpers",
    note = "activities cannot call other workflows: return from the activity and call them in `execute`"
)]
pub trait CallsWorkflows {
    /// The client of a workflow.
    type Client<W: Workflow>;
    /// Makes the client of a workflow.
    #[doc(hidden)]
    fn client_of<W: Workflow>(&self) -> Self::Client<W>;
}

#[diagnostic::do_not_recommend]
impl<C: InWorkflow> CallsWorkflows for C {
    type Client<W: Workflow> = Client<W::Request, W::Response>;

    fn client_of<W: Workflow>(&self) -> Client<W::Request, W::Response> {
        Client::new(self, W::NAME)
    }
}

/// Calls another workflow, which runs as a separate execution. Get one from
/// `OtherWorkflow::client(self)`, or from [`remote`] for a workflow of another
/// deployment.
pub struct Client<Req, Res> {
    core: ContextCore,
    workflow: String,
    key: String,
    mode: &'static str,
    on_cancel: OnCancel,
    types: PhantomData<fn(Req) -> Res>,
}

/// The fate of a workflow started by [`Client::execute`] when its caller does not wait for it any
/// more: the call was dropped, or the caller has ended, however it ended. A workflow that was
/// running under its key already is left alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnCancel {
    /// It is asked to stop, as by an interrupt: it cleans up. The caller does not wait for
    /// that.
    #[default]
    Cancel,
    /// It ends at once, as interrupted, with the code `CR-2046`. Its cleanup does not run.
    Terminate,
    /// It goes on.
    Abandon,
}

impl OnCancel {
    fn wire(self) -> &'static str {
        match self {
            OnCancel::Cancel => "cancel",
            OnCancel::Terminate => "terminate",
            OnCancel::Abandon => "abandon",
        }
    }
}

/// The client of a workflow of another deployment, named `deployment/Name`.
pub fn remote<Req: Serialize, Res: DeserializeOwned>(
    cx: &impl InWorkflow,
    workflow: &str,
) -> Client<Req, Res> {
    Client::new(cx, workflow)
}

impl<Req: Serialize, Res: DeserializeOwned> Client<Req, Res> {
    pub(crate) fn new(cx: &impl InWorkflow, workflow: &str) -> Self {
        Client {
            core: cx.context().clone(),
            workflow: workflow.to_owned(),
            key: String::new(),
            mode: "",
            on_cancel: OnCancel::default(),
            types: PhantomData,
        }
    }

    /// Uses the SHA-256 of `key` as the idempotency key, instead of the key derived from the
    /// request.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self.mode = "hashed";
        self
    }

    /// Uses `key` itself as the idempotency key.
    #[must_use]
    pub fn with_key_raw(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self.mode = "raw";
        self
    }

    /// Sets the fate of the workflow when its caller gives up waiting for it.
    ///
    /// ```
    /// # use cruster::prelude::*;
    /// # #[workflow]
    /// # pub struct Example;
    /// # #[workflow_impl]
    /// # impl Example {
    /// async fn execute(&self, month: String) -> Result<String, Error> {
    ///     cruster::remote(self, "books/Report")
    ///         .on_cancel(cruster::OnCancel::Abandon)
    ///         .execute(month)
    ///         .await
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn on_cancel(mut self, policy: OnCancel) -> Self {
        self.on_cancel = policy;
        self
    }

    /// Runs the workflow and waits for its result. If an execution with the same key
    /// exists, this waits for the result of that one. If it is dropped, or the caller ends, the
    /// workflow is given up: see [`OnCancel`].
    #[track_caller]
    pub fn execute(&self, request: Req) -> Op<Res> {
        self.issue(&CALL, &request, self.on_cancel.wire())
    }

    /// Starts the workflow and yields the id of its execution as soon as the start
    /// is durable.
    #[track_caller]
    pub fn start(&self, request: Req) -> Op<String> {
        self.issue(&SEND, &request, "")
    }

    /// Asks an execution to stop. It is done once that is durable; the execution cleans up in
    /// its own time. To wait for that, start it with [`start`](Client::start), interrupt it and
    /// wait for it with [`execute`](Client::execute) under its key.
    ///
    /// Asking again has no effect and is no error. For an execution that ended before the first
    /// request, the error has the code `CR-2012`.
    #[track_caller]
    pub fn interrupt(&self, execution: &str, reason: &str) -> Op<()> {
        let body = wire::Interrupt {
            execution: execution.to_owned(),
            reason: reason.to_owned(),
        };
        let what = format!("interrupt of {execution}");
        Op::new(&self.core, &INTERRUPT, what, Ok(body.encode()))
    }

    #[track_caller]
    fn issue<T: DeserializeOwned>(
        &self,
        call: &'static Call,
        request: &Req,
        on_cancel: &str,
    ) -> Op<T> {
        let what = format!("workflow {}", self.workflow);
        let body = payload::encode(format_args!("the request of {what}"), request).map(|input| {
            wire::Call {
                input: Some(input),
                key: self.key.clone(),
                key_mode: self.mode.to_owned(),
                on_cancel: on_cancel.to_owned(),
                workflow: self.workflow.clone(),
            }
            .encode()
        });
        Op::new(&self.core, call, what, body)
    }

    /// Looks at an execution without waiting for its end.
    #[track_caller]
    pub fn poll(&self, execution: impl Into<String>) -> impl Future<Output = Result<Poll<Res>>> {
        let execution = execution.into();
        let what = format!("poll of {execution}");
        let body = wire::Poll { execution }.encode();
        let core = self.core.clone();
        let asked = RawOp::new(core.clone(), &POLL, Ok(body));
        async move {
            let raw = asked.await?;
            let reply = PollReply::decode(&raw).map_err(|e| Error::from(e).context(&what))?;
            let outcome = match reply.outcome {
                None => None,
                Some(outcome) => Some(match outcome.into_result() {
                    Err(fault) => Err(Error::from_fault(fault)),
                    Ok(value) => Ok(poll_fn(|_| core.read_result(&what, &value)).await?),
                }),
            };
            Ok(Poll {
                state: reply.state,
                outcome,
            })
        }
    }
}

/// The state of an execution as seen by [`Client::poll`].
#[derive(Debug)]
pub struct Poll<Res> {
    /// `running`, `paused`, `completed`, `failed` or `interrupted`.
    pub state: String,
    /// How it ended; `None` while it runs.
    pub outcome: Option<Result<Res>>,
}
