//! Values of all kinds and sizes.

use std::collections::BTreeMap;

use cruster::Value;
use cruster::prelude::*;

/// Sends any value through an activity and returns it.
#[workflow]
pub struct Echo;

#[workflow_impl]
impl Echo {
    async fn execute(&self, value: Value) -> Result<Value> {
        self.echo(value).await
    }

    #[activity]
    async fn echo(&self, value: Value) -> Result<Value> {
        Ok(value)
    }
}

/// Has a field of every kind that a request can have.
#[derive(Serialize, Deserialize, Schema)]
pub struct Everything {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    absent: Option<String>,
    bool: bool,
    bytes: Bytes,
    float32: f32,
    float64: f64,
    int64: i64,
    int8: i8,
    list: Vec<i64>,
    map: BTreeMap<String, i64>,
    nested: Nested,
    pointer: Option<String>,
    string: String,
    time: Timestamp,
    uint64: u64,
}

#[derive(Serialize, Deserialize, Schema)]
#[serde(rename_all = "PascalCase")]
pub struct Nested {
    a: i64,
    b: i64,
}

/// Sends a struct of all kinds through an activity and returns it.
#[workflow]
pub struct EchoTyped;

#[workflow_impl]
impl EchoTyped {
    async fn execute(&self, value: Everything) -> Result<Everything> {
        self.echo_typed(value).await
    }

    #[activity(name = "echoTyped")]
    async fn echo_typed(&self, value: Everything) -> Result<Everything> {
        Ok(value)
    }
}

/// Sends many bytes through an activity, and tells how many came back as they were.
#[workflow]
pub struct Bulk;

#[workflow_impl(activity_groups(Bulky))]
impl Bulk {
    async fn execute(&self, size: i64) -> Result<i64> {
        let sent = Bytes(b"0123456789abcdef".repeat(size as usize / 16));
        let got = self.bulk(sent.clone()).await?;
        Ok(if got == sent { got.len() as i64 } else { -1 })
    }
}

#[activity_group]
pub struct Bulky;

#[activity_group_impl]
impl Bulky {
    #[activity(name = "bulk")]
    async fn bulk(&self, bytes: Bytes) -> Result<Bytes> {
        Ok(bytes)
    }
}

/// Has a result, or the input of an activity, above the limit.
#[workflow]
pub struct Huge;

#[workflow_impl(activity_groups(Bulky))]
impl Huge {
    async fn execute(&self, place: String) -> Result<String> {
        const ABOVE: i64 = 5 << 20;
        let code = |result: Result<Bytes>| {
            result
                .err()
                .map(|e| e.code().to_owned())
                .unwrap_or_default()
        };
        match place.as_str() {
            "result" => Ok("x".repeat(ABOVE as usize)),
            // Within the limit of a body, above the limit of a value.
            "just above" => Ok("x".repeat((4 << 20) - (1 << 10))),
            "activity input" => Ok(code(self.bulk(Bytes(vec![0; ABOVE as usize])).await)),
            "activity result" => Ok(code(self.make_bytes(ABOVE).await)),
            _ => cruster::bail!("unknown", "nothing is huge in {place:?}"),
        }
    }

    #[activity(name = "makeBytes")]
    async fn make_bytes(&self, n: i64) -> Result<Bytes> {
        Ok(Bytes(vec![0; n as usize]))
    }
}
