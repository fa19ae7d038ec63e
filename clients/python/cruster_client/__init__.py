"""Calls workflows and entities on a Cruster host.

    with Cluster("127.0.0.1:7600") as cluster:
        process = cluster.workflow("orders/ProcessOrder", OrderResult)
        result = process.execute(OrderRequest(order_id="42", ...))

A request that is sent twice runs once: starts by their keys, and everything else by an id
that the client draws. So calls that no host answered, or that a full host put off, are
repeated, for as long as `retry_for` allows. Settling a deferred is not: a second
settlement is refused, also if the first was this client's own.

A failed call raises a CrusterError with a stable code and a hint. A failed
workflow raises a RunError, which has the state of its execution.
"""

from cruster_client._cluster import Cluster
from cruster_client._entity import Entity
from cruster_client._errors import CrusterError, RunError
from cruster_client._run import Run, State, Status
from cruster_client._workflow import IfFinished, Workflow

__all__ = [
    "Cluster",
    "CrusterError",
    "Entity",
    "IfFinished",
    "Run",
    "RunError",
    "State",
    "Status",
    "Workflow",
]
