//! Runs the standup without a host.

use cruster::testing::{Rows, Test};
use cruster::{HttpRequest, HttpResponse, Value};
use libraries_rust::{MODULE, Standup, StandupRequest, StandupResult};

/// The answers of the services of the test.
fn serve(request: HttpRequest) -> cruster::Result<HttpResponse> {
    Ok(match request.url.as_str() {
        "https://api.openai.com/v1/chat/completions" => HttpResponse::new(
            200,
            r#"{"choices":[{"message":{"role":"assistant","content":"all is well"}}]}"#,
        ),
        "https://slack.com/api/chat.postMessage" => {
            HttpResponse::new(200, r#"{"ok":true,"ts":"1767225600.000100"}"#)
        }
        _ => HttpResponse::new(404, ""),
    })
}

#[test]
fn a_standup_is_summarised_and_kept() {
    // The day on which the clocks change in spring has 23 hours, the one in autumn 25.
    for (day, hours) in [("2026-03-28", 24), ("2026-03-29", 23), ("2026-10-25", 25)] {
        let request = StandupRequest {
            channel: "team".to_owned(),
            day: day.to_owned(),
            zone: "Europe/Berlin".to_owned(),
            notes: vec!["nothing broke".to_owned(), "it's fine".to_owned()],
        };
        let run = Test::new(&MODULE)
            .http(serve)
            .sql(|sql: &str, params: &[Value]| {
                if sql.starts_with("SELECT COUNT") {
                    return Ok(Rows::new(["count"]).row((2,)));
                }
                if sql.contains("summary_lines") {
                    assert_eq!(params.len(), 6, "{sql}");
                }
                Ok(Rows::affected(1))
            })
            .run::<Standup>(request);
        let want = StandupResult {
            summary: "all is well".to_owned(),
            hours,
            posted: "1767225600.000100".to_owned(),
            before: 2,
        };
        assert_eq!(run.result.unwrap(), want);
    }
}
