"""The parts left out of the page: updates, published values, keys that are used again, and
entities without a state. tests/clients runs it."""

import os

from cruster_client import Cluster, CrusterError, IfFinished

with Cluster(os.environ.get("CRUSTER_ADDR", "127.0.0.1:7600")) as cluster:
    sums = cluster.workflow("conformance/Updated", list[int]).with_key_raw("sums")
    run = sums.start(False)
    print(run.update("add", int, 3))
    for _ in range(2):
        print(run.update("add", int, 4, id="four"))
    for refused in (-1, 2000):
        try:
            run.update("add", int, refused)
        except CrusterError as e:
            print(e.code, e.error_type)
    print(run.update("finish", str))
    print(run.wait())

    try:
        sums.if_finished(IfFinished.REFUSE).start(False)
    except CrusterError as e:
        print(e.code)
    restart = sums.if_finished(IfFinished.RESTART, id="second")
    existed = [restart.start(False).existed, restart.start(False).existed]
    print(f"[{', '.join(str(e).lower() for e in existed)}]")

    publishes = cluster.workflow("conformance/Publishes", list).with_key("ada").start("ada")
    publishes.resolve("gate", "open")
    publishes.wait()
    print(publishes.published("stage", str))

    ledger = cluster.entity("conformance/Ledger", "a")
    for _ in range(2):
        print(ledger.call("note", int, False, id="one"))
    print(ledger.call("read", int, {}))
