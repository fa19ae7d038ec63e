use cruster::prelude::*;

#[entity(rpc_groups(HealthCheck), state = Users, mailbox = 3)]
#[derive(Default)]
pub struct Gateway {
    #[state]
    users: u32,
}

#[entity_impl(concurrency = 4)]
impl Gateway {
    #[rpc]
    async fn count(&mut self) -> Result<u32, Error> {
        Ok(1)
    }

    #[activity(retries = 3)]
    async fn pay(&self) -> Result<u32, Error> {
        Ok(1)
    }

    #[workflow]
    async fn run(&self) -> Result<u32, Error> {
        Ok(1)
    }

    #[rpc(persist)]
    async fn save(&self) -> Result<u32, Error> {
        Ok(1)
    }

    #[rpc]
    fn sync(&self) -> Result<u32, Error> {
        Ok(1)
    }

    #[rpc]
    async fn waits(&self) -> Result<u32, Error> {
        self.sleep(Duration::from_secs(1)).await?;
        Gateway::client(self, "other").count().await
    }

    #[rpc]
    async fn id(&self) -> Result<u32, Error> {
        Ok(1)
    }

    #[state]
    #[rpc]
    async fn kept(&self) -> Result<u32, Error> {
        Ok(1)
    }
}

#[entity]
pub struct Borrows;

#[entity_impl]
impl Borrows {
    #[rpc]
    async fn name(&self, user: &str) -> String {
        user.to_owned()
    }
}

#[entity]
pub struct Empty;

#[entity_impl]
impl Empty {}

fn main() {}
