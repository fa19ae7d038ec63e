//! A connection that is encrypted, with a token, as docs/clients-rust.md shows it.

use std::time::Duration;

use cruster_client::{Cluster, Error};
use orders_rust::ProcessOrder;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let variable = |name| std::env::var(name).expect(name);
    let certificate = std::fs::read(variable("CRUSTER_CERTIFICATE")).expect("the certificate");
    let cluster = Cluster::options(variable("CRUSTER_ADDR"), "orders")
        .tls_certificate(certificate)
        .token(variable("CRUSTER_TOKEN"))
        .namespace("shop")
        .timeout(Duration::from_secs(30))
        .retry_for(Duration::from_secs(1))
        .connect()?;
    let run = ProcessOrder::client(&cluster).attach("orders/ProcessOrder/42");
    if let Err(e) = run.poll().await {
        println!("{}: {} ({})", e.code(), e.message(), e.hint());
    }

    // An answer that does not come in time ends the waiting, and nothing else.
    let hurried = cluster.with_timeout(Duration::from_millis(1));
    let run = ProcessOrder::client(&hurried).attach("orders/ProcessOrder/slow");
    if let Err(e) = run.wait().await {
        println!("{}", e.code());
    }
    Ok(())
}
