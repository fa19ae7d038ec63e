"""The program that docs/clients-python.md begins with, for a host with the example orders."""

import os

from cruster_client import Cluster

with Cluster(os.environ.get("CRUSTER_ADDR", "127.0.0.1:7600")) as cluster:  # closes it at the end
    orders = cluster.workflow("orders/ProcessOrder", dict)
    order = {"order_id": "100", "email": "ada@example.com", "items": [{"sku": "tea", "quantity": 2, "price_cents": 450}], "cooling_off_ms": 100}
    run = orders.start(order)  # returns when the start is durable
    print("started", run.execution)
    print(run.wait()["status"])

    result = orders.execute({**order, "order_id": "101"})  # starts it and waits
    print(result["status"])
