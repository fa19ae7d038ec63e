"""Executions that run for longer than one call waits."""

import unittest
from concurrent import futures
from typing import Any
from unittest import mock

import grpc

from cruster_client import Cluster, CrusterError, RunError
from cruster_client._calls import Caller
from cruster_client._stubs import Stubs
from cruster_client._values import packed
from cruster_client._waiting import WAIT_OF_A_CALL, execute
from cruster_client.proto import common_pb2, workflow_pb2, workflow_pb2_grpc
from tests.test_errors import Clock, Failure, connected

RUNNING = common_pb2.Execution(name="shop/Buy/k", state=common_pb2.STATE_RUNNING, run_id="b2", chain_id="a1")
COMPLETED = common_pb2.Execution(name="shop/Buy/k", state=common_pb2.STATE_COMPLETED, result=packed(7))
PAUSED = common_pb2.Execution(name="shop/Buy/k", state=common_pb2.STATE_PAUSED)


class Workflows(workflow_pb2_grpc.WorkflowServiceServicer):
    """Answers calls with the execution as it is when each of them is over, and keeps the calls."""

    def __init__(self, *executions: common_pb2.Execution) -> None:
        self.executions = list(executions)
        self.calls: list[tuple[str, int, str]] = []

    def StartExecution(
        self, request: workflow_pb2.StartExecutionRequest, _: Any
    ) -> workflow_pb2.StartExecutionResponse:
        self.calls.append(("start", request.wait.seconds, request.start.workflow))
        return workflow_pb2.StartExecutionResponse(execution=self.executions.pop(0))

    def WaitExecution(self, request: workflow_pb2.WaitExecutionRequest, _: Any) -> workflow_pb2.WaitExecutionResponse:
        self.calls.append((request.execution, request.wait.seconds, request.run_id))
        return workflow_pb2.WaitExecutionResponse(execution=self.executions.pop(0))


class WaitingTest(unittest.TestCase):
    def cluster(self, workflows: Workflows) -> Cluster:
        threads = futures.ThreadPoolExecutor()
        self.addCleanup(threads.shutdown)
        host = grpc.server(threads)
        workflow_pb2_grpc.add_WorkflowServiceServicer_to_server(workflows, host)  # type: ignore[no-untyped-call]
        cluster = Cluster(f"127.0.0.1:{host.add_insecure_port('127.0.0.1:0')}")
        host.start()
        self.addCleanup(lambda: host.stop(None).wait())
        self.addCleanup(cluster.close)
        return cluster

    def test_a_long_run_is_awaited_by_several_calls(self) -> None:
        workflows = Workflows(RUNNING, RUNNING, RUNNING, COMPLETED)
        self.assertEqual(7, self.cluster(workflows).workflow("shop/Buy", int).execute())
        wait = ("shop/Buy/k", WAIT_OF_A_CALL, "a1")
        self.assertEqual([("start", WAIT_OF_A_CALL, "shop/Buy"), wait, wait, wait], workflows.calls)

    def test_a_run_is_awaited_by_its_name(self) -> None:
        workflows = Workflows(RUNNING, COMPLETED)
        self.assertEqual(7, self.cluster(workflows).run("shop/Buy/k", int).wait())
        self.assertEqual(2 * [("shop/Buy/k", WAIT_OF_A_CALL, "")], workflows.calls)

    def test_a_paused_run_is_not_awaited(self) -> None:
        workflows = Workflows(PAUSED)
        with self.assertRaises(RunError) as raised:
            self.cluster(workflows).workflow("shop/Buy", int).execute()
        self.assertEqual(("paused", 1), (raised.exception.state, len(workflows.calls)))

    def test_a_start_without_a_wait_has_none(self) -> None:
        workflows = Workflows(RUNNING)
        self.assertEqual("shop/Buy/k", self.cluster(workflows).workflow("shop/Buy", int).start().execution)
        self.assertEqual([("start", 0, "shop/Buy")], workflows.calls)


class Late:
    """The methods of a host where an execution takes very long, and a call as long as it may."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.timeouts: list[float | None] = []

    def call(self, request: Any, timeout: float | None = None, metadata: Any = ()) -> Any:
        self.timeouts.append(timeout)
        if timeout is not None and timeout < WAIT_OF_A_CALL:
            self.clock.sleep(timeout)
            raise Failure(grpc.StatusCode.DEADLINE_EXCEEDED)
        self.clock.sleep(WAIT_OF_A_CALL)
        return mock.Mock(execution=RUNNING if self.clock.now < 1000 else COMPLETED)


class DeadlineTest(unittest.TestCase):
    def test_the_calls_of_a_wait_share_its_time(self) -> None:
        for of_cluster, of_call in ((120.0, None), (None, 120.0), (5.0, 120.0)):
            clock = Clock()
            host = Late(clock)
            channel = grpc.insecure_channel("127.0.0.1:1")
            self.addCleanup(channel.close)
            stubs = Stubs(channel, Caller(connected, 30, of_cluster, None), "")
            stubs.workflows = mock.Mock(StartExecution=host.call, WaitExecution=host.call)
            with mock.patch("cruster_client._calls.time", clock), self.assertRaises(CrusterError) as raised:
                execute(stubs, workflow_pb2.StartExecutionRequest(), stubs.limit(of_call))
            self.assertEqual(([120, 70, 20], "CR-5008"), (host.timeouts, raised.exception.code))


if __name__ == "__main__":
    unittest.main()
