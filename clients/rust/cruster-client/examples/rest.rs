//! The parts that the program of the page leaves out: updates, published values, keys that are used again, and
//! entities without a state. `tests/clients` runs it.

use conformance_guest::published::{Publishes, Stage};
use conformance_guest::updates::{Add, Finish, Updated};
use cruster::{Deferred, Empty};
use cruster_client::{Cluster, Error, IfFinished};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let address = std::env::var("CRUSTER_ADDR").unwrap_or_else(|_| "127.0.0.1:7600".to_owned());
    let cluster = Cluster::connect(address, "conformance")?;
    updates(&cluster).await?;
    published(&cluster).await?;
    entities(&cluster).await
}

async fn updates(cluster: &Cluster) -> Result<(), Error> {
    let sums = Updated::client(cluster).with_key_raw("sums");
    let run = sums.start(false).await?;
    println!("{}", run.update(Add(3)).await?);
    for _ in 0..2 {
        println!("{}", run.update_with_request_id("four", Add(4)).await?);
    }
    for refused in [-1, 2000] {
        match run.update(Add(refused)).await {
            Err(e) => println!("{} {}", e.code(), e.error_type()),
            Ok(sum) => panic!("{refused} was added: {sum}"),
        }
    }
    println!("{}", run.update(Finish).await?);
    println!("{:?}", run.wait().await?);

    match sums.if_finished(IfFinished::Refuse).start(false).await {
        Err(e) => println!("{}", e.code()),
        Ok(run) => panic!("{run:?} was started"),
    }
    let restart = sums
        .if_finished(IfFinished::Restart)
        .with_request_id("second");
    let existed = [restart.start(false).await?, restart.start(false).await?].map(|r| r.existed());
    println!("{existed:?}");
    Ok(())
}

async fn published(cluster: &Cluster) -> Result<(), Error> {
    let publishes = Publishes::client(cluster).with_key("ada");
    let run = publishes.start("ada".to_owned()).await?;
    run.resolve(Deferred::named("gate"), "open".to_owned())
        .await?;
    run.wait().await?;
    let stage: Option<Stage> = run.published().await?;
    println!("{}", stage.map_or_else(String::new, |stage| stage.0));
    Ok(())
}

async fn entities(cluster: &Cluster) -> Result<(), Error> {
    let ledger = cruster::remote_entity(cluster, "conformance/Ledger/a");
    for _ in 0..2 {
        let noted: i64 = ledger.call("note", false).with_request_id("one").await?;
        println!("{noted}");
    }
    let read: i64 = ledger.call("read", Empty {}).await?;
    println!("{read}");
    Ok(())
}
