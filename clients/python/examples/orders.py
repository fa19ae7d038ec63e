"""The program of docs/clients-python.md, for a host with the examples orders, cart and approval."""

import os
import time
from dataclasses import dataclass, field

from cruster_client import Cluster, CrusterError, RunError


@dataclass
class Item:
    sku: str
    quantity: int
    price_cents: int


@dataclass
class OrderRequest:
    order_id: str
    email: str = ""
    items: list[Item] = field(default_factory=list)
    cooling_off_ms: int = 0


@dataclass
class OrderResult:
    order_id: str
    charge_id: str
    total_cents: int
    status: str


@dataclass
class Cart:
    items: list[Item]
    orders: int


def workflows(cluster: Cluster) -> None:
    order = OrderRequest("42", "ada@example.com", [Item("tea", 2, 450)], cooling_off_ms=100)
    orders = cluster.workflow("orders/ProcessOrder", OrderResult)
    run = orders.start(order)  # durable by now
    print("started", run.execution)
    result = run.wait()
    print(f"{result.status}: {result.total_cents} cents")

    # The order id is the key: an order that is sent twice is processed once.
    again = orders.execute(order)
    once = again.charge_id == result.charge_id
    print("charged", "once" if once else "twice")


def refusals(cluster: Cluster) -> None:
    # A workflow that fails: the error has its state, and the type that the workflow gave it.
    try:
        cluster.workflow("orders/ProcessOrder", OrderResult).execute(OrderRequest("43"))
    except RunError as e:
        print(e.state, e.code, e.error_type)
    # A call that fails: the error has a code, and a hint that says what to do.
    try:
        cluster.workflow("nowhere/ProcessOrder", OrderResult).start(OrderRequest("43"))
    except CrusterError as e:
        print(f"{e.code}: {e.message}")


def deferreds(cluster: Cluster) -> None:
    run = cluster.workflow("approval/RequestApproval", dict).start({"document": "budget"})
    run.resolve("approved", {"approved": True, "by": "ada"})
    result = run.wait()
    print(result["status"], "by", result["by"])


def messages(cluster: Cluster) -> None:
    subscriptions = cluster.workflow("cart/Subscription", dict)
    request = {"customer": "ada", "plan": "small"}
    run = subscriptions.signal_with_start(request, "change_plan", {"plan": "large"})
    # A signal is durable once it is sent; the workflow receives it in its own time.
    while run.query("status", dict)["plan"] != "large":
        time.sleep(0.02)
    print("state:", run.poll().state.value)

    run.signal("cancel", {"reason": "too much tea"})
    while not run.query("status", dict)["canceled"]:
        time.sleep(0.02)
    run.interrupt("the customer has moved")
    try:
        run.wait()
    except RunError as e:
        print(f"{e.state}: {e.code}")


def entities(cluster: Cluster) -> None:
    cart = cluster.entity("cart/Cart", "ada")
    print("total:", cart.call("add", int, Item("tea", 2, 450)))
    # A request with an id of its own is performed once, however often it is made.
    for _ in range(2):
        print("total:", cart.call("add", int, Item("milk", 1, 450), id="milk-1"))
    try:
        cart.call("remove", int, "coffee")
    except CrusterError as e:
        print(f"{e.code} {e.error_type}: {e.message}")
    print("items:", len(cart.state(Cart).items))


if __name__ == "__main__":
    with Cluster(os.environ.get("CRUSTER_ADDR", "127.0.0.1:7600")) as cluster:
        workflows(cluster)
        refusals(cluster)
        deferreds(cluster)
        messages(cluster)
        entities(cluster)
