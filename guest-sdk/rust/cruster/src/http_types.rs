//! HTTP calls with the types of the crate `http`.

use std::time::Duration;

use ::http::header::{HeaderMap, HeaderName, HeaderValue};
use ::http::request::Parts;
use ::http::{Request, Response, StatusCode};

use crate::bytes::Bytes;
use crate::codes;
use crate::error::{Error, Result};
use crate::http_call::{self, Http, HttpRequest, HttpResponse};

/// Bounds a call that is made with [`Http::send`]: an extension of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpTimeout(pub Duration);

impl Http {
    /// Makes a call with the types of the crate [`http`](https://docs.rs/http). A library that takes
    /// a function from its requests to its responses takes this one. An answer with a status of
    /// 400 or more is not an error.
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
    ///     let request = http::Request::post("https://payments.example.com/charges")
    ///         .header(http::header::ACCEPT, "text/plain")
    ///         .extension(cruster::HttpTimeout(Duration::from_secs(5)))
    ///         .body(format!("cents={cents}"))?;
    ///     let response = self.http().send(request)?;
    ///     if response.status() != http::StatusCode::CREATED {
    ///         cruster::bail!("refused", "the answer is {}", response.status());
    ///     }
    ///     Ok(String::from_utf8(response.into_body())?)
    /// }
    /// # }
    /// ```
    pub fn send<B: Into<Bytes>>(&self, request: Request<B>) -> Result<Response<Vec<u8>>> {
        let response = http_call::perform(&self.attempt, HttpRequest::try_from(request)?)?;
        response.try_into()
    }
}

fn bad(message: String) -> Error {
    Error::with_code(&codes::HTTP_BAD_REQUEST, message)
}

fn headers_of(map: &HeaderMap) -> Result<Vec<(String, String)>> {
    let header = |(name, value): (&HeaderName, &HeaderValue)| {
        let text = std::str::from_utf8(value.as_bytes())
            .map_err(|_| bad(format!("the value of the header {name} is not UTF-8")))?;
        Ok((name.as_str().to_owned(), text.to_owned()))
    };
    map.iter().map(header).collect()
}

fn map_of(headers: &[(String, String)]) -> Result<HeaderMap> {
    let mut map = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let invalid = || bad(format!("the header {name:?} is not a valid one"));
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
        let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| invalid())?;
        map.append(key, value);
    }
    Ok(map)
}

/// It fails if the value of a header is not UTF-8.
impl<B: Into<Bytes>> TryFrom<Request<B>> for HttpRequest {
    type Error = Error;

    fn try_from(request: Request<B>) -> Result<Self> {
        let (parts, body) = request.into_parts();
        let Parts {
            method,
            uri,
            headers,
            extensions,
            ..
        } = parts;
        let body = body.into();
        Ok(HttpRequest {
            method: method.as_str().to_owned(),
            url: uri.to_string(),
            headers: headers_of(&headers)?,
            body: (!body.is_empty()).then_some(body),
            timeout: extensions.get::<HttpTimeout>().map(|limit| limit.0),
        })
    }
}

/// For a test's handler. It fails if the crate takes no such method, URL or header.
impl TryFrom<HttpRequest> for Request<Vec<u8>> {
    type Error = Error;

    fn try_from(request: HttpRequest) -> Result<Self> {
        let invalid = |e: ::http::Error| bad(e.to_string());
        let mut built = Request::builder()
            .method(request.method.as_str())
            .uri(request.url.as_str())
            .body(request.body.unwrap_or_default().into_vec())
            .map_err(invalid)?;
        *built.headers_mut() = map_of(&request.headers)?;
        if let Some(limit) = request.timeout {
            built.extensions_mut().insert(HttpTimeout(limit));
        }
        Ok(built)
    }
}

/// It fails if the status is not one of three digits.
impl TryFrom<HttpResponse> for Response<Vec<u8>> {
    type Error = Error;

    fn try_from(response: HttpResponse) -> Result<Self> {
        let status = StatusCode::from_u16(response.status)
            .map_err(|_| bad(format!("{} is not a status", response.status)))?;
        let headers = map_of(&response.headers)?;
        let mut built = Response::new(response.body.into_vec());
        *built.status_mut() = status;
        *built.headers_mut() = headers;
        Ok(built)
    }
}

/// For a test's handler. It fails if the value of a header is not UTF-8.
impl<B: Into<Bytes>> TryFrom<Response<B>> for HttpResponse {
    type Error = Error;

    fn try_from(response: Response<B>) -> Result<Self> {
        let (parts, body) = response.into_parts();
        Ok(HttpResponse {
            status: parts.status.as_u16(),
            headers: headers_of(&parts.headers)?,
            body: body.into(),
        })
    }
}

/// No body.
impl From<()> for Bytes {
    fn from((): ()) -> Self {
        Bytes::default()
    }
}
