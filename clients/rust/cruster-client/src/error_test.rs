//! Errors made of the statuses of hosts and of gRPC itself.

use prost::Message;
use tonic::{Code, Status};

use super::*;

fn answered(code: Code, details: Vec<prost_types::Any>) -> Status {
    let bytes = RpcStatus { details }.encode_to_vec();
    Status::with_details(code, "as gRPC says it", bytes.into())
}

fn any(name: &str, message: &impl Message) -> prost_types::Any {
    prost_types::Any {
        type_url: format!("type.googleapis.com/{name}"),
        value: message.encode_to_vec(),
    }
}

#[test]
fn the_error_of_a_host_is_in_the_details() {
    let wire = proto::Error {
        code: "CR-2001".into(),
        message: "there is no workflow shop/Sell".into(),
        hint: "Look at the list.".into(),
        r#type: "kind".into(),
        retryable: true,
        details: vec![7],
    };
    let status = answered(Code::NotFound, vec![any("cruster.v1.Error", &wire)]);
    let error = Error::from_status(&status);
    assert_eq!(error.code(), "CR-2001");
    assert_eq!(error.hint(), "Look at the list.");
    assert_eq!(error.error_type(), "kind");
    assert_eq!(error.details::<u8>(), Some(7));
    assert!(error.is_retryable());
    assert_eq!(error.state(), None);
    assert_eq!(error.to_string(), "CR-2001: there is no workflow shop/Sell");
}

#[test]
fn what_grpc_says_itself_has_a_code() {
    for (code, want) in [
        (Code::Unavailable, "CR-5010"),
        (Code::DeadlineExceeded, "CR-5008"),
        (Code::ResourceExhausted, "CR-2005"),
        (Code::InvalidArgument, "CR-2015"),
        (Code::Unimplemented, "CR-5001"),
    ] {
        let error = Error::from_status(&Status::new(code, "why"));
        assert_eq!(error.code(), want, "{code:?}");
    }
}

#[test]
fn garbage_in_the_details_is_ignored() {
    let status = Status::with_details(Code::InvalidArgument, "why", vec![0xff; 9].into());
    assert_eq!(Error::from_status(&status).code(), "CR-2015");
    let wrong = prost_types::Any {
        type_url: "type.googleapis.com/cruster.v1.Error".into(),
        value: vec![0xff; 3],
    };
    let status = answered(Code::InvalidArgument, vec![wrong]);
    assert_eq!(Error::from_status(&status).code(), "CR-2015");
}

#[test]
fn a_host_may_say_when_to_try_again() {
    let delay = RetryInfo {
        retry_delay: Some(prost_types::Duration {
            seconds: 1,
            nanos: 5_000_000,
        }),
    };
    let status = answered(
        Code::ResourceExhausted,
        vec![any("google.rpc.RetryInfo", &delay)],
    );
    assert_eq!(retry_delay(&status), Some(Duration::from_millis(1005)));
    assert_eq!(retry_delay(&Status::new(Code::ResourceExhausted, "")), None);
}

/// The status of a call over a connection that a listener has taken.
async fn lost_at(listener: &std::net::TcpListener, keep_alive: Option<Duration>) -> Status {
    let address = listener.local_addr().expect("an address");
    let mut endpoint =
        tonic::transport::Endpoint::from_shared(format!("http://{address}")).expect("an address");
    if let Some(time) = keep_alive {
        endpoint = endpoint
            .http2_keep_alive_interval(time)
            .keep_alive_timeout(time);
    }
    let channel = endpoint.connect_lazy();
    let mut deferreds = proto::deferred_service_client::DeferredServiceClient::new(channel);
    let answer = deferreds
        .resolve_deferred(proto::ResolveDeferredRequest::default())
        .await;
    answer.expect_err("there is no host")
}

/// A host that stands still is told from hosts that go away, silently or with a word.
#[tokio::test(start_paused = true)]
async fn a_silent_host_is_known() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let stands_still = lost_at(&listener, Some(crate::options::KEEP_ALIVE)).await;
    let _still = listener.accept().expect("a connection");
    let hang_up = listener.try_clone().expect("a listener");
    let hang_up = tokio::task::spawn_blocking(move || drop(hang_up.accept()));
    let goes_away = lost_at(&listener, None).await;
    hang_up.await.expect("it hangs up");
    for (status, is_silent) in [
        (stands_still, true),
        (goes_away, false),
        (Status::unavailable("a host says so"), false),
    ] {
        let found = (lost(&status), silent(&status), unsent(&status));
        assert_eq!(found, (true, is_silent, false), "{status:?}");
    }
}

/// The library says of both that they are cancelled.
#[test]
fn a_limit_of_time_is_told_from_a_connection_that_closes() {
    let late = Status::from_error(Box::new(tonic::TimeoutExpired(())));
    let mut closed = Status::cancelled("operation was canceled");
    closed.set_source(std::sync::Arc::new(std::io::Error::other("closed")));
    for (status, is_lost, code) in [(late, false, "CR-5008"), (closed, true, "CR-5010")] {
        assert_eq!(status.code(), Code::Cancelled);
        assert_eq!(lost(&status), is_lost);
        assert_eq!(Error::from_status(&status).code(), code);
    }
}
