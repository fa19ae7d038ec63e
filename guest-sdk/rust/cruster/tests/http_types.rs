//! HTTP calls with the types of the crate `http`.

use std::cell::RefCell;
use std::rc::Rc;

use cruster::prelude::*;
use cruster::testing::Test;
use cruster::{HttpResponse, HttpTimeout};

/// A library that knows nothing of Cruster: it is handed a function that makes its calls.
mod library {
    use http::{HeaderMap, Method, Request, Response, StatusCode, header};

    pub type Call<'a, E> = &'a dyn Fn(Request<Vec<u8>>) -> Result<Response<Vec<u8>>, E>;

    pub fn token<E>(call: Call<'_, E>, secret: &str) -> Result<Option<String>, E> {
        let mut request = Request::new(format!("secret={secret}").into_bytes());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = "https://id.example/token?scope=all".parse().unwrap();
        let mut headers = HeaderMap::new();
        headers.append(header::ACCEPT, "text/plain".parse().unwrap());
        headers.append(header::ACCEPT, "text/*".parse().unwrap());
        *request.headers_mut() = headers;
        let response = call(request)?;
        let token = response.headers().get("x-token");
        Ok(match response.status() {
            StatusCode::OK => token.and_then(|t| t.to_str().ok()).map(str::to_owned),
            _ => None,
        })
    }
}

#[workflow]
pub struct Login;

#[workflow_impl]
impl Login {
    async fn execute(&self, secret: String) -> Result<Option<String>> {
        self.login(secret).await
    }

    #[activity]
    async fn login(&self, secret: String) -> Result<Option<String>> {
        if secret.is_empty() {
            let request = http::Request::get("https://id.example/ping")
                .extension(HttpTimeout(Duration::from_secs(5)))
                .body(())?;
            let response = self.http().send(request)?;
            return Ok(Some(response.status().to_string()));
        }
        if secret == "opaque" {
            let value = http::HeaderValue::from_bytes(b"\xff")?;
            let request = http::Request::get("https://id.example/").header("x-a", value);
            self.http().send(request.body(())?)?;
        }
        let http = self.http();
        library::token(&|request| http.send(request), &secret)
    }
}

cruster::module! { workflows: [Login] }

#[test]
fn a_library_makes_its_calls_through_the_host() {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let kept = seen.clone();
    let run = Test::new(&MODULE)
        .http(move |request| {
            kept.borrow_mut().push(request.clone());
            let request: http::Request<Vec<u8>> = request.try_into()?;
            assert_eq!(request.method(), http::Method::POST);
            assert_eq!(request.uri().query(), Some("scope=all"));
            let response = http::Response::builder()
                .header("X-Token", String::from_utf8(request.into_body())?)
                .body("")?;
            response.try_into()
        })
        .run::<Login>("abc".to_owned());
    assert_eq!(run.result.unwrap().unwrap(), "secret=abc");
    let request = seen.borrow()[0].clone();
    assert_eq!(request.url, "https://id.example/token?scope=all");
    let accepted: Vec<_> = request.headers.iter().map(|(_, v)| v.as_str()).collect();
    assert_eq!(accepted, ["text/plain", "text/*"]);
}

#[test]
fn a_request_without_a_body() {
    let run = Test::new(&MODULE)
        .http(|request| {
            assert_eq!(request.method, "GET");
            assert_eq!(request.body, None);
            assert_eq!(request.timeout, Some(Duration::from_secs(5)));
            Ok(HttpResponse::new(204, ""))
        })
        .run::<Login>(String::new());
    assert_eq!(run.result.unwrap().unwrap(), "204 No Content");
}

#[test]
fn headers_are_text() {
    let run = Test::new(&MODULE)
        .http(|_| Ok(HttpResponse::new(200, "")))
        .run::<Login>("opaque".to_owned());
    let e = run.result.unwrap_err();
    assert!(
        e.message()
            .contains("CR-3205: the value of the header x-a is not UTF-8"),
        "{e}"
    );
}
