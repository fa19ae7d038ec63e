//! The program that docs/clients-rust.md begins with, for a host with the example `orders`.

use cruster_client::{Cluster, Error};
use orders_rust::{Item, OrderRequest, ProcessOrder};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let address = std::env::var("CRUSTER_ADDR").unwrap_or_else(|_| "127.0.0.1:7600".to_owned());
    let cluster = Cluster::connect(address, "orders")?; // the host, and the deployment
    let orders = ProcessOrder::client(&cluster);
    let order = |id: &str| OrderRequest {
        order_id: id.to_owned(),
        email: "ada@example.com".to_owned(),
        items: vec![Item {
            sku: "tea".to_owned(),
            quantity: 2,
            price_cents: 450,
        }],
        cooling_off_ms: 100,
        ..OrderRequest::default()
    };
    let run = orders.start(order("100")).await?; // returns when the start is durable
    println!("started {}", run.execution());
    println!("{}", run.wait().await?.status);

    let result = orders.execute(order("101")).await?; // starts it and waits
    println!("{}", result.status);
    Ok(()) // the connection is closed with the last clone of the cluster
}
