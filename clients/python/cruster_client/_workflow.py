"""Starts of executions."""

from __future__ import annotations

import copy
import enum
from typing import Generic, TypeVar

from cruster_client._calls import request_id
from cruster_client._run import MSGPACK, Run, result_of, signal_options
from cruster_client._stubs import Stubs
from cruster_client._values import packed
from cruster_client._waiting import execute
from cruster_client.proto import workflow_pb2

T = TypeVar("T")


class IfFinished(enum.Enum):
    """The behaviour of a start whose key has an ended run. A run that has not ended is
    found, whatever it says."""

    #: It answers with the ended run: the default.
    RETURN = workflow_pb2.IF_FINISHED_RETURN
    #: It starts a new run.
    RESTART = workflow_pb2.IF_FINISHED_RESTART
    #: It starts a new run, unless the ended one has completed.
    RESTART_FAILED = workflow_pb2.IF_FINISHED_RESTART_FAILED
    #: It fails with CR-2044.
    REFUSE = workflow_pb2.IF_FINISHED_REFUSE


class Workflow(Generic[T]):
    """A workflow with the type of its result; Cluster.workflow makes one."""

    def __init__(self, stubs: Stubs, name: str, result: type[T]) -> None:
        self._stubs = stubs
        self._result = result
        self._start = workflow_pb2.StartOptions(namespace=stubs.namespace, workflow=name)

    def with_key(self, key: str) -> Workflow[T]:
        """A copy whose starts use the given idempotency key instead of the one that the
        workflow derives from its request. The host hashes it."""
        other = self._copy()
        other._start.key = key
        return other

    def with_key_raw(self, key: str) -> Workflow[T]:
        """with_key with a key that is used as it is, and shows in the name of the execution."""
        other = self._copy()
        other._start.raw_key = key
        return other

    def if_finished(self, then: IfFinished, *, id: str | None = None) -> Workflow[T]:
        """A copy whose starts do this if there is an ended run under their key. With a
        request id they start one run, however often they are repeated, also from another
        process; without it each call draws one."""
        other = self._copy()
        other._start.if_finished = then.value
        other._start.request_id = id or ""
        return other

    def execute(self, request: object = None, *, timeout: float | None = None) -> T:
        """Starts an execution, or finds the one that was started with the same key, and waits
        for its result."""
        wire = workflow_pb2.StartExecutionRequest(start=self._options(request), encoding=MSGPACK)
        return result_of(execute(self._stubs, wire, self._stubs.limit(timeout)), self._result)

    def start(self, request: object = None, *, timeout: float | None = None) -> Run[T]:
        """Starts an execution, or finds the one that was started with the same key. It returns
        as soon as the start is durable."""
        wire = workflow_pb2.StartExecutionRequest(start=self._options(request), encoding=MSGPACK)
        response = self._stubs.call(self._stubs.workflows.StartExecution, wire, timeout=timeout)
        return Run(self._stubs, response.execution.name, self._result, existed=response.existed)

    def signal_with_start(
        self, request: object, signal: str, value: object = None, *, id: str | None = None, timeout: float | None = None
    ) -> Run[T]:
        """Sends a signal to an execution, and starts it first if it is not there: then both are
        durable, or neither."""
        start = self._options(request)
        start.request_id = self._start.request_id  # the signal has one
        wire = workflow_pb2.SignalWithStartRequest(start=start, signal=signal_options(signal, value, id), encoding=MSGPACK)
        response = self._stubs.call(self._stubs.workflows.SignalWithStart, wire, timeout=timeout)
        return Run(self._stubs, response.execution.name, self._result, existed=response.existed)

    def _copy(self) -> Workflow[T]:
        other = copy.copy(self)
        other._start = workflow_pb2.StartOptions()
        other._start.CopyFrom(self._start)
        return other

    def _options(self, request: object) -> workflow_pb2.StartOptions:
        start = workflow_pb2.StartOptions()
        start.CopyFrom(self._start)
        start.input.CopyFrom(packed(request))
        # A start that finds an existing run is known again by its key.
        if start.if_finished not in (workflow_pb2.IF_FINISHED_UNSPECIFIED, workflow_pb2.IF_FINISHED_RETURN):
            start.request_id = request_id(start.request_id)
        return start
