use cruster::prelude::*;

#[workflow]
pub struct Nothing;

#[workflow_impl]
impl Nothing {
    async fn execute(&self) -> Result<(), Error> {
        Ok(())
    }
}

#[workflow]
pub struct Many;

#[workflow_impl]
impl Many {
    async fn execute(&self, id: u32, name: String, items: Vec<u32>) -> Result<(), Error> {
        Ok(())
    }
}

fn main() {}
