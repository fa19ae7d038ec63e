//! Clients have the types of their callees: it is the compiler that tests this.

use std::future::IntoFuture;

use cruster::prelude::*;
use cruster_client::{Cluster, EntityCall, Run, WorkflowClient};

#[entity]
pub struct Gateway;

#[entity_impl(rpc_groups(Health))]
impl Gateway {
    #[rpc]
    async fn greet(&self, name: String, times: u32) -> Result<String> {
        Ok(name.repeat(times as usize))
    }
}

#[rpc_group]
pub struct Health;

#[rpc_group_impl]
impl Health {
    #[rpc]
    async fn well(&self) -> Result<bool> {
        Ok(true)
    }
}

fn cluster() -> Cluster {
    Cluster::connect("127.0.0.1:1", "shop").expect("an address")
}

fn sent_between_threads<T: Send>(value: T) -> T {
    value
}

#[tokio::test]
async fn entities_without_a_state_have_their_rpcs_and_those_of_groups() {
    let cluster = cluster();
    let gateway = Gateway::client(&cluster, "a");
    let greet: EntityCall<String> = gateway.greet("ada".to_owned(), 2);
    let well: EntityCall<bool> = gateway.well();
    drop((
        greet.into_future(),
        sent_between_threads(well.into_future()),
    ));
}

#[tokio::test]
async fn calls_can_be_spawned() {
    let client: WorkflowClient<orders_rust::ProcessOrder> =
        orders_rust::ProcessOrder::client(&cluster());
    let run: Run<orders_rust::ProcessOrder> = client.attach("shop/ProcessOrder/1");
    drop(sent_between_threads(run.wait()));
    drop(sent_between_threads(
        client.execute(orders_rust::OrderRequest::default()),
    ));
}

#[tokio::test]
async fn what_is_not_an_address_is_refused() {
    let refused = Cluster::connect("not an address", "shop").expect_err("it is refused");
    assert_eq!(refused.code(), "CR-5007");
    let refused = Cluster::options("127.0.0.1:1", "shop")
        .token("a\nb")
        .connect();
    assert_eq!(refused.expect_err("it is refused").code(), "CR-5007");
}
