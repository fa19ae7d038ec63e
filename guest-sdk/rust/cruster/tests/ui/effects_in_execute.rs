use cruster::prelude::*;

#[workflow]
pub struct Order;

#[workflow_impl]
impl Order {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        self.transaction().execute("DELETE FROM orders", ())?;
        self.http().get("http://localhost").send()?;
        println!("{:?} {}", self.config("url"), self.attempt());
        self.look().await?;
        std::thread::sleep(Duration::from_secs(1));
        std::thread::spawn(|| println!("beside"));
        tokio::spawn(async { 1 }).await;
        Ok(request)
    }

    async fn look(&self) -> Result<(), Error> {
        let _key = self.idempotency_key();
        self.transaction().execute("DELETE FROM orders", ())?;
        Ok(())
    }
}

fn main() {}
