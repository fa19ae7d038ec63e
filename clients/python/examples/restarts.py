"""A client does not notice a host that is killed and started again. tests/clients does
that to the host whenever this program says so."""

import os
from concurrent.futures import ThreadPoolExecutor

from cruster_client import Cluster


def say(wanted: str) -> None:
    """Prints a demand, and waits until it was taken up."""
    print(">", wanted, flush=True)
    input()


with Cluster(os.environ.get("CRUSTER_ADDR", "127.0.0.1:7600")) as cluster:
    approvals = cluster.workflow("approval/RequestApproval", dict)
    first = approvals.start({"document": "plan"})
    cart = cluster.entity("cart/Cart", "bob")
    tea = {"sku": "tea", "quantity": 1, "price_cents": 450}
    total = cart.call("add", int, tea, id="tea-1")
    print(f"existed: {str(first.existed).lower()}, total: {total}")

    # No host is there: calls are repeated until one is, and find the effects of the first ones.
    say("kill")
    say("start")
    again = approvals.start({"document": "plan"})
    same = again.execution == first.execution
    print(f"existed: {str(again.existed).lower()}, same: {str(same).lower()}")
    print("total:", cart.call("add", int, tea, id="tea-1"))

    # The host is killed while a call may wait. The call goes on with the next host.
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(again.wait)
        first.poll()
        say("kill")
        say("start and wait")
        first.resolve("approved", {"approved": True, "by": "ada"})
        print(waiting.result()["status"])
