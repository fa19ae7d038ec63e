"""Calls that found no connection: nothing of them has left the client."""

import socket
import unittest
from concurrent import futures
from typing import Any

import grpc

from cruster_client import Cluster, CrusterError
from cruster_client._values import packed
from cruster_client.proto import entity_pb2, entity_pb2_grpc

#: For how many seconds to wait for an event that must happen.
PATIENCE = 900.0


class Entities(entity_pb2_grpc.EntityServiceServicer):
    """Answers calls, and tells how they were marked."""

    def __init__(self) -> None:
        self.marks: list[bool] = []

    def CallEntity(self, request: entity_pb2.CallEntityRequest, context: Any) -> entity_pb2.CallEntityResponse:
        self.marks.append(request.operation.again)
        if len(self.marks) == 1:
            context.abort(grpc.StatusCode.UNAVAILABLE, "the answer is lost")
        return entity_pb2.CallEntityResponse(result=packed(7))


def listener() -> socket.socket:
    """Takes connections, and gives up if none comes."""
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(PATIENCE)
    return server


def hang_up(down: socket.socket, call: futures.Future[int]) -> None:
    """Ends the next connection that a call makes."""
    try:
        down.accept()[0].close()
    except TimeoutError:
        if call.done():
            call.result()  # why it makes none
        raise


class UnsentTest(unittest.TestCase):
    def test_only_what_has_left_is_marked(self) -> None:
        threads = futures.ThreadPoolExecutor()
        self.addCleanup(threads.shutdown)
        # A host that goes down: it takes connections, and ends them before anything is said.
        down = listener()
        address = f"127.0.0.1:{down.getsockname()[1]}"
        cluster = Cluster(address, retry_for=float("inf"))
        self.addCleanup(cluster.close)
        call = threads.submit(cluster.entity("shop/Cart", "ada").call, "add", int)
        for _ in range(3):
            hang_up(down, call)
        down.close()

        entities, host = Entities(), grpc.server(threads)
        entity_pb2_grpc.add_EntityServiceServicer_to_server(entities, host)  # type: ignore[no-untyped-call]
        host.add_insecure_port(address)
        host.start()
        self.addCleanup(lambda: host.stop(None).wait())
        self.assertEqual(7, call.result(PATIENCE))
        self.assertEqual([False, True], entities.marks)

    def test_a_call_without_a_connection_has_a_budget(self) -> None:
        with listener() as unused:
            address = f"127.0.0.1:{unused.getsockname()[1]}"
        # No connection comes, however long the limit that ends the wait for it. The other one has no end.
        for retry_for, timeout in ((0.0, None), (0.001, None), (float("inf"), 0.001)):
            with self.subTest(retry_for=retry_for, timeout=timeout), Cluster(address, retry_for=retry_for, timeout=timeout) as cluster:
                with self.assertRaises(CrusterError) as raised:
                    cluster.entity("shop/Cart", "ada").call("add", int)
                self.assertEqual("CR-5010", raised.exception.code)
                self.assertEqual(timeout is not None, "it was not sent" in raised.exception.message)

    def test_closing_ends_the_waiting(self) -> None:
        with listener() as down, futures.ThreadPoolExecutor() as threads, Cluster(f"127.0.0.1:{down.getsockname()[1]}", retry_for=float("inf")) as cluster:
            call = threads.submit(cluster.entity("shop/Cart", "ada").call, "add", int)
            hang_up(down, call)
            cluster.close()
            for closed in (call.result, lambda: cluster.entity("shop/Cart", "ada").call("add", int)):
                self.assertRaisesRegex(ValueError, "the cluster is closed", closed)


if __name__ == "__main__":
    unittest.main()
