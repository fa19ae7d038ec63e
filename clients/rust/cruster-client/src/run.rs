//! One execution.

use std::fmt;
use std::marker::PhantomData;

use cruster::{Accepts, Answers, Deferred, Publishes, Query, Signal, Takes, Update, Workflow};
use serde::Serialize;

use crate::cluster::{Cluster, decode, encode, request_id};
use crate::error::{Error, Result};
use crate::proto;
use crate::retry::Repeat;
use crate::state::State;

/// The state of an execution as [`Run::poll`] sees it.
#[derive(Debug)]
pub struct Status<T> {
    /// How far it is.
    pub state: State,
    /// How it ended, or why it is paused; `None` while it runs.
    pub outcome: Option<Result<T>>,
}

/// One execution of a workflow; [`WorkflowClient::start`](crate::WorkflowClient::start) and
/// [`attach`](crate::WorkflowClient::attach) make them.
pub struct Run<W> {
    cluster: Cluster,
    execution: String,
    existed: bool,
    workflow: PhantomData<fn() -> W>,
}

impl<W: Workflow> Run<W> {
    pub(crate) fn new(cluster: Cluster, execution: String, existed: bool) -> Self {
        Run {
            cluster,
            execution,
            existed,
            workflow: PhantomData,
        }
    }

    /// Its name, which finds it again from anywhere: `deployment/Workflow/key`.
    pub fn execution(&self) -> &str {
        &self.execution
    }

    /// Whether it had been started before.
    pub fn existed(&self) -> bool {
        self.existed
    }

    /// Waits for the result. The error of a workflow that fails, is interrupted or is paused has
    /// a [state](Error::state).
    pub async fn wait(&self) -> Result<W::Response> {
        let request = proto::WaitExecutionRequest {
            namespace: self.cluster.namespace.clone(),
            execution: self.execution.clone(),
            encoding: proto::Encoding::Msgpack.into(),
            ..proto::WaitExecutionRequest::default()
        };
        result_of(self.cluster.await_end(request).await?)
    }

    /// Tells at once how far it is.
    pub async fn poll(&self) -> Result<Status<W::Response>> {
        let request = proto::GetExecutionRequest {
            namespace: self.cluster.namespace.clone(),
            execution: self.execution.clone(),
            encoding: proto::Encoding::Msgpack.into(),
            ..proto::GetExecutionRequest::default()
        };
        let call = self.cluster.call(Repeat::Yes, |attempt| {
            let request = attempt.request(request.clone());
            let mut workflows = self.cluster.workflows();
            async move { workflows.get_execution(request).await }
        });
        let execution = call.await?.execution.unwrap_or_default();
        let state = State::of(&execution);
        Ok(Status {
            state,
            outcome: (state != State::Running).then(|| result_of(execution)),
        })
    }

    /// Asks it to stop. It is done when the request is durable; [`wait`](Run::wait) is done when
    /// the workflow has cleaned up.
    pub async fn interrupt(&self, reason: &str) -> Result<()> {
        let request = proto::InterruptExecutionRequest {
            namespace: self.cluster.namespace.clone(),
            execution: self.execution.clone(),
            reason: reason.to_owned(),
        };
        let call = self.cluster.call(Repeat::Yes, |attempt| {
            let request = attempt.request(request.clone());
            let mut workflows = self.cluster.workflows();
            async move { workflows.interrupt_execution(request).await }
        });
        call.await.map(|_| ())
    }

    /// Ends it at once, running or paused, without its cleanup. It is done when that is durable.
    pub async fn terminate(&self, reason: &str) -> Result<()> {
        let request = proto::TerminateExecutionRequest {
            namespace: self.cluster.namespace.clone(),
            execution: self.execution.clone(),
            reason: reason.to_owned(),
        };
        let call = self.cluster.call(Repeat::Yes, |attempt| {
            let request = attempt.request(request.clone());
            let mut workflows = self.cluster.workflows();
            async move { workflows.terminate_execution(request).await }
        });
        call.await.map(|_| ())
    }

    /// Sends it a signal. It is done when the signal is durable; the workflow receives it when it
    /// asks for it. A signal that the workflow does not list does not compile:
    ///
    /// ```compile_fail,E0277
    /// # use cruster_client::Run;
    /// # async fn example(order: Run<orders_rust::ProcessOrder>) {
    /// let plan = "large".to_owned();
    /// order.signal(cart_rust::ChangePlan { plan }).await;
    /// # }
    /// ```
    pub async fn signal<S: Signal>(&self, signal: S) -> Result<()>
    where
        W: Accepts<S>,
    {
        let request = proto::SignalExecutionRequest {
            namespace: self.cluster.namespace.clone(),
            execution: self.execution.clone(),
            signal: Some(signal_options(signal)?),
        };
        let call = self.cluster.call(Repeat::Yes, |attempt| {
            let request = attempt.request(request.clone());
            let mut workflows = self.cluster.workflows();
            async move { workflows.signal_execution(request).await }
        });
        call.await.map(|_| ())
    }

    /// Asks it a question, and returns the workflow's reply at this moment.
    pub async fn query<Q: Query>(&self, query: Q) -> Result<Q::Answer>
    where
        W: Answers<Q>,
    {
        let what = format!("query {}", Q::NAME);
        let request = proto::QueryExecutionRequest {
            namespace: self.cluster.namespace.clone(),
            execution: self.execution.clone(),
            name: Q::NAME.to_owned(),
            input: encode(format_args!("the input of {what}"), &query)?,
            encoding: proto::Encoding::Msgpack.into(),
        };
        let call = self.cluster.call(Repeat::Yes, |attempt| {
            let request = attempt.request(request.clone());
            let mut workflows = self.cluster.workflows();
            async move { workflows.query_execution(request).await }
        });
        decode(format_args!("the answer to {what}"), call.await?.value)
    }

    /// Asks it for a change, and returns the workflow's answer; the change is durable by then.
    pub async fn update<U: Update>(&self, update: U) -> Result<U::Answer>
    where
        W: Takes<U>,
    {
        self.update_as(None, update).await
    }

    /// [`update`](Run::update) with a request id of the caller's, so that it is safe to make the
    /// request again after a lost answer, also from another process: requests with the same id take
    /// effect once, and are answered the same.
    pub async fn update_with_request_id<U: Update>(&self, id: &str, update: U) -> Result<U::Answer>
    where
        W: Takes<U>,
    {
        self.update_as(Some(id), update).await
    }

    async fn update_as<U: Update>(&self, id: Option<&str>, update: U) -> Result<U::Answer> {
        let what = format!("update {}", U::NAME);
        let request = proto::UpdateExecutionRequest {
            namespace: self.cluster.namespace.clone(),
            execution: self.execution.clone(),
            name: U::NAME.to_owned(),
            input: encode(format_args!("the input of {what}"), &update)?,
            request_id: request_id(id),
            encoding: proto::Encoding::Msgpack.into(),
        };
        let call = self.cluster.call(Repeat::Yes, |attempt| {
            let request = attempt.request(request.clone());
            let mut workflows = self.cluster.workflows();
            async move { workflows.update_execution(request).await }
        });
        let response = call.await?;
        match response.error {
            Some(error) => Err(Error::from_wire(error)),
            None => decode(format_args!("the answer to {what}"), response.value),
        }
    }

    /// Reads a value that it has published, also if it has ended. `None` if it has not published
    /// it, or has taken it back.
    pub async fn published<P: cruster::State>(&self) -> Result<Option<P>>
    where
        W: Publishes<P>,
    {
        let request = proto::GetExecutionStateRequest {
            namespace: self.cluster.namespace.clone(),
            execution: self.execution.clone(),
            name: P::NAME.to_owned(),
            encoding: proto::Encoding::Msgpack.into(),
        };
        let call = self.cluster.call(Repeat::Yes, |attempt| {
            let request = attempt.request(request.clone());
            let mut workflows = self.cluster.workflows();
            async move { workflows.get_execution_state(request).await }
        });
        match call.await?.state.into_iter().next() {
            Some(found) => decode(format_args!("the state {}", P::NAME), found.value).map(Some),
            None => Ok(None),
        }
    }

    /// Settles one of its deferreds with a value. The error of a deferred that was settled before has
    /// the code `CR-2013`.
    pub async fn resolve<T: Serialize>(&self, deferred: Deferred<T>, value: T) -> Result<()> {
        let request = proto::ResolveDeferredRequest {
            namespace: self.cluster.namespace.clone(),
            execution: self.execution.clone(),
            name: deferred.name().to_owned(),
            value: encode(format_args!("the value of {}", deferred.name()), &value)?,
        };
        let call = self.cluster.call(Repeat::No, |attempt| {
            let request = attempt.request(request.clone());
            let mut deferreds = self.cluster.deferreds();
            async move { deferreds.resolve_deferred(request).await }
        });
        call.await.map(|_| ())
    }

    /// Settles one of its deferreds with an error. The type, which may be empty, is for the
    /// workflow to switch on.
    pub async fn reject<T>(
        &self,
        deferred: Deferred<T>,
        error_type: &str,
        message: &str,
    ) -> Result<()> {
        let request = proto::RejectDeferredRequest {
            namespace: self.cluster.namespace.clone(),
            execution: self.execution.clone(),
            name: deferred.name().to_owned(),
            message: message.to_owned(),
            r#type: error_type.to_owned(),
        };
        let call = self.cluster.call(Repeat::No, |attempt| {
            let request = attempt.request(request.clone());
            let mut deferreds = self.cluster.deferreds();
            async move { deferreds.reject_deferred(request).await }
        });
        call.await.map(|_| ())
    }
}

impl<W> fmt::Debug for Run<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Run").field(&self.execution).finish()
    }
}

pub(crate) fn signal_options<S: Signal>(signal: S) -> Result<proto::SignalOptions> {
    Ok(proto::SignalOptions {
        name: S::NAME.to_owned(),
        value: encode(format_args!("the value of signal {}", S::NAME), &signal)?,
        request_id: request_id(None),
    })
}

/// The result of an execution that waits no more.
pub(crate) fn result_of<T: serde::de::DeserializeOwned>(execution: proto::Execution) -> Result<T> {
    match State::of(&execution) {
        State::Completed => decode(
            format_args!("the result of {}", execution.name),
            execution.result,
        ),
        state => Err(Error::of_run(execution, state)),
    }
}
