use cruster::prelude::*;

#[derive(Serialize, Deserialize, Schema, Signal)]
pub struct Paid;

#[workflow(signals(Paid))]
pub struct Order;

// Compilers differ in how they pad line numbers.
#[workflow_impl(signals(Paid, Paid))]
impl Order {
    async fn execute(&self, request: u32) -> Result<u32, Error> {
        self.charge(request).await
    }

    #[activity]
    async fn charge(&self, n: u32) -> Result<u32, Error> {
        self.receive::<Paid>().await?;
        self.signal("shop/Order/1", Paid).await?;
        Ok(n)
    }

    #[signal]
    async fn paid(&self) {}
}

#[derive(Serialize, Deserialize, Schema, Signal)]
#[signal(named = "größe")]
pub struct Size;

#[derive(Serialize, Deserialize, Schema, Signal)]
#[signal(name = "größe")]
pub struct Other;

#[derive(Serialize, Deserialize, Schema, Signal)]
#[signal = "paid"]
pub struct Third;

#[derive(Serialize, Deserialize, Schema, Signal)]
pub struct Fourth<T>(T);

fn main() {}
