use cruster::prelude::*;

#[workflow]
pub async fn process_order(request: u32) -> Result<u32, Error> {
    Ok(request)
}

fn main() {}
