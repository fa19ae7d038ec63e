//! Clients of workflows.

use std::marker::PhantomData;

use cruster::{Accepts, CallsWorkflows, Signal, Workflow};

use crate::cluster::{Cluster, encode};
use crate::error::Result;
use crate::proto;
use crate::proto::start_options::Idempotency;
use crate::retry::Repeat;
use crate::run::{Run, result_of, signal_options};
use crate::start::{IfFinished, Start};

/// Starts executions of a workflow: `ProcessOrder::client(&cluster)` makes one.
pub struct WorkflowClient<W> {
    cluster: Cluster,
    start: Start,
    workflow: PhantomData<fn() -> W>,
}

impl CallsWorkflows for Cluster {
    type Client<W: Workflow> = WorkflowClient<W>;

    fn client_of<W: Workflow>(&self) -> WorkflowClient<W> {
        WorkflowClient {
            cluster: self.clone(),
            start: Start::default(),
            workflow: PhantomData,
        }
    }
}

impl<W> Clone for WorkflowClient<W> {
    fn clone(&self) -> Self {
        WorkflowClient {
            cluster: self.cluster.clone(),
            start: self.start.clone(),
            workflow: PhantomData,
        }
    }
}

impl<W: Workflow> WorkflowClient<W> {
    /// A copy whose starts use the SHA-256 of `key` as the idempotency key, instead of the key that the
    /// workflow derives from the request.
    #[must_use]
    pub fn with_key(&self, key: impl Into<String>) -> Self {
        self.keyed(Idempotency::Key(key.into()))
    }

    /// A copy whose starts use `key` itself, which shows in the name of the execution.
    #[must_use]
    pub fn with_key_raw(&self, key: impl Into<String>) -> Self {
        self.keyed(Idempotency::RawKey(key.into()))
    }

    fn keyed(&self, key: Idempotency) -> Self {
        let mut copy = self.clone();
        copy.start.key = Some(key);
        copy
    }

    /// A copy whose starts do this if a run under their key has ended.
    #[must_use]
    pub fn if_finished(&self, then: IfFinished) -> Self {
        let mut copy = self.clone();
        copy.start.if_finished = then;
        copy
    }

    /// A copy whose starts have this request id: all starts of a new run in place of a
    /// finished run start one run, however often they are repeated, also from another process.
    /// Without it each call draws one.
    #[must_use]
    pub fn with_request_id(&self, id: impl Into<String>) -> Self {
        let mut copy = self.clone();
        copy.start.request_id = Some(id.into());
        copy
    }

    /// Starts an execution, or finds the execution with the same key, and waits for
    /// its result.
    pub async fn execute(&self, request: W::Request) -> Result<W::Response> {
        let request = proto::StartExecutionRequest {
            start: Some(self.options(&request)?),
            encoding: proto::Encoding::Msgpack.into(),
            wait: None,
        };
        result_of(self.cluster.execute(request).await?)
    }

    /// Starts an execution, or finds the execution with the same key. It is done as
    /// soon as the start is durable.
    pub async fn start(&self, request: W::Request) -> Result<Run<W>> {
        let request = proto::StartExecutionRequest {
            start: Some(self.options(&request)?),
            encoding: proto::Encoding::Msgpack.into(),
            wait: None,
        };
        let call = self.cluster.call(Repeat::Yes, |attempt| {
            let request = attempt.request(request.clone());
            let mut workflows = self.cluster.workflows();
            async move { workflows.start_execution(request).await }
        });
        let response = call.await?;
        Ok(self.run(response.execution, response.existed))
    }

    /// Sends a signal to an execution, and starts it first if it is not there: then both are
    /// durable, or neither.
    pub async fn signal_with_start<S: Signal>(
        &self,
        request: W::Request,
        signal: S,
    ) -> Result<Run<W>>
    where
        W: Accepts<S>,
    {
        let mut start = self.options(&request)?;
        if self.start.request_id.is_none() {
            start.request_id.clear(); // the signal has one
        }
        let request = proto::SignalWithStartRequest {
            start: Some(start),
            signal: Some(signal_options(signal)?),
            encoding: proto::Encoding::Msgpack.into(),
        };
        let call = self.cluster.call(Repeat::Yes, |attempt| {
            let request = attempt.request(request.clone());
            let mut workflows = self.cluster.workflows();
            async move { workflows.signal_with_start(request).await }
        });
        let response = call.await?;
        Ok(self.run(response.execution, response.existed))
    }

    /// The execution of a name, `deployment/Workflow/key`. It does not ask the host whether there
    /// is one.
    pub fn attach(&self, execution: impl Into<String>) -> Run<W> {
        Run::new(self.cluster.clone(), execution.into(), true)
    }

    fn run(&self, execution: Option<proto::Execution>, existed: bool) -> Run<W> {
        let name = execution.unwrap_or_default().name;
        Run::new(self.cluster.clone(), name, existed)
    }

    fn options(&self, request: &W::Request) -> Result<proto::StartOptions> {
        let name = format!("{}/{}", self.cluster.deployment, W::NAME);
        let input = encode(format_args!("the request of {name}"), request)?;
        Ok(self.start.options(&self.cluster.namespace, name, input))
    }
}
