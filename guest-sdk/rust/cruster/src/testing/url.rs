//! Addresses that a host refuses, whatever the deployment was granted.

use crate::codes;
use crate::wire::Fault;

pub(crate) fn check(url: &str) -> Result<(), Box<Fault>> {
    match problem(url) {
        None => Ok(()),
        Some(problem) => Err(codes::HTTP_BAD_REQUEST.fault(problem)),
    }
}

fn problem(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once(':').unwrap_or(("", url));
    if !matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https") {
        return Some(format!("the URL has the scheme {scheme:?}"));
    }
    let authority = rest
        .strip_prefix("//")
        .and_then(|rest| rest.split(['/', '?', '#']).next())
        .unwrap_or_default();
    if authority.contains('@') {
        return Some("the URL holds a user or password".to_owned());
    }
    if authority.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Some("the URL cannot be parsed".to_owned());
    }
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => authority,
    };
    host.is_empty().then(|| "the URL has no host".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for url in ["http://a", "https://a.b:1/c?d#e", "http://[::1]/"] {
            assert!(check(url).is_ok(), "{url}");
        }
        for url in [
            "",
            "a",
            "/a",
            "gopher://x",
            "http://",
            "http:///a",
            "https://user:secret@a/",
            "http://a b/",
            "http:a",
        ] {
            assert_eq!(check(url).unwrap_err().code, "CR-3205", "{url}");
        }
    }
}
