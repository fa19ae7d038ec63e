"""Errors made of the statuses of hosts and of gRPC itself, and which calls are repeated."""

import unittest
from typing import Any
from unittest import mock

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import Message

from cruster_client import CrusterError
from cruster_client._calls import MAX_BACKOFF, Caller
from cruster_client._errors import from_rpc, retry_delay
from cruster_client.proto import common_pb2, status_pb2


class Failure(grpc.RpcError):
    """An error as a stub raises it."""

    def __init__(self, code: grpc.StatusCode, *details: tuple[str, Message], trailer: bytes | None = None) -> None:
        super().__init__()
        self._code = code
        wrapped = [AnyMessage(type_url="type.googleapis.com/" + n, value=m.SerializeToString()) for n, m in details]
        self._trailer = status_pb2.RpcStatus(details=wrapped).SerializeToString() if trailer is None else trailer

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return "why"

    def trailing_metadata(self) -> Any:
        return (("other", "x"), ("grpc-status-details-bin", self._trailer))


def full(seconds: int) -> Failure:
    info = status_pb2.RetryInfo()
    info.retry_delay.seconds = seconds
    return Failure(grpc.StatusCode.RESOURCE_EXHAUSTED, ("google.rpc.RetryInfo", info))


class ErrorsTest(unittest.TestCase):
    def test_the_error_of_a_host_is_in_the_details(self) -> None:
        wire = common_pb2.Error(code="CR-2001", message="no", hint="look", type="kind", retryable=True, details=b"\x07")
        error = from_rpc(Failure(grpc.StatusCode.NOT_FOUND, ("cruster.v1.Error", wire)))
        self.assertEqual(("CR-2001", "no", "look", "kind", True, 7), (error.code, error.message, error.hint, error.error_type, error.retryable, error.details))
        self.assertEqual("CR-2001: no", str(error))

    def test_what_grpc_says_itself_has_a_code(self) -> None:
        for code, want in (
            (grpc.StatusCode.UNAVAILABLE, "CR-5010"),
            (grpc.StatusCode.DEADLINE_EXCEEDED, "CR-5008"),
            (grpc.StatusCode.RESOURCE_EXHAUSTED, "CR-2005"),
            (grpc.StatusCode.INVALID_ARGUMENT, "CR-2015"),
            (grpc.StatusCode.UNIMPLEMENTED, "CR-5001"),
        ):
            error = from_rpc(Failure(code))
            self.assertEqual(want, error.code)
            self.assertNotEqual("", error.hint)

    def test_garbage_in_the_details_is_ignored(self) -> None:
        self.assertEqual("CR-2015", from_rpc(Failure(grpc.StatusCode.INVALID_ARGUMENT, trailer=b"\xff\xff\xff")).code)

    def test_a_host_may_say_when_to_try_again(self) -> None:
        self.assertEqual(3.0, retry_delay(full(3)))
        self.assertIsNone(retry_delay(Failure(grpc.StatusCode.RESOURCE_EXHAUSTED)))


class Clock:
    """Stands for the module time. Sleeping is the only thing that takes time."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def disconnected(self, seconds: float) -> bool:
        """Waits for a connection that does not come."""
        self.sleep(seconds)
        return False


class Host:
    """A method that fails some times first. Each call takes some seconds."""

    def __init__(self, clock: Clock, *failures: Failure, takes: float = 0) -> None:
        self.clock = clock
        self.takes = takes
        self.failures = list(failures)
        self.calls = 0

    def __call__(self, request: Any, timeout: float | None = None, metadata: Any = ()) -> common_pb2.Error:
        self.calls += 1
        self.clock.sleep(self.takes)
        if self.failures:
            raise self.failures.pop(0)
        return common_pb2.Error(message="answer")


def connected(_: float) -> bool:
    return True


class CallsTest(unittest.TestCase):
    def test_a_lost_call_is_repeated_and_marked(self) -> None:
        host, marks = Host(Clock(), Failure(grpc.StatusCode.UNAVAILABLE)), []
        Caller(connected, 30, None, None).call(host, common_pb2.Error(), again=lambda: marks.append(1))
        self.assertEqual((2, [1]), (host.calls, marks))

    def test_a_call_that_must_not_be_repeated_is_not(self) -> None:
        host = Host(Clock(), Failure(grpc.StatusCode.UNAVAILABLE))
        with self.assertRaises(CrusterError) as raised:
            Caller(connected, 30, None, None).call(host, common_pb2.Error(), repeat=False)
        self.assertEqual((1, "CR-5010"), (host.calls, raised.exception.code))

    def test_a_full_host_did_nothing_with_the_call(self) -> None:
        host, marks = Host(Clock(), full(0)), []
        Caller(connected, 30, None, None).call(host, common_pb2.Error(), repeat=False, again=lambda: marks.append(1))
        self.assertEqual((2, []), (host.calls, marks))

    def test_repetitions_have_a_budget(self) -> None:
        for caller in (Caller(connected, 0, None, None), Caller(connected, 30, 0.001, None)):
            host = Host(Clock(), full(60))
            with self.assertRaises(CrusterError):
                caller.call(host, common_pb2.Error())
            self.assertEqual(1, host.calls)

    def test_waiting_and_repeating_share_a_budget(self) -> None:
        clock = Clock()

        def soon(_: float) -> bool:
            clock.sleep(6)
            return True

        host = Host(clock, full(5))
        with mock.patch("cruster_client._calls.time", clock), self.assertRaises(CrusterError):
            Caller(soon, 10, None, None).call(host, common_pb2.Error(), repeat=False)
        self.assertEqual((1, 6.0), (host.calls, clock.now))

    def test_a_first_attempt_takes_its_time(self) -> None:
        clock = Clock()

        def soon(_: float) -> bool:
            clock.sleep(1)
            return True

        host = Host(clock, Failure(grpc.StatusCode.UNAVAILABLE), takes=60)
        with mock.patch("cruster_client._calls.time", clock):
            Caller(soon, 10, None, None).call(host, common_pb2.Error(), again=lambda: None)
        self.assertEqual(2, host.calls)

    def test_a_deadline_says_what_has_left(self) -> None:
        for lost, want in ((False, "CR-5010"), (True, "CR-5008")):
            clock = Clock()
            found = [lost, False]

            def ready(seconds: float) -> bool:
                if found.pop(0):
                    return True
                clock.sleep(seconds)
                return False

            failures = [Failure(grpc.StatusCode.UNAVAILABLE)] if lost else []
            host = Host(clock, *failures, Failure(grpc.StatusCode.DEADLINE_EXCEEDED))
            with mock.patch("cruster_client._calls.time", clock), self.assertRaises(CrusterError) as raised:
                Caller(ready, 30, 10, None).call(host, common_pb2.Error(), again=lambda: None)
            self.assertEqual((2 * lost, want), (host.calls, raised.exception.code))
            self.assertEqual(not lost, "it was not sent" in raised.exception.message)

    def test_a_deadline_says_why_a_call_is_repeated(self) -> None:
        clock = Clock()
        host = Host(clock, *[Failure(grpc.StatusCode.UNAVAILABLE)] * 1000)
        with mock.patch("cruster_client._calls.time", clock), self.assertRaises(CrusterError) as raised:
            Caller(clock.disconnected, 30, 10, None).call(host, common_pb2.Error())
        self.assertEqual((1, "CR-5010", "no host answers: why"), (host.calls, raised.exception.code, raised.exception.message))

    def test_a_call_that_a_host_had_for_long_has_the_whole_budget(self) -> None:
        for again in (None, lambda: None):
            clock = Clock()

            def soon(_: float) -> bool:
                clock.sleep(0.5)
                return True

            host = Host(clock, *[Failure(grpc.StatusCode.UNAVAILABLE)] * 20, takes=60)
            with mock.patch("cruster_client._calls.time", clock):
                Caller(soon, 1, None, None).call(host, common_pb2.Error(), again=again)
            self.assertEqual(21, host.calls)

    def test_a_host_that_never_takes_a_call_is_given_up(self) -> None:
        for again in (None, lambda: None):
            clock = Clock()
            host = Host(clock, *[Failure(grpc.StatusCode.UNAVAILABLE)] * 1000)
            with mock.patch("cruster_client._calls.time", clock), self.assertRaises(CrusterError) as raised:
                Caller(connected, 30, None, None).call(host, common_pb2.Error(), again=again)
            self.assertEqual("CR-5010", raised.exception.code)
            self.assertTrue(30 - 2 * MAX_BACKOFF < clock.now <= 30, clock.now)

    def test_refusals_after_a_while_give_nothing_back(self) -> None:
        for takes in (0.01, 0.1, 5):
            clock = Clock()
            host = Host(clock, *[Failure(grpc.StatusCode.UNAVAILABLE)] * 10_000, takes=takes)
            with mock.patch("cruster_client._calls.time", clock), self.assertRaises(CrusterError) as raised:
                Caller(connected, 30, None, None).call(host, common_pb2.Error())
            self.assertEqual("CR-5010", raised.exception.code)
            self.assertLessEqual(clock.now, 30 + 2 * takes)

    def test_attempts_without_a_connection_give_nothing_back(self) -> None:
        for again, want in ((None, 20 + 30 + 20), (lambda: None, 30 + 20)):
            clock = Clock()
            host = Host(clock, *[Failure(grpc.StatusCode.UNAVAILABLE)] * 1000, takes=20)
            with mock.patch("cruster_client._calls.time", clock), self.assertRaises(CrusterError) as raised:
                Caller(clock.disconnected, 30, None, None).call(host, common_pb2.Error(), again=again)
            self.assertEqual("CR-5010", raised.exception.code)
            self.assertAlmostEqual(want, clock.now)


if __name__ == "__main__":
    unittest.main()
