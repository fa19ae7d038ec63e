//! How a cluster is connected to.

use std::time::Duration;

use cruster::__private::BAD_CONFIG;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::Endpoint;

use crate::cluster::{Cluster, Shared};
use crate::error::{Error, Result};

/// How much a host may send ahead of the reader.
const WINDOW: u32 = 1 << 20;
/// How often a silent connection is tried. A call that waits for an answer may be silent for long;
/// without it the call would not notice that its host is gone.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(10);
const CONNECT: Duration = Duration::from_secs(5);

/// Options of a connection: [`Cluster::options`] makes them, and [`connect`](Options::connect) uses
/// them.
///
/// ```
/// use std::time::Duration;
/// use cruster_client::Cluster;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), cruster_client::Error> {
/// let cluster = Cluster::options("127.0.0.1:7600", "orders")
///     .namespace("shop")
///     .timeout(Duration::from_secs(10))
///     .connect()?;
/// # let _ = cluster;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is connected before `connect`"]
pub struct Options {
    address: String,
    deployment: String,
    namespace: String,
    retry_for: Duration,
    timeout: Option<Duration>,
    token: Option<String>,
    #[cfg(feature = "tls")]
    tls: Option<tonic::transport::ClientTlsConfig>,
}

impl Options {
    pub(crate) fn new(address: impl Into<String>, deployment: impl Into<String>) -> Self {
        Options {
            address: address.into(),
            deployment: deployment.into(),
            namespace: String::new(),
            retry_for: Duration::from_secs(30),
            timeout: None,
            token: None,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// The tenant of all calls. Defaults to the host's default namespace.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// For how long a call is repeated when no host answers or the host is full; zero means
    /// never. While a host has the call, that time fills again as fast as it is used up without
    /// one. Defaults to 30 seconds.
    pub fn retry_for(mut self, time: Duration) -> Self {
        self.retry_for = time;
        self
    }

    /// How long a call may take, with its repetitions. It ends the waiting, never the workflow.
    /// Defaults to no limit.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeout = Some(time);
        self
    }

    /// A token that each call carries, for a proxy in front of the host: `authorization: Bearer
    /// TOKEN`. Use it over an encrypted connection.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Encrypts the connection, and trusts the certificates that the machine trusts.
    #[cfg(feature = "tls")]
    pub fn tls(mut self) -> Self {
        let tls = self.tls.take().unwrap_or_default();
        self.tls = Some(tls.with_native_roots());
        self
    }

    /// Encrypts the connection, and trusts a certificate, in PEM.
    #[cfg(feature = "tls")]
    pub fn tls_certificate(mut self, pem: impl AsRef<[u8]>) -> Self {
        let tls = self.tls.take().unwrap_or_default();
        let certificate = tonic::transport::Certificate::from_pem(pem);
        self.tls = Some(tls.ca_certificate(certificate));
        self
    }

    /// Makes a cluster. It does not connect: the first call does. It is to be called in a tokio
    /// runtime.
    pub fn connect(self) -> Result<Cluster> {
        let token = match &self.token {
            Some(token) => Some(bearer(token)?),
            None => None,
        };
        let shared = Shared {
            channel: self.endpoint()?.connect_lazy(),
            token,
            retry_for: self.retry_for,
        };
        Ok(Cluster::new(
            shared,
            self.namespace,
            self.deployment,
            self.timeout,
        ))
    }

    fn endpoint(&self) -> Result<Endpoint> {
        let refuse = |e: tonic::transport::Error| {
            let cause =
                std::error::Error::source(&e).map_or_else(|| e.to_string(), |s| s.to_string());
            let message = format!("{:?} is not an address of a host: {cause}", self.address);
            Error::of(&BAD_CONFIG, message)
        };
        let endpoint = Endpoint::from_shared(format!("{}://{}", self.scheme(), self.address))
            .map_err(refuse)?
            .connect_timeout(CONNECT)
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE);
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            return endpoint.tls_config(tls.clone()).map_err(refuse);
        }
        Ok(endpoint)
    }

    fn scheme(&self) -> &'static str {
        #[cfg(feature = "tls")]
        if self.tls.is_some() {
            return "https";
        }
        "http"
    }
}

impl Cluster {
    /// The deployment of a module on the host at an address, `127.0.0.1:7600`. It does not
    /// connect: the first call does. It is to be called in a tokio runtime.
    pub fn connect(address: impl Into<String>, deployment: impl Into<String>) -> Result<Self> {
        Options::new(address, deployment).connect()
    }

    /// [`connect`](Cluster::connect) with options.
    pub fn options(address: impl Into<String>, deployment: impl Into<String>) -> Options {
        Options::new(address, deployment)
    }
}

fn bearer(token: &str) -> Result<MetadataValue<Ascii>> {
    let mut value: MetadataValue<Ascii> = format!("Bearer {token}")
        .parse()
        .map_err(|_| Error::of(&BAD_CONFIG, "a token has letters, digits and signs alone"))?;
    value.set_sensitive(true);
    Ok(value)
}
