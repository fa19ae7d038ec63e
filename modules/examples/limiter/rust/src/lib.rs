//! A rate limiter: an entity for each client, which counts the client's remaining permits.

use std::time::{SystemTime, UNIX_EPOCH};

use cruster::prelude::*;

/// A limiter: permits that are taken, and come back with time. Its id names the limited party: a
/// client, a key of an API.
#[stateful_entity]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Schema)]
pub struct Limiter {
    /// How many permits there are at most.
    pub capacity: i64,
    /// How many milliseconds it takes until a permit is back.
    pub every_ms: i64,
    /// How many were taken and are not back at `updated_ms`, Unix milliseconds.
    pub taken: i64,
    pub updated_ms: i64,
}

/// The request of `configure`.
#[derive(Clone, Debug, Serialize, Deserialize, Schema)]
pub struct Limit {
    pub capacity: i64,
    pub every_ms: i64,
}

/// The answer of `take`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Schema)]
pub struct Decision {
    pub allowed: bool,
    /// How many permits are left.
    pub left: i64,
    /// When there are enough permits; 0 if it is allowed.
    pub retry_after_ms: i64,
}

#[operations]
impl Limiter {
    fn on_create(&mut self, _cx: &EntityContext) {
        self.capacity = 10;
        self.every_ms = 100;
    }

    /// Sets the limit. Taken permits stay taken.
    pub fn configure(&mut self, limit: Limit) -> Result<bool> {
        if limit.capacity < 1 || limit.every_ms < 1 {
            cruster::bail!("invalid_limit", "a limit has a capacity and an interval");
        }
        self.refill(now_ms());
        self.capacity = limit.capacity;
        self.every_ms = limit.every_ms;
        Ok(true)
    }

    /// Takes permits, all or none.
    pub fn take(&mut self, n: i64) -> Result<Decision> {
        if n < 1 || n > self.capacity {
            cruster::bail!(
                "invalid_number",
                "1 to {} permits can be taken together",
                self.capacity
            );
        }
        let now = now_ms();
        self.refill(now);
        let missing = self.taken + n - self.capacity;
        if missing > 0 {
            return Ok(Decision {
                allowed: false,
                left: self.capacity - self.taken,
                retry_after_ms: missing * self.every_ms - (now - self.updated_ms),
            });
        }
        self.taken += n;
        Ok(Decision {
            allowed: true,
            left: self.capacity - self.taken,
            retry_after_ms: 0,
        })
    }
}

impl Limiter {
    /// Gives permits back for the time that has passed.
    pub fn refill(&mut self, now: i64) {
        let back = (now - self.updated_ms) / self.every_ms;
        if back >= self.taken {
            self.taken = 0;
            self.updated_ms = now;
            return;
        }
        self.taken -= back;
        self.updated_ms += back * self.every_ms;
    }
}

fn now_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |passed| passed.as_millis() as i64)
}

cruster::module! {
    entities: [Limiter],
}
