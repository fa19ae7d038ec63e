//! Waits for the ends of executions.

use std::future::Future;

use tonic::transport::Channel;
use tonic::{Request, Response, Status};

use crate::cluster::Cluster;
use crate::error::Result;
use crate::proto;
use crate::proto::workflow_service_client::WorkflowServiceClient;
use crate::retry::{Attempt, Repeat};

/// How long one call waits for the end of an execution; then the client asks again. Proxies cut off
/// calls that are silent for a minute or longer.
const WAIT_OF_A_CALL: prost_types::Duration = prost_types::Duration {
    seconds: 50,
    nanos: 0,
};

impl Cluster {
    /// Waits until an execution is final or paused.
    pub(crate) async fn await_end(
        &self,
        request: proto::WaitExecutionRequest,
    ) -> Result<proto::Execution> {
        await_end(self.first_attempt(), || self.workflows(), request).await
    }

    /// Starts an execution, or finds the execution that was started under the same key, and awaits
    /// its end.
    pub(crate) async fn execute(
        &self,
        request: proto::StartExecutionRequest,
    ) -> Result<proto::Execution> {
        execute(self.first_attempt(), || self.workflows(), request).await
    }
}

/// The calls that wait, each for a while.
trait Waits {
    fn start(self, request: Request<proto::StartExecutionRequest>) -> impl Answer<Start>;
    fn wait(self, request: Request<proto::WaitExecutionRequest>) -> impl Answer<End>;
}

type Start = proto::StartExecutionResponse;
type End = proto::WaitExecutionResponse;

trait Answer<T>: Future<Output = Result<Response<T>, Status>> + Send {}
impl<T, F: Future<Output = Result<Response<T>, Status>> + Send> Answer<T> for F {}

impl Waits for WorkflowServiceClient<Channel> {
    async fn start(
        mut self,
        request: Request<proto::StartExecutionRequest>,
    ) -> Result<Response<Start>, Status> {
        self.start_execution(request).await
    }

    async fn wait(
        mut self,
        request: Request<proto::WaitExecutionRequest>,
    ) -> Result<Response<End>, Status> {
        self.wait_execution(request).await
    }
}

/// Waits until an execution is final or paused, with as many calls as that takes.
async fn await_end<W: Waits>(
    mut attempt: Attempt<'_>,
    workflows: impl Fn() -> W,
    mut request: proto::WaitExecutionRequest,
) -> Result<proto::Execution> {
    request.wait = Some(WAIT_OF_A_CALL);
    loop {
        let call = attempt.call(Repeat::Yes, |attempt| {
            workflows().wait(attempt.request(request.clone()))
        });
        let execution = call.await?.execution.unwrap_or_default();
        if execution.state() != proto::State::Running {
            return Ok(execution);
        }
        attempt.again = true;
    }
}

/// If another run takes the name of the execution meanwhile, that run is not waited for.
async fn execute<W: Waits>(
    mut attempt: Attempt<'_>,
    workflows: impl Fn() -> W,
    mut request: proto::StartExecutionRequest,
) -> Result<proto::Execution> {
    request.wait = Some(WAIT_OF_A_CALL);
    let call = attempt.call(Repeat::Yes, |attempt| {
        workflows().start(attempt.request(request.clone()))
    });
    let execution = call.await?.execution.unwrap_or_default();
    if execution.state() != proto::State::Running {
        return Ok(execution);
    }
    attempt.again = true;
    let wait = proto::WaitExecutionRequest {
        namespace: request.start.unwrap_or_default().namespace,
        execution: execution.name,
        run_id: execution.chain_id,
        encoding: request.encoding,
        wait: None,
    };
    await_end(attempt, workflows, wait).await
}

#[cfg(test)]
#[path = "waiting_test.rs"]
mod waiting_test;
