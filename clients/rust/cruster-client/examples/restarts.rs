//! A client sees nothing of a host that is killed and started again. `tests/clients` does
//! that to the host whenever this program says so.

use approval_rust::{APPROVED, ApprovalRequest, Decision, RequestApproval};
use cart_rust::{Cart, Item};
use cruster_client::{Cluster, Error};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let address = std::env::var("CRUSTER_ADDR").unwrap_or_else(|_| "127.0.0.1:7600".to_owned());
    let cluster = Cluster::connect(address, "approval")?;
    let approvals = RequestApproval::client(&cluster);
    let request = ApprovalRequest {
        document: "plan".to_owned(),
        ..ApprovalRequest::default()
    };
    let item = Item {
        sku: "tea".to_owned(),
        quantity: 1,
        price_cents: 450,
    };
    let first = approvals.start(request.clone()).await?;
    let shop = cluster.with_deployment("cart");
    let cart = Cart::client(&shop, "bob");
    let total = cart.add(item.clone()).with_request_id("tea-1").await?;
    println!("existed: {}, total: {total}", first.existed());

    // No host is there: calls are repeated until one is, and find the effects of the first ones.
    say("kill").await;
    say("start").await;
    let again = approvals.start(request).await?;
    let same = again.execution() == first.execution();
    println!("existed: {}, same: {same}", again.existed());
    let total = cart.add(item).with_request_id("tea-1").await?;
    println!("total: {total}");

    // The host is killed while a call waits. The call goes on with the next host.
    let (result, resolved) = tokio::join!(again.wait(), async {
        again.poll().await?; // behind the call that waits, on the same connection
        say("kill").await;
        say("start and wait").await;
        let decision = Decision {
            approved: true,
            by: "ada".to_owned(),
            comment: String::new(),
        };
        first.resolve(APPROVED, decision).await
    });
    resolved?;
    println!("{}", result?.status.as_str());
    Ok(())
}

/// Tells the wish, and waits until it was taken up.
async fn say(wanted: &'static str) {
    let asked = tokio::task::spawn_blocking(move || {
        println!("> {wanted}");
        let mut line = String::new();
        std::io::stdin()
            .read_line(&mut line)
            .expect("standard input can be read");
    });
    asked.await.expect("nothing panics there");
}
