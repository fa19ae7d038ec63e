//! Executions that run for longer than one call waits.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::*;

/// A host where an execution runs for some time, and a call waits for as long as it may.
struct Host {
    end: Instant,
    ends_as: proto::State,
    /// The names, run ids and waits of the calls.
    calls: Mutex<Vec<(String, String, i64)>>,
}

impl Host {
    fn new(runs_for: Duration, ends_as: proto::State) -> Self {
        Host {
            end: Instant::now() + runs_for,
            ends_as,
            calls: Mutex::default(),
        }
    }

    async fn answer(
        &self,
        name: String,
        run_id: String,
        wait: Option<prost_types::Duration>,
    ) -> Option<proto::Execution> {
        let seconds = wait.map_or(0, |wait| wait.seconds);
        self.keep((name, run_id, seconds));
        let over = Instant::now() + Duration::from_secs(seconds.unsigned_abs());
        sleep_until(over.min(self.end)).await;
        let state = match Instant::now() < self.end {
            true => proto::State::Running,
            false => self.ends_as,
        };
        Some(proto::Execution {
            name: "shop/Buy/k".to_owned(),
            state: state.into(),
            run_id: "b2".to_owned(),
            chain_id: "a1".to_owned(),
            ..proto::Execution::default()
        })
    }

    fn keep(&self, call: (String, String, i64)) {
        let mut calls = self.calls.lock().expect("nothing panics there");
        calls.push(call);
    }

    fn calls(&self) -> Vec<(String, String, i64)> {
        self.calls.lock().expect("nothing panics there").clone()
    }
}

impl Waits for &Host {
    async fn start(
        self,
        request: Request<proto::StartExecutionRequest>,
    ) -> Result<Response<Start>, Status> {
        let request = request.into_inner();
        let workflow = request.start.unwrap_or_default().workflow;
        let execution = self.answer(workflow, String::new(), request.wait).await;
        Ok(Response::new(Start {
            execution,
            existed: false,
        }))
    }

    async fn wait(
        self,
        request: Request<proto::WaitExecutionRequest>,
    ) -> Result<Response<End>, Status> {
        let request = request.into_inner();
        let execution = self
            .answer(request.execution, request.run_id, request.wait)
            .await;
        Ok(Response::new(End { execution }))
    }
}

fn call(name: &str, run_id: &str) -> (String, String, i64) {
    (name.to_owned(), run_id.to_owned(), WAIT_OF_A_CALL.seconds)
}

/// A cluster that is not called: nothing listens at its address.
fn cluster() -> Cluster {
    Cluster::connect("127.0.0.1:1", "shop").expect("an address")
}

fn start() -> proto::StartExecutionRequest {
    let start = proto::StartOptions {
        workflow: "shop/Buy".to_owned(),
        ..proto::StartOptions::default()
    };
    proto::StartExecutionRequest {
        start: Some(start),
        ..proto::StartExecutionRequest::default()
    }
}

fn wait() -> proto::WaitExecutionRequest {
    proto::WaitExecutionRequest {
        execution: "shop/Buy/k".to_owned(),
        ..proto::WaitExecutionRequest::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_run_is_awaited_by_several_calls() {
    let host = Host::new(Duration::from_secs(170), proto::State::Completed);
    let found = execute(cluster().first_attempt(), || &host, start()).await;
    assert_eq!(found.expect("it ends").state(), proto::State::Completed);
    let again = call("shop/Buy/k", "a1");
    let calls = [call("shop/Buy", ""), again.clone(), again.clone(), again];
    assert_eq!((host.calls(), Instant::now()), (calls.to_vec(), host.end));
}

#[tokio::test(start_paused = true)]
async fn a_run_is_awaited_by_its_name() {
    let host = Host::new(Duration::from_secs(70), proto::State::Failed);
    let found = await_end(cluster().first_attempt(), || &host, wait()).await;
    assert_eq!(found.expect("it ends").state(), proto::State::Failed);
    assert_eq!(host.calls(), vec![call("shop/Buy/k", ""); 2]);
}

#[tokio::test(start_paused = true)]
async fn a_paused_run_is_not_awaited() {
    let host = Host::new(Duration::ZERO, proto::State::Paused);
    let found = execute(cluster().first_attempt(), || &host, start()).await;
    assert_eq!(found.expect("it is found").state(), proto::State::Paused);
    assert_eq!(host.calls(), [call("shop/Buy", "")]);
}

#[tokio::test(start_paused = true)]
async fn the_calls_of_a_wait_share_its_time() {
    let time = Duration::from_secs(120);
    let (cluster, begun) = (cluster().with_timeout(time), Instant::now());
    let host = Host::new(10 * time, proto::State::Completed);
    let late = execute(cluster.first_attempt(), || &host, start()).await;
    assert_eq!(late.expect_err("its time is over").code(), "CR-5008");
    assert_eq!((host.calls().len(), begun.elapsed()), (3, time));
}

/// A host that is gone after its first answer.
struct Gone;

impl Waits for Gone {
    async fn start(
        self,
        _: Request<proto::StartExecutionRequest>,
    ) -> Result<Response<Start>, Status> {
        let execution = proto::Execution {
            state: proto::State::Running.into(),
            ..proto::Execution::default()
        };
        Ok(Response::new(Start {
            execution: Some(execution),
            existed: false,
        }))
    }

    async fn wait(self, _: Request<proto::WaitExecutionRequest>) -> Result<Response<End>, Status> {
        let error = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        Err(Status::from_error(Box::new(tonic::ConnectError(Box::new(
            error,
        )))))
    }
}

/// The caller of a start that was answered is not told that it was not sent.
#[tokio::test(start_paused = true)]
async fn a_start_was_sent_if_the_host_is_gone_later() {
    let cluster = cluster().with_timeout(Duration::from_secs(1));
    let lost = execute(cluster.first_attempt(), || Gone, start()).await;
    let error = lost.expect_err("no host answers");
    assert_eq!(error.code(), "CR-5010");
    assert!(!error.message().contains("not sent"), "{error}");
}
