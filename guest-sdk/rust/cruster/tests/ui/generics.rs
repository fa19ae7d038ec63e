use cruster::prelude::*;

#[workflow]
pub struct Order<T>(T);

#[workflow]
pub struct Plain;

#[workflow_impl]
impl<T> Plain<T> {
    async fn execute(&self, request: T) -> Result<T, Error> {
        Ok(request)
    }
}

#[workflow_impl]
impl Plain<u32> {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        Ok(request)
    }
}

#[workflow]
pub struct Methods;

#[workflow_impl]
impl Methods {
    async fn execute<T>(&self, request: T) -> Result<T, Error> {
        Ok(request)
    }

    #[activity]
    async fn step<'a>(&self, text: &'a str) -> Result<(), Error> {
        Ok(())
    }
}

fn main() {}
