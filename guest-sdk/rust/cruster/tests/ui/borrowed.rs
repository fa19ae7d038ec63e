use cruster::prelude::*;

pub struct Cut<'a>(&'a str);

#[workflow]
pub struct Order;

#[workflow_impl]
impl Order {
    async fn execute(&self, request: &str) -> Result<(), Error> {
        Ok(())
    }

    #[activity]
    async fn step(&self, items: &[u32], more: Option<&String>) -> Result<(), Error> {
        Ok(())
    }

    #[activity]
    async fn other(&self, text: impl Into<String>, cut: Cut<'_>) -> Result<(), Error> {
        Ok(())
    }
}

#[workflow]
pub struct Results;

#[workflow_impl]
impl Results {
    async fn execute(&self, _: ()) -> Result<impl Serialize, Error> {
        Ok(1)
    }

    #[activity]
    async fn name(&self) -> Result<&str, Error> {
        Ok("name")
    }
}

fn main() {}
