//! The program of docs/clients-rust.md: run with `cargo run --example orders`, against a host with
//! the examples `orders`, `cart` and `approval`.

use std::time::Duration;

use approval_rust::{APPROVED, ApprovalRequest, Decision, RequestApproval};
use cart_rust::{Cancel, Cart, ChangePlan, Item, Status, Subscription, SubscriptionRequest};
use cruster_client::{Cluster, Error, State};
use orders_rust::{OrderRequest, ProcessOrder};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let address = std::env::var("CRUSTER_ADDR").unwrap_or_else(|_| "127.0.0.1:7600".to_owned());
    let orders = Cluster::connect(address, "orders")?;
    workflows(&orders).await?;
    refusals(&orders).await?;
    deferreds(&orders.with_deployment("approval")).await?;
    messages(&orders.with_deployment("cart")).await?;
    entities(&orders.with_deployment("cart")).await
}

async fn workflows(cluster: &Cluster) -> Result<(), Error> {
    let order = OrderRequest {
        order_id: "42".to_owned(),
        email: "ada@example.com".to_owned(),
        items: vec![orders_rust::Item {
            sku: "tea".to_owned(),
            quantity: 2,
            price_cents: 450,
        }],
        cooling_off_ms: 100,
        ..OrderRequest::default()
    };
    let orders = ProcessOrder::client(cluster);
    let run = orders.start(order.clone()).await?; // durable by now
    println!("started {}", run.execution());
    let result = run.wait().await?;
    println!("{}: {} cents", result.status, result.total_cents);

    // The order id is the key: an order that is sent twice is processed once.
    let again = orders.execute(order).await?;
    let once = again.charge_id == result.charge_id;
    println!("charged {}", if once { "once" } else { "twice" });
    Ok(())
}

async fn refusals(cluster: &Cluster) -> Result<(), Error> {
    let empty = OrderRequest {
        order_id: "43".to_owned(),
        ..OrderRequest::default()
    };
    // A workflow that fails: the error has its state, and the type that the workflow gave it.
    match ProcessOrder::client(cluster).execute(empty.clone()).await {
        Err(e) if e.state() == Some(State::Failed) => {
            println!("failed {} {}", e.code(), e.error_type())
        }
        other => panic!("an empty order: {other:?}"),
    }
    // A call that fails: the error has a code, and a hint that says what to do.
    let elsewhere = cluster.with_deployment("nowhere");
    match ProcessOrder::client(&elsewhere).start(empty).await {
        Err(e) => println!("{}: {}", e.code(), e.message()),
        Ok(run) => panic!("{run:?} should not be there"),
    }
    Ok(())
}

async fn deferreds(cluster: &Cluster) -> Result<(), Error> {
    let request = ApprovalRequest {
        document: "budget".to_owned(),
        ..ApprovalRequest::default()
    };
    let run = RequestApproval::client(cluster).start(request).await?;
    let decision = Decision {
        approved: true,
        by: "ada".to_owned(),
        comment: String::new(),
    };
    run.resolve(APPROVED, decision).await?;
    let result = run.wait().await?;
    println!("{} by {}", result.status.as_str(), result.by);
    Ok(())
}

async fn messages(cluster: &Cluster) -> Result<(), Error> {
    let request = SubscriptionRequest {
        customer: "ada".to_owned(),
        plan: "small".to_owned(),
        ..SubscriptionRequest::default()
    };
    let plan = "large".to_owned();
    let run = Subscription::client(cluster)
        .signal_with_start(request, ChangePlan { plan })
        .await?;
    // A signal is durable once it is sent; the workflow receives it in its own time.
    while run.query(Status).await?.plan != "large" {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    println!("state: {}", run.poll().await?.state);

    let reason = "too much tea".to_owned();
    run.signal(Cancel { reason }).await?;
    while !run.query(Status).await?.canceled {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    run.interrupt("the customer has moved").await?;
    match run.wait().await {
        Err(e) => println!("{}: {}", e.state().unwrap_or(State::Unknown), e.code()),
        Ok(status) => panic!("{status:?}: a year has passed"),
    }
    Ok(())
}

async fn entities(cluster: &Cluster) -> Result<(), Error> {
    let cart = Cart::client(cluster, "ada");
    let item = |sku: &str, quantity| Item {
        sku: sku.to_owned(),
        quantity,
        price_cents: 450,
    };
    println!("total: {}", cart.add(item("tea", 2)).await?);
    // A request with an id of its own is performed once, however often it is made.
    for _ in 0..2 {
        let total = cart.add(item("milk", 1)).with_request_id("milk-1").await?;
        println!("total: {total}");
    }
    match cart.remove("coffee".to_owned()).await {
        Err(e) => println!("{} {}: {}", e.code(), e.error_type(), e.message()),
        Ok(total) => panic!("there was coffee, and now the total is {total}"),
    }
    let state = cluster.entity::<Cart>("ada").state().await?;
    println!("items: {}", state.items.len());
    Ok(())
}
