//! Workflows that call others.

use cruster::prelude::*;
use cruster::{Client, Value, join_all, remote};

use crate::deferreds::{ANSWER, Await};
use crate::misuse::Misuse;
use crate::steps::Steps;
use crate::{Seen, seen};

/// A child without a key function.
#[workflow]
pub struct Double;

#[workflow_impl(activity_groups(Steps))]
impl Double {
    async fn execute(&self, n: i64) -> Result<i64> {
        if n < 0 {
            cruster::bail!("negative", "{n} is negative");
        }
        self.add(vec![n, n]).await
    }
}

/// A field that decides the key and another one.
#[derive(Serialize, Deserialize, Schema)]
pub struct KeyedRequest {
    id: String,
    other: i64,
}

/// Has a key function whose answer is hashed.
#[workflow]
pub struct HashedKey;

#[workflow_impl(key = |request: &KeyedRequest| request.id.clone())]
impl HashedKey {
    async fn execute(&self, request: KeyedRequest) -> Result<i64> {
        Ok(request.other)
    }
}

/// Has a key function whose answer is the key.
#[workflow]
pub struct RawKey;

#[workflow_impl(key = raw_key, hash = false)]
impl RawKey {
    async fn execute(&self, request: KeyedRequest) -> Result<i64> {
        Ok(request.other)
    }
}

fn raw_key(request: &KeyedRequest) -> String {
    assert!(request.id != "panic", "no key for this");
    request.id.clone()
}

/// Executes a child and waits for it.
#[workflow]
pub struct Call;

#[workflow_impl]
impl Call {
    async fn execute(&self, n: i64) -> Result<Seen> {
        Ok(seen(Double::client(self).execute(n).await))
    }
}

/// Executes a child that is paused, and fails as it does.
#[workflow]
pub struct CallMisuse;

#[workflow_impl]
impl CallMisuse {
    async fn execute(&self, what: String) -> Result<String> {
        Misuse::client(self).execute(what).await
    }
}

/// Executes children at the same time.
#[workflow]
pub struct CallMany;

#[workflow_impl]
impl CallMany {
    async fn execute(&self, n: i64) -> Result<i64> {
        let results = join_all((0..n).map(|i| Double::client(self).execute(1000 + i))).await?;
        Ok(results.iter().sum())
    }
}

/// Shows the effect of keys: children with the same key are one.
#[workflow]
pub struct CallKeys;

#[workflow_impl]
impl CallKeys {
    async fn execute(&self, key: String) -> Result<Vec<Value>> {
        let double = || Double::client(self);
        let clients = [
            double().with_key(&key),
            double().with_key(&key),
            double().with_key_raw(&key),
            double().with_key_raw(&key),
        ];
        let mut out = Vec::new();
        for (i, client) in (0..).zip(clients) {
            out.push(client.execute(i).await?.into());
        }
        out.push(double().with_key_raw(&key).start(99).await?.into());
        Ok(out)
    }
}

/// Starts a child that waits, watches it, lets it go on and takes its result.
#[workflow]
pub struct Follow;

#[workflow_impl]
impl Follow {
    async fn execute(&self, key: String) -> Result<Vec<Value>> {
        let client = Await::client(self);
        let id = client.start(key.clone()).await?;
        let before = client.poll(&id).await?;
        self.resolve_deferred_in(&id, ANSWER, "go on".to_owned())
            .await?;
        let result = client.execute(key).await?;
        let after = client.poll(&id).await?;
        let (state, done) = (after.state, after.outcome.is_some());
        let last = after.outcome.transpose()?.unwrap_or_default();
        Ok(vec![
            id.into(),
            before.state.into(),
            before.outcome.is_some().into(),
            result.into(),
            state.into(),
            done.into(),
            last.into(),
        ])
    }
}

/// Calls a child that waits, which others let go on, and takes its result.
#[workflow]
pub struct FollowToTheEnd;

#[workflow_impl]
impl FollowToTheEnd {
    async fn execute(&self, key: String) -> Result<Seen> {
        Await::client(self).execute(key).await
    }
}

/// Calls its own execution.
#[workflow]
pub struct CallItself;

#[workflow_impl]
impl CallItself {
    async fn execute(&self, _request: cruster::Empty) -> Result<Vec<Seen>> {
        let key = self.execution_id().rsplit('/').next().unwrap_or_default();
        let itself: Client<cruster::Empty, Value> = remote(self, "CallItself").with_key_raw(key);
        let called = seen(itself.execute(cruster::Empty {}).await);
        Ok(vec![called, seen(itself.start(cruster::Empty {}).await)])
    }
}

/// Calls workflows that cannot be called.
#[workflow]
pub struct CallWrong;

#[workflow_impl]
impl CallWrong {
    async fn execute(&self, _request: cruster::Empty) -> Result<Vec<Seen>> {
        let client = |name| remote::<String, Value>(self, name);
        let text = || "text".to_owned();
        let missing = "conformance/Double/no-such-key";
        Ok(vec![
            seen(client("nowhere/Double").execute(text()).await),
            seen(client("Missing").execute(text()).await),
            seen(client("Double").execute(text()).await),
            seen(client("Await").with_key_raw("").execute(text()).await),
            seen(
                Double::client(self)
                    .poll(missing)
                    .await
                    .map(|poll| poll.state),
            ),
            seen(
                Double::client(self)
                    .poll("nonsense")
                    .await
                    .map(|poll| poll.state),
            ),
            seen(
                self.resolve_deferred_in(missing, ANSWER, "x".to_owned())
                    .await,
            ),
        ])
    }
}
