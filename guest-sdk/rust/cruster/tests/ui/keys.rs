use cruster::prelude::*;

#[workflow]
pub struct HashAlone;

#[workflow_impl(hash = false)]
impl HashAlone {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        Ok(request)
    }
}

#[workflow]
pub struct Arity;

#[workflow_impl(key = |a: &u32, b: &u32| a.to_string())]
impl Arity {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        Ok(request)
    }

    #[activity(key = |a| a.to_string())]
    async fn two(&self, a: u32, b: u32) -> Result<u32, Error> {
        Ok(a + b)
    }

    #[activity(key = |a, b| a.to_string())]
    async fn one(&self, a: u32) -> Result<u32, Error> {
        Ok(a)
    }

    #[activity(key = || String::new())]
    async fn also_one(&self, a: u32) -> Result<u32, Error> {
        Ok(a)
    }

    #[activity(key = |a| a.to_string())]
    async fn none(&self) -> Result<u32, Error> {
        Ok(0)
    }
}

#[workflow]
pub struct Waiting;

#[workflow_impl(key = async |request: &u32| *request)]
impl Waiting {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        Ok(request)
    }

    #[activity(key = async |a| a.to_string())]
    async fn step(&self, a: u32) -> Result<u32, Error> {
        Ok(a)
    }
}

fn main() {}
