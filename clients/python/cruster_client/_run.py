"""One execution."""

from __future__ import annotations

import dataclasses
import enum
from typing import Generic, TypeVar

from cruster_client import _errors
from cruster_client._calls import request_id
from cruster_client._stubs import Stubs
from cruster_client._values import packed, unpacked
from cruster_client._waiting import await_end
from cruster_client.proto import common_pb2, deferred_pb2, workflow_pb2

T = TypeVar("T")
Answer = TypeVar("Answer")

MSGPACK = common_pb2.ENCODING_MSGPACK


class State(str, enum.Enum):
    """How far an execution is."""

    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    #: The host says something that this version does not know.
    UNKNOWN = "unknown"


_STATES = {
    common_pb2.STATE_RUNNING: State.RUNNING,
    common_pb2.STATE_PAUSED: State.PAUSED,
    common_pb2.STATE_COMPLETED: State.COMPLETED,
    common_pb2.STATE_FAILED: State.FAILED,
    common_pb2.STATE_INTERRUPTED: State.INTERRUPTED,
}


@dataclasses.dataclass(frozen=True)
class Status(Generic[T]):
    """The state of an execution as Run.poll sees it."""

    state: State
    #: The result, once it has completed.
    result: T | None = None
    #: Why it failed, was interrupted or is paused.
    error: _errors.RunError | None = None


class Run(Generic[T]):
    """One execution of a workflow; Workflow.start and Cluster.run make them."""

    def __init__(self, stubs: Stubs, execution: str, result: type[T], *, existed: bool) -> None:
        self._stubs = stubs
        self._result = result
        #: Its name, which finds it again from anywhere: "deployment/Workflow/key".
        self.execution = execution
        #: Whether it had been started before.
        self.existed = existed

    def wait(self, *, timeout: float | None = None) -> T:
        """Waits for the result. A workflow that fails, is interrupted or is paused raises a
        RunError."""
        request = workflow_pb2.WaitExecutionRequest(
            namespace=self._stubs.namespace, execution=self.execution, encoding=MSGPACK
        )
        return result_of(await_end(self._stubs, request, self._stubs.limit(timeout)), self._result)

    def poll(self, *, timeout: float | None = None) -> Status[T]:
        """Tells at once how far it is."""
        request = workflow_pb2.GetExecutionRequest(
            namespace=self._stubs.namespace, execution=self.execution, encoding=MSGPACK
        )
        execution = self._stubs.call(self._stubs.workflows.GetExecution, request, timeout=timeout).execution
        state = state_of(execution)
        if state == State.RUNNING:
            return Status(state)
        if state == State.COMPLETED:
            return Status(state, result=result_of(execution, self._result))
        return Status(state, error=run_error(execution))

    def interrupt(self, reason: str, *, timeout: float | None = None) -> None:
        """Asks it to stop. It returns when the request is durable; wait returns when the
        workflow has cleaned up."""
        request = workflow_pb2.InterruptExecutionRequest(
            namespace=self._stubs.namespace, execution=self.execution, reason=reason
        )
        self._stubs.call(self._stubs.workflows.InterruptExecution, request, timeout=timeout)

    def terminate(self, reason: str, *, timeout: float | None = None) -> None:
        """Ends it at once, running or paused, without its cleanup. It returns when that is
        durable."""
        request = workflow_pb2.TerminateExecutionRequest(
            namespace=self._stubs.namespace, execution=self.execution, reason=reason
        )
        self._stubs.call(self._stubs.workflows.TerminateExecution, request, timeout=timeout)

    def signal(self, name: str, value: object = None, *, id: str | None = None, timeout: float | None = None) -> None:
        """Sends it a signal. It returns when the signal is durable; the workflow receives it
        when it asks for it. Signals with the same request id are received once."""
        request = workflow_pb2.SignalExecutionRequest(
            namespace=self._stubs.namespace, execution=self.execution, signal=signal_options(name, value, id)
        )
        self._stubs.call(self._stubs.workflows.SignalExecution, request, timeout=timeout)

    def query(self, name: str, returns: type[Answer], input: object = None, *, timeout: float | None = None) -> Answer:
        """Asks it a question, and returns the workflow's reply at this moment."""
        request = workflow_pb2.QueryExecutionRequest(
            namespace=self._stubs.namespace, execution=self.execution, name=name, input=packed(input), encoding=MSGPACK
        )
        response = self._stubs.call(self._stubs.workflows.QueryExecution, request, timeout=timeout)
        return unpacked(response.value, returns)

    def update(
        self, name: str, returns: type[Answer], input: object = None, *, id: str | None = None, timeout: float | None = None
    ) -> Answer:
        """Asks it for a change, and returns the workflow's answer; the change is durable by then.
        Requests with the same id take effect once, and are answered the same."""
        request = workflow_pb2.UpdateExecutionRequest(
            namespace=self._stubs.namespace,
            execution=self.execution,
            name=name,
            input=packed(input),
            request_id=request_id(id),
            encoding=MSGPACK,
        )
        response = self._stubs.call(self._stubs.workflows.UpdateExecution, request, timeout=timeout)
        if response.HasField("error"):
            raise _errors.CrusterError(response.error)
        return unpacked(response.value, returns)

    def published(self, name: str, kind: type[Answer], *, timeout: float | None = None) -> Answer | None:
        """Reads a value that it has published, also after its end; None if it has not."""
        request = workflow_pb2.GetExecutionStateRequest(
            namespace=self._stubs.namespace, execution=self.execution, name=name, encoding=MSGPACK
        )
        found = self._stubs.call(self._stubs.workflows.GetExecutionState, request, timeout=timeout).state
        return unpacked(found[0].value, kind) if found else None

    def resolve(self, deferred: str, value: object = None, *, timeout: float | None = None) -> None:
        """Settles one of its deferreds with a value. A settled one is CR-2013."""
        request = deferred_pb2.ResolveDeferredRequest(
            namespace=self._stubs.namespace, execution=self.execution, name=deferred, value=packed(value)
        )
        self._stubs.call(self._stubs.deferreds.ResolveDeferred, request, repeat=False, timeout=timeout)

    def reject(self, deferred: str, message: str, error_type: str = "", *, timeout: float | None = None) -> None:
        """Settles one of its deferreds with an error. The type is for the workflow to switch on."""
        request = deferred_pb2.RejectDeferredRequest(
            namespace=self._stubs.namespace, execution=self.execution, name=deferred, message=message, type=error_type
        )
        self._stubs.call(self._stubs.deferreds.RejectDeferred, request, repeat=False, timeout=timeout)


def signal_options(name: str, value: object, id: str | None) -> workflow_pb2.SignalOptions:
    return workflow_pb2.SignalOptions(name=name, value=packed(value), request_id=request_id(id))


def state_of(execution: common_pb2.Execution) -> State:
    return _STATES.get(execution.state, State.UNKNOWN)


def result_of(execution: common_pb2.Execution, result: type[T]) -> T:
    """The result of an execution that waits no more."""
    if execution.state != common_pb2.STATE_COMPLETED:
        raise run_error(execution)
    return unpacked(execution.result, result)


def run_error(execution: common_pb2.Execution) -> _errors.RunError:
    return _errors.RunError(execution.error, execution.name, state_of(execution).value)
