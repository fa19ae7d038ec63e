//! HTTP calls of activities.

use std::time::Duration;

use crate::attempt::Attempt;
use crate::bytes::Bytes;
use crate::codes;
use crate::error::{Error, Result};
use crate::host::{HTTP, HTTP_ALL};
use crate::nanos::{clamp, nanos};
use crate::wire;

/// HTTP calls of an activity; see
/// [`ActivityContext::http`](crate::ActivityContext::http). A module has no
/// sockets: the host makes the call, if the deployment was granted its target.
///
/// ```
/// # use cruster::prelude::*;
/// # #[workflow]
/// # pub struct Example;
/// # #[workflow_impl]
/// # impl Example {
/// # async fn execute(&self, cents: u64) -> Result<String, Error> {
/// #     self.charge(cents).await
/// # }
/// #[activity(retries = 3)]
/// async fn charge(&self, cents: u64) -> Result<String, Error> {
///     let answer = self
///         .http()
///         .post("https://payments.example.com/charges")
///         .header("Idempotency-Key", self.idempotency_key())
///         .body(format!("cents={cents}"))
///         .send()?
///         .error_for_status()?;
///     Ok(answer.text()?.to_owned())
/// }
/// # }
/// ```
///
/// With the feature `http`, which is on unless you turn it off, [`send`](Http::send) takes a
/// request of the crate [`http`](https://docs.rs/http), which many clients of services build on.
pub struct Http {
    pub(crate) attempt: Attempt,
}

impl Http {
    pub(crate) fn new(attempt: Attempt) -> Self {
        Http { attempt }
    }

    /// A request to fetch a URL.
    pub fn get(&self, url: impl Into<String>) -> HttpRequestBuilder {
        self.request("GET", url)
    }

    /// A request to send something.
    pub fn post(&self, url: impl Into<String>) -> HttpRequestBuilder {
        self.request("POST", url)
    }

    /// A request to put something.
    pub fn put(&self, url: impl Into<String>) -> HttpRequestBuilder {
        self.request("PUT", url)
    }

    /// A request to delete something.
    pub fn delete(&self, url: impl Into<String>) -> HttpRequestBuilder {
        self.request("DELETE", url)
    }

    /// A request with any method.
    pub fn request(&self, method: impl Into<String>, url: impl Into<String>) -> HttpRequestBuilder {
        HttpRequestBuilder {
            attempt: self.attempt.clone(),
            request: HttpRequest {
                method: method.into(),
                url: url.into(),
                ..HttpRequest::default()
            },
        }
    }
}

impl Http {
    /// Makes several calls at the same time, and returns when each has its result. These are in the
    /// order of the requests. There are at most 64, and the answers together have the size limit of
    /// a single answer.
    ///
    /// ```
    /// # use cruster::prelude::*;
    /// # #[workflow]
    /// # pub struct Example;
    /// # #[workflow_impl]
    /// # impl Example {
    /// # async fn execute(&self, urls: Vec<String>) -> Result<u64, Error> {
    /// #     self.fetch(urls).await
    /// # }
    /// #[activity]
    /// async fn fetch(&self, urls: Vec<String>) -> Result<u64, Error> {
    ///     let http = self.http();
    ///     let answers = http.send_all(urls.iter().map(|url| http.get(url)))?;
    ///     Ok(answers.iter().filter(|a| a.is_ok()).count() as u64)
    /// }
    /// # }
    /// ```
    pub fn send_all(
        &self,
        requests: impl IntoIterator<Item = HttpRequestBuilder>,
    ) -> Result<Vec<Result<HttpResponse>>> {
        let requests = requests
            .into_iter()
            .map(|r| r.request.into_wire())
            .collect();
        let reply: wire::HTTPAllReply = self
            .attempt
            .perform(&HTTP_ALL, &wire::HTTPAll { requests })?;
        let result = |r: wire::HTTPResult| match (r.error, r.response) {
            (Some(fault), _) => Err(Error::from_fault(fault)),
            (None, Some(answer)) => Ok(HttpResponse::from_wire(*answer)),
            (None, None) => Err(Error::with_code(
                &codes::GUEST_PROTOCOL,
                "a call over HTTP has neither an answer nor an error",
            )),
        };
        Ok(reply.results.into_iter().map(result).collect())
    }
}

/// A request in the making.
#[must_use = "a request is made only when it is sent"]
pub struct HttpRequestBuilder {
    attempt: Attempt,
    request: HttpRequest,
}

impl HttpRequestBuilder {
    /// Adds a header. Headers are sent in this order.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.request.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the body: text or bytes.
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.request.body = Some(body.into());
        self
    }

    /// Sends JSON text, with its `Content-Type`. Encode it with the library of your
    /// choice.
    pub fn json(self, text: impl Into<String>) -> Self {
        self.header("Content-Type", "application/json")
            .body(text.into())
    }

    /// Bounds the call. Defaults to the host's own limit.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.request.timeout = Some(limit);
        self
    }

    /// Makes the call. It fails if there was no answer. An answer with a status of 400
    /// or more is not an error here; see [`HttpResponse::error_for_status`].
    pub fn send(self) -> Result<HttpResponse> {
        perform(&self.attempt, self.request)
    }
}

/// Has the host make a call.
pub(crate) fn perform(attempt: &Attempt, request: HttpRequest) -> Result<HttpResponse> {
    let reply: wire::HTTPResponse = attempt.perform(&HTTP, &request.into_wire())?;
    Ok(HttpResponse::from_wire(reply))
}

/// A request, as a test's handler sees it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HttpRequest {
    /// `GET`, `POST` and so on.
    pub method: String,
    /// Absolute, http or https.
    pub url: String,
    /// Names and values, in the order in which they are sent.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<Bytes>,
    /// Bounds the call.
    pub timeout: Option<Duration>,
}

impl HttpRequest {
    /// The first value of a header, ignoring case.
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    pub(crate) fn into_wire(self) -> wire::HTTPRequest {
        wire::HTTPRequest {
            body: self.body.map(Bytes::into_vec),
            headers: to_wire(self.headers),
            method: self.method,
            timeout: self.timeout.map_or(0, |d| clamp(nanos(d))),
            url: self.url,
        }
    }

    #[cfg_attr(target_family = "wasm", allow(dead_code))] // for the test kit
    pub(crate) fn from_wire(r: wire::HTTPRequest) -> Self {
        HttpRequest {
            method: r.method,
            url: r.url,
            headers: from_wire(r.headers),
            body: r.body.map(Bytes),
            timeout: u64::try_from(r.timeout)
                .ok()
                .filter(|n| *n > 0)
                .map(Duration::from_nanos),
        }
    }
}

/// The answer to a request, of any status.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HttpResponse {
    /// 200 and so on.
    pub status: u16,
    /// Names and values, sorted by name.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

impl HttpResponse {
    /// An answer, for a test's handler.
    pub fn new(status: u16, body: impl Into<Bytes>) -> Self {
        HttpResponse {
            status,
            headers: Vec::new(),
            body: body.into(),
        }
    }

    /// The first value of a header, ignoring case.
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// The body as text.
    pub fn text(&self) -> Result<&str> {
        std::str::from_utf8(&self.body)
            .map_err(|e| Error::from(e).context("the body of the response"))
    }

    /// The answer, if its status is below 400. Otherwise an error of type
    /// `http_status`, which is retryable for 408, 425, 429 and from 500 on.
    pub fn error_for_status(self) -> Result<Self> {
        if self.status < 400 {
            return Ok(self);
        }
        let mut message = format!("the answer has status {}", self.status);
        let excerpt = excerpt(&self.body);
        if !excerpt.is_empty() {
            message = format!("{message}: {excerpt}");
        }
        let transient = matches!(self.status, 408 | 425 | 429 | 500..);
        Err(Error::from_fault(Box::new(wire::Fault {
            kind: "http_status".to_owned(),
            message,
            retryable: transient,
            ..wire::Fault::default()
        })))
    }

    pub(crate) fn from_wire(r: wire::HTTPResponse) -> Self {
        HttpResponse {
            status: u16::try_from(r.status).unwrap_or(0),
            headers: from_wire(r.headers),
            body: Bytes(r.body.unwrap_or_default()),
        }
    }

    #[cfg_attr(target_family = "wasm", allow(dead_code))] // for the test kit
    pub(crate) fn into_wire(self) -> wire::HTTPResponse {
        let mut headers = to_wire(self.headers);
        headers.sort_by(|a, b| a.name.cmp(&b.name));
        wire::HTTPResponse {
            body: Some(self.body.into_vec()),
            headers,
            status: i64::from(self.status),
        }
    }
}

fn to_wire(headers: Vec<(String, String)>) -> Vec<wire::Header> {
    let header = |(name, value)| wire::Header { name, value };
    headers.into_iter().map(header).collect()
}

fn from_wire(headers: Vec<wire::Header>) -> Vec<(String, String)> {
    headers.into_iter().map(|h| (h.name, h.value)).collect()
}

fn find<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers
        .iter()
        .find(|(n, _)| n.eq_ignore_ascii_case(name))
        .map(|(_, v)| v.as_str())
}

/// The beginning of a body, as text for a message.
fn excerpt(body: &[u8]) -> String {
    const MOST: usize = 200;
    let mut text = String::new();
    for chunk in body[..body.len().min(MOST)].utf8_chunks() {
        text.push_str(chunk.valid());
    }
    let mut text = text.trim().to_owned();
    if body.len() > MOST {
        text.push('…');
    }
    text
}
