"""Errors, made of the statuses of hosts and of gRPC itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import grpc
from google.protobuf.message import DecodeError, Message

from cruster_client._codes import CODES
from cruster_client._values import loads
from cruster_client.proto import common_pb2, status_pb2

PAYLOAD_TOO_LARGE = "CR-2005"
BAD_REQUEST = "CR-2015"
INTERNAL = "CR-5001"
DEADLINE = "CR-5008"
UNREACHABLE = "CR-5010"

LATE = "the deadline passed before the host answered"
UNSENT = "no host answers: the deadline passed before there was a connection; it was not sent"


class CrusterError(Exception):
    """A call that failed. Codes are stable: docs/errors.md has them all."""

    def __init__(self, wire: common_pb2.Error) -> None:
        super().__init__(f"{wire.code}: {wire.message}")
        #: The code: "CR-2001".
        self.code: str = wire.code
        #: The event and its subject.
        self.message: str = wire.message
        #: Advice; empty if there is none.
        self.hint: str = wire.hint
        #: The application's own name of the error, for instance "card_declined"; or empty.
        self.error_type: str = wire.type
        #: Whether another attempt may succeed.
        self.retryable: bool = wire.retryable
        self._details: bytes = wire.details

    @property
    def details(self) -> Any:
        """The application's own data about the error; None if it gave none."""
        return loads(self._details)


class RunError(CrusterError):
    """A workflow that did not complete: it failed, was interrupted, or is paused."""

    def __init__(self, wire: common_pb2.Error, execution: str, state: str) -> None:
        super().__init__(wire)
        #: Its name: "deployment/Workflow/key".
        self.execution = execution
        #: "failed", "interrupted" or "paused".
        self.state = state

    def __str__(self) -> str:
        return f"{self.execution} {self.state}: {self.code}: {self.message}"


def of(code: str, message: str) -> CrusterError:
    """An error of the client's own."""
    hint, retryable = CODES[code]
    return CrusterError(common_pb2.Error(code=code, message=message, hint=hint, retryable=retryable))


def from_rpc(error: grpc.RpcError, late: bool = False) -> CrusterError:
    """The error of a call; `late` tells whether its deadline has passed."""
    wire = common_pb2.Error()
    if _find(error, wire):
        return CrusterError(wire)
    message = error.details() or ""
    if late and error.code() in (grpc.StatusCode.CANCELLED, grpc.StatusCode.UNAVAILABLE):
        # A host gives up at the deadline as well, and may end the call first.
        return of(DEADLINE, LATE)
    codes = {
        grpc.StatusCode.DEADLINE_EXCEEDED: (DEADLINE, LATE),
        grpc.StatusCode.UNAVAILABLE: (UNREACHABLE, f"no host answers: {message}"),
        grpc.StatusCode.RESOURCE_EXHAUSTED: (PAYLOAD_TOO_LARGE, message),
        grpc.StatusCode.INVALID_ARGUMENT: (BAD_REQUEST, message),
    }
    return of(*codes.get(error.code(), (INTERNAL, f"{error.code().name}: {message}")))


def retry_delay(error: grpc.RpcError) -> float | None:
    """After how many seconds the host asks the caller to try again, if it does."""
    info = status_pb2.RetryInfo()
    if not _find(error, info, "google.rpc.RetryInfo"):
        return None
    return info.retry_delay.ToTimedelta().total_seconds()


def _find(error: grpc.RpcError, into: Message, name: str = "") -> bool:
    """Looks for a message of a type among the details of a status."""
    wanted = name or into.DESCRIPTOR.full_name
    # The types of grpcio have pairs of another name here.
    trailer: Iterable[Any] = error.trailing_metadata() or ()
    for key, value in trailer:
        if key != "grpc-status-details-bin" or isinstance(value, str):
            continue
        try:
            status = status_pb2.RpcStatus.FromString(value)
            for detail in status.details:
                if detail.type_url.endswith("/" + wanted):
                    into.ParseFromString(detail.value)
                    return True
        except DecodeError:
            return False
    return False
