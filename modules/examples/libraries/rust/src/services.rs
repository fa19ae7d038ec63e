//! The two services: a model, and the chat of the team.

use cruster::Http;
use cruster::http::Request;
use cruster::prelude::*;
use form_urlencoded::Serializer;
use serde_json::{Value, json};

/// A post.
#[derive(Clone, Debug, Serialize, Deserialize, Schema)]
pub struct Message {
    pub channel: String,
    pub text: String,
}

/// Activities that call services.
#[activity_group]
#[derive(Default)]
pub struct Services;

#[activity_group_impl]
impl Services {
    /// Asks a model.
    #[activity(name = "summarise", retries = 5, backoff = "exponential", base = "1s")]
    async fn summarise(&self, notes: Vec<String>) -> Result<String> {
        let base = self
            .config("openai_url")
            .unwrap_or_else(|| "https://api.openai.com/v1".to_owned());
        let key = self.config("openai_key").unwrap_or_default();
        let question = json!({
            "model": "gpt-4o-mini",
            "messages": [
                {"role": "system", "content": include_str!("../../prompt.txt")},
                {"role": "user", "content": notes.join("\n")},
            ],
        });
        let request = Request::post(format!("{base}/chat/completions"))
            .header("Authorization", format!("Bearer {key}"))
            .header("Content-Type", "application/json")
            .body(question.to_string())?;
        text(&ask(&self.http(), request)?, "/choices/0/message/content")
    }

    /// Posts a message.
    #[activity(name = "post", retries = 5, backoff = "exponential", base = "1s")]
    async fn post(&self, message: Message) -> Result<String> {
        let base = self
            .config("slack_url")
            .unwrap_or_else(|| "https://slack.com/api/".to_owned());
        // An attempt whose answer is lost is repeated: the service knows the message by its id.
        let metadata = json!({
            "event_type": "standup",
            "event_payload": {"id": self.idempotency_key()},
        });
        let form = Serializer::new(String::new())
            .append_pair("token", &self.config("slack_token").unwrap_or_default())
            .append_pair("channel", &message.channel)
            .append_pair("text", &message.text)
            .append_pair("metadata", &metadata.to_string())
            .finish();
        let request = Request::post(format!("{base}chat.postMessage"))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(form)?;
        text(&ask(&self.http(), request)?, "/ts")
    }
}

/// Makes a call that is answered with JSON.
fn ask(http: &Http, request: Request<String>) -> Result<Value> {
    let answer = http.send(request)?;
    match answer.status() {
        s if s.is_success() => Ok(serde_json::from_slice(answer.body())?),
        s => cruster::bail!("refused", "the service answered {s}"),
    }
}

/// The text at a place of an answer.
fn text(answer: &Value, place: &str) -> Result<String> {
    let found = answer.pointer(place).and_then(Value::as_str);
    found
        .map(str::to_owned)
        .ok_or_else(|| cruster::err!("strange", "the answer has no text at {place}"))
}
