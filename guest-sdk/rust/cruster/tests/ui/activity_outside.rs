use cruster::prelude::*;

#[activity]
pub async fn charge(cents: u64) -> Result<u64, Error> {
    Ok(cents)
}

pub struct Plain;

impl Plain {
    #[activity(retries = 3)]
    pub async fn charge(&self, cents: u64) -> Result<u64, Error> {
        Ok(cents)
    }
}

fn main() {}
