//! The connection that everything is called through.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use cruster::__private::{BAD_INPUT, from_bytes, to_bytes};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::Channel;

use crate::error::{Error, Result};
use crate::proto;
use crate::proto::deferred_service_client::DeferredServiceClient;
use crate::proto::entity_service_client::EntityServiceClient;
use crate::proto::workflow_service_client::WorkflowServiceClient;

/// A deployment on a host, or on a cluster of hosts. Clones are cheap and share the connection;
/// one a process is enough.
#[derive(Clone)]
pub struct Cluster {
    pub(crate) shared: Arc<Shared>,
    pub(crate) namespace: String,
    pub(crate) deployment: String,
    pub(crate) timeout: Option<Duration>,
}

pub(crate) struct Shared {
    pub(crate) channel: Channel,
    pub(crate) token: Option<MetadataValue<Ascii>>,
    pub(crate) retry_for: Duration,
}

impl Cluster {
    pub(crate) fn new(
        shared: Shared,
        namespace: String,
        deployment: String,
        timeout: Option<Duration>,
    ) -> Self {
        Cluster {
            shared: Arc::new(shared),
            namespace,
            deployment,
            timeout,
        }
    }

    /// Another deployment on the same connection.
    #[must_use]
    pub fn with_deployment(&self, deployment: impl Into<String>) -> Self {
        Cluster {
            deployment: deployment.into(),
            ..self.clone()
        }
    }

    /// The same, with another limit of time for each call: see [`timeout`](crate::Options::timeout).
    #[must_use]
    pub fn with_timeout(&self, time: Duration) -> Self {
        Cluster {
            timeout: Some(time),
            ..self.clone()
        }
    }

    /// The connection itself, for the clients in [`proto`]. Calls that are made with them are
    /// not repeated, and carry no token.
    pub fn channel(&self) -> Channel {
        self.shared.channel.clone()
    }

    pub(crate) fn workflows(&self) -> WorkflowServiceClient<Channel> {
        WorkflowServiceClient::new(self.channel()).max_decoding_message_size(usize::MAX)
    }

    pub(crate) fn entities(&self) -> EntityServiceClient<Channel> {
        EntityServiceClient::new(self.channel()).max_decoding_message_size(usize::MAX)
    }

    pub(crate) fn deferreds(&self) -> DeferredServiceClient<Channel> {
        DeferredServiceClient::new(self.channel())
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("namespace", &self.namespace)
            .field("deployment", &self.deployment)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// Encodes a value; `what` names it in errors.
pub(crate) fn encode<T: Serialize + ?Sized>(
    what: impl fmt::Display,
    value: &T,
) -> Result<Option<proto::Payload>> {
    match to_bytes(value) {
        Ok(data) => Ok(proto::packed(data)),
        Err(e) => Err(Error::of(
            &BAD_INPUT,
            format!("{what} does not encode: {e}"),
        )),
    }
}

/// Decodes a value that a host has answered.
pub(crate) fn decode<T: DeserializeOwned>(
    what: impl fmt::Display,
    payload: Option<proto::Payload>,
) -> Result<T> {
    from_bytes(&proto::unpacked(payload))
        .map_err(|e| Error::of(&BAD_INPUT, format!("{what} does not fit: {e}")))
}

/// An id for a request, by which a host knows it again.
pub(crate) fn request_id(given: Option<&str>) -> String {
    match given {
        Some(id) => id.to_owned(),
        None => format!("{:032x}", rand::random::<u128>()),
    }
}
