"""A connection that is encrypted, with a token, as docs/clients-python.md shows it."""

import os
from pathlib import Path

from cruster_client import Cluster, CrusterError

cluster = Cluster(
    os.environ["CRUSTER_ADDR"],
    tls=Path(os.environ["CRUSTER_CERTIFICATE"]).read_bytes(),
    token=os.environ["CRUSTER_TOKEN"],
    namespace="shop",
    timeout=30,
    retry_for=1,
)
with cluster:
    try:
        cluster.run("orders/ProcessOrder/42", dict).poll()
    except CrusterError as e:
        print(f"{e.code}: {e.message} ({e.hint})")

    # An answer that does not come in time ends the waiting, and nothing else.
    try:
        cluster.run("orders/ProcessOrder/slow", dict).wait(timeout=0.001)
    except CrusterError as e:
        print(e.code)
