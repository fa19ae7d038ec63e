use cruster::prelude::*;

const APPROVED: Deferred<bool> = Deferred::new("approved");

#[workflow]
pub struct Order;

#[workflow_impl]
impl Order {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        self.step(request).await
    }

    #[activity]
    async fn step(&self, n: u32) -> Result<u32, Error> {
        self.sleep(Duration::from_secs(1)).await?;
        self.sleep_until(self.now()).await?;
        let _ok: bool = self.await_deferred(APPROVED).await?;
        self.resolve_deferred(APPROVED, true).await?;
        self.spawn(async {});
        let _seed = self.random();
        let _reason = self.on_interrupt().await;
        cruster::join!(self.timeout(Duration::from_secs(1), async { Ok(()) })).await?;
        Order::client(self).execute(n).await?;
        cruster::remote::<u32, u32>(self, "other/Order").execute(n).await?;
        Ok(n)
    }
}

#[activity_group]
pub struct Payments;

#[activity_group_impl]
impl Payments {
    #[activity]
    async fn charge(&self, cents: u64) -> Result<u64, Error> {
        self.wait().await?;
        Ok(cents)
    }

    async fn wait(&self) -> Result<(), Error> {
        self.sleep(Duration::from_secs(1)).await
    }
}

fn main() {}
