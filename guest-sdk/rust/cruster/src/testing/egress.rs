//! HTTP calls that a host refuses, regardless of the deployment's grants.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::codes;
use crate::testing::words::{hinted, quoted};
use crate::wire::{Fault, HTTPRequest, HTTPResponse, Header};

/// How large the body of a request or of an answer may be, in bytes.
pub(crate) const MAX_BODY: usize = (4 << 20) - (512 << 10);

/// Bounds on the parts of a request besides the body.
const MAX_URL: usize = 8 << 10;
const MAX_METHOD: usize = 32;
const MAX_HEADERS: usize = 100;
const MAX_HEADER_BYTES: usize = 64 << 10;

/// The headers that frame a message or belong to one connection, in lower case.
const REFUSED_HEADERS: [&str; 11] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

fn bad(message: impl Into<String>) -> Box<Fault> {
    codes::HTTP_BAD_REQUEST.fault(message)
}

/// Checks a request as a host does before it makes the call.
pub(crate) fn check(request: &HTTPRequest) -> Result<(), Box<Fault>> {
    check_url(&request.url)?;
    let size = request.body.as_ref().map_or(0, Vec::len);
    if size > MAX_BODY {
        return Err(codes::HTTP_TOO_LARGE.fault(format!(
            "the request to {} has {size} bytes, more than {MAX_BODY}",
            place(&request.url)
        )));
    }
    if request.timeout < 0 {
        return Err(bad("the timeout is negative"));
    }
    check_method(&request.method)?;
    check_headers(&request.headers)
}

/// Checks the answer of a test's handler as a host checks a server's.
pub(crate) fn check_answer(request: &HTTPRequest, answer: &HTTPResponse) -> Result<(), Box<Fault>> {
    match answer.body.as_ref().map_or(0, Vec::len) > MAX_BODY {
        false => Ok(()),
        true => Err(codes::HTTP_TOO_LARGE.fault(format!(
            "{}: the response has more than {MAX_BODY} bytes",
            call(request)
        ))),
    }
}

/// Takes room for one of several answers, which have the room of one together.
pub(crate) fn take_room(
    room: &mut usize,
    request: &HTTPRequest,
    answer: &HTTPResponse,
) -> Result<(), Box<Fault>> {
    const EACH: usize = 32; // the overhead of the form
    let headers = answer.headers.iter();
    let size = EACH
        + answer.body.as_ref().map_or(0, Vec::len)
        + headers
            .map(|h| h.name.len() + h.value.len() + EACH)
            .sum::<usize>();
    match room.checked_sub(size) {
        Some(left) => {
            *room = left;
            Ok(())
        }
        None => Err(codes::HTTP_TOO_LARGE.fault(format!(
            "{}: the responses of this call together have more than {MAX_BODY} bytes",
            call(request)
        ))),
    }
}

/// Names a call in messages.
pub(crate) fn call(request: &HTTPRequest) -> String {
    let method = match request.method.as_str() {
        "" => "GET",
        method => method,
    };
    format!("{method} {}", place(&request.url))
}

/// Names a URL without its query, which may hold secrets.
fn place(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or_default()
}

fn check_url(url: &str) -> Result<(), Box<Fault>> {
    if url.len() > MAX_URL {
        return Err(bad(format!(
            "the URL has {} bytes, more than {MAX_URL}",
            url.len()
        )));
    }
    if url.contains(|c: char| c.is_ascii_control()) {
        return Err(bad("the URL cannot be parsed"));
    }
    let (scheme, rest) = url.split_once(':').unwrap_or(("", url));
    if !matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https") {
        return Err(bad(format!(
            "the URL has the scheme {}",
            quoted(scheme, 100)
        )));
    }
    let authority = rest
        .strip_prefix("//")
        .and_then(|rest| rest.split(['/', '?', '#']).next())
        .unwrap_or_default();
    if authority.contains('@') {
        let hint = "Send credentials in the Authorization header.";
        return Err(hinted(bad("the URL holds a user or password"), hint));
    }
    if authority.contains(char::is_whitespace) {
        return Err(bad("the URL cannot be parsed"));
    }
    check_authority(authority).map_err(bad)
}

fn check_authority(authority: &str) -> Result<(), String> {
    // The colons of an address in brackets precede no port.
    let after = authority.rfind(']').map_or(0, |end| end + 1);
    let (host, port) = match authority[after..].find(':') {
        Some(colon) => (
            &authority[..after + colon],
            Some(&authority[after + colon + 1..]),
        ),
        None => (authority, None),
    };
    if host.is_empty() || host == "[]" {
        return Err("the URL has no host".to_owned());
    }
    match port.map(|port| port.parse::<u16>()) {
        None | Some(Ok(1..)) => {}
        // A port of other characters than digits is none.
        Some(_) if port.is_some_and(|p| p.contains(|c: char| !c.is_ascii_digit())) => {
            return Err("the URL cannot be parsed".to_owned());
        }
        Some(_) => return Err("the URL: the port is not a number from 1 to 65535".to_owned()),
    }
    match host.strip_prefix('[').and_then(|h| h.strip_suffix(']')) {
        Some(address) if address.contains('%') => {
            Err("the URL has an address with a zone".to_owned())
        }
        Some(address) if address.parse::<Ipv6Addr>().is_ok() => Ok(()),
        None if host.parse::<Ipv4Addr>().is_ok() => Ok(()),
        _ => check_host(host).map_err(|problem| format!("the URL: {problem}")),
    }
}

/// Checks the form of a name. A name that ends in a number is refused, as some resolvers take it
/// for an address.
fn check_host(host: &str) -> Result<(), String> {
    let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let quote = quoted(host, 100);
    if name.is_empty() || name.len() > 253 {
        return Err("a host name has 1 to 253 characters".to_owned());
    }
    for label in name.split('.') {
        if label.is_empty() || label.len() > 63 || label.starts_with('-') || label.ends_with('-') {
            return Err(format!("{quote} is not a host name"));
        }
        let good = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        if !label.bytes().all(good) {
            return Err(format!(
                "{quote} is not a host name; write an international one in its xn-- form"
            ));
        }
    }
    let last = name.rsplit('.').next().unwrap_or_default();
    match last.starts_with("0x") || last.bytes().all(|b| b.is_ascii_digit()) {
        false => Ok(()),
        true => Err(format!(
            "{quote} is neither a host name nor a complete address"
        )),
    }
}

fn check_method(method: &str) -> Result<(), Box<Fault>> {
    if !method.is_empty() && (method.len() > MAX_METHOD || !is_token(method)) {
        let method = quoted(method, 100);
        return Err(bad(format!("the method {method} is not a token")));
    }
    match method.to_ascii_uppercase().as_str() {
        m @ ("CONNECT" | "TRACE") => {
            Err(bad(format!("the method {m} is not available to modules")))
        }
        _ => Ok(()),
    }
}

fn check_headers(headers: &[Header]) -> Result<(), Box<Fault>> {
    let n = headers.len();
    if n > MAX_HEADERS {
        return Err(bad(format!("{n} headers are more than {MAX_HEADERS}")));
    }
    let mut size = 0;
    for header in headers {
        size += header.name.len() + header.value.len();
        if size > MAX_HEADER_BYTES {
            return Err(bad(format!(
                "the headers have more than {MAX_HEADER_BYTES} bytes"
            )));
        }
        check_header(header)?;
    }
    Ok(())
}

fn check_header(header: &Header) -> Result<(), Box<Fault>> {
    if !is_token(&header.name) {
        let name = quoted(&header.name, 100);
        return Err(bad(format!("the header name {name} is not a token")));
    }
    let name = header.name.to_ascii_lowercase();
    if REFUSED_HEADERS.contains(&name.as_str()) || name.starts_with("proxy-") {
        let message = format!("the header {} is not available to modules", titled(&name));
        let hint = "The host sets the headers that frame a message; leave it out.";
        return Err(hinted(bad(message), hint));
    }
    if header
        .value
        .contains(|c: char| c.is_ascii_control() && c != '\t')
    {
        let name = titled(&name);
        return Err(bad(format!(
            "the value of the header {name} holds control characters"
        )));
    }
    Ok(())
}

/// A name as headers are written: `Content-Type`.
fn titled(name: &str) -> String {
    let title = |word: &str| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    };
    name.split('-').map(title).collect::<Vec<_>>().join("-")
}

/// Whether a text is a token of RFC 9110: a method, or the name of a header.
fn is_token(text: &str) -> bool {
    let good = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.bytes().all(good)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(url: &str) -> HTTPRequest {
        HTTPRequest {
            url: url.to_owned(),
            ..HTTPRequest::default()
        }
    }

    fn with_header(name: &str, value: &str) -> HTTPRequest {
        HTTPRequest {
            headers: vec![Header {
                name: name.to_owned(),
                value: value.to_owned(),
            }],
            ..get("http://a")
        }
    }

    fn refusal(request: &HTTPRequest) -> String {
        let fault = check(request).unwrap_err();
        format!("{} {}", fault.code, fault.message)
    }

    /// Several answers share the size limit of one. Their overhead besides the bodies is in
    /// abi/ABI.md.
    #[test]
    fn answers_share_room() {
        const BESIDES: usize = 32 + "X-A".len() + "1".len() + 32; // the answer and its header
        const HALF: usize = MAX_BODY / 2 - BESIDES;
        let answer = |size: usize| HTTPResponse {
            body: Some(vec![0; size]),
            headers: with_header("X-A", "1").headers,
            ..HTTPResponse::default()
        };
        let mut room = MAX_BODY;
        take_room(&mut room, &get("http://a/1"), &answer(HALF)).unwrap();
        let refused = take_room(&mut room, &get("http://a/2"), &answer(HALF + 1)).unwrap_err();
        assert_eq!(refused.code, "CR-3204");
        assert_eq!(
            refused.message,
            "GET http://a/2: the responses of this call together have more than 3670016 bytes"
        );
        take_room(&mut room, &get("http://a/3"), &answer(HALF)).unwrap();
        assert_eq!(room, 0, "a refused one takes nothing");
    }

    #[test]
    fn addresses() {
        for url in [
            "http://a",
            "HTTPS://a.b:1/c?d#e",
            "http://[::1]/",
            "http://127.0.0.1:8080",
            "http://a.b./",
        ] {
            assert!(check(&get(url)).is_ok(), "{url}");
        }
        for (url, want) in [
            ("", "the URL has the scheme \"\""),
            ("a", "the URL has the scheme \"\""),
            ("/a", "the URL has the scheme \"\""),
            ("gopher://x", "the URL has the scheme \"gopher\""),
            ("http://", "the URL has no host"),
            ("http:///a", "the URL has no host"),
            ("http:a", "the URL has no host"),
            ("https://user:secret@a/", "the URL holds a user or password"),
            ("http://a b/", "the URL cannot be parsed"),
            ("http://a:x/", "the URL cannot be parsed"),
            (
                "http://a:0/",
                "the URL: the port is not a number from 1 to 65535",
            ),
            (
                "http://a:70000/",
                "the URL: the port is not a number from 1 to 65535",
            ),
            (
                "http://[fe80::1%25eth0]/",
                "the URL has an address with a zone",
            ),
            ("http://a-.b/", "the URL: \"a-.b\" is not a host name"),
            (
                "http://127.1/",
                "the URL: \"127.1\" is neither a host name nor a complete address",
            ),
        ] {
            assert_eq!(refusal(&get(url)), format!("CR-3205 {want}"), "{url}");
        }
        assert_eq!(
            refusal(&get(&format!("http://a/{}", "x".repeat(9000)))),
            "CR-3205 the URL has 9009 bytes, more than 8192"
        );
    }

    #[test]
    fn methods_and_headers() {
        let method = |method: &str| HTTPRequest {
            method: method.to_owned(),
            ..get("http://a")
        };
        assert!(check(&method("PATCH")).is_ok());
        assert_eq!(
            refusal(&method("A B")),
            "CR-3205 the method \"A B\" is not a token"
        );
        assert_eq!(
            refusal(&method("trace")),
            "CR-3205 the method TRACE is not available to modules"
        );
        assert!(check(&with_header("X-A", "b\tc ä")).is_ok());
        for (name, value, want) in [
            ("a b", "", "the header name \"a b\" is not a token"),
            (
                "content-length",
                "1",
                "the header Content-Length is not available to modules",
            ),
            (
                "proxy-authorization",
                "1",
                "the header Proxy-Authorization is not available to modules",
            ),
            (
                "x-a",
                "a\nb",
                "the value of the header X-A holds control characters",
            ),
        ] {
            assert_eq!(
                refusal(&with_header(name, value)),
                format!("CR-3205 {want}")
            );
        }
        let many = HTTPRequest {
            headers: vec![Header::default(); 101],
            ..get("http://a")
        };
        assert_eq!(refusal(&many), "CR-3205 101 headers are more than 100");
        assert_eq!(
            refusal(&with_header("a", &"b".repeat(65536))),
            "CR-3205 the headers have more than 65536 bytes"
        );
    }

    #[test]
    fn sizes() {
        let large = HTTPRequest {
            body: Some(vec![0; MAX_BODY + 1]),
            ..get("http://a/b?secret")
        };
        assert_eq!(
            refusal(&large),
            "CR-3204 the request to http://a/b has 3670017 bytes, more than 3670016"
        );
        let answer = HTTPResponse {
            body: large.body,
            ..HTTPResponse::default()
        };
        let fault = check_answer(&get("http://a/b?secret"), &answer).unwrap_err();
        assert_eq!(
            fault.message,
            "GET http://a/b: the response has more than 3670016 bytes"
        );
    }
}
