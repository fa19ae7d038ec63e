"""Waits for the ends of executions."""

from __future__ import annotations

from google.protobuf.duration_pb2 import Duration

from cruster_client._calls import Limit
from cruster_client._stubs import Stubs
from cruster_client.proto import common_pb2, workflow_pb2

#: How many seconds one call waits for the end of an execution; then the client asks again. Proxies
#: cut off calls that are silent for a minute or longer.
WAIT_OF_A_CALL = 50


def await_end(stubs: Stubs, request: workflow_pb2.WaitExecutionRequest, limit: Limit) -> common_pb2.Execution:
    """Waits until an execution is final or paused, with as many calls as that takes."""
    request.wait.CopyFrom(Duration(seconds=WAIT_OF_A_CALL))
    while True:
        execution = stubs.call(stubs.workflows.WaitExecution, request, timeout=limit.left()).execution
        if execution.state != common_pb2.STATE_RUNNING:
            return execution


def execute(stubs: Stubs, request: workflow_pb2.StartExecutionRequest, limit: Limit) -> common_pb2.Execution:
    """Starts an execution, or finds the one that was started under the same key, and awaits its
    end. If another run takes its name meanwhile, that one is not waited for."""
    request.wait.CopyFrom(Duration(seconds=WAIT_OF_A_CALL))
    execution = stubs.call(stubs.workflows.StartExecution, request, timeout=limit.left()).execution
    if execution.state != common_pb2.STATE_RUNNING:
        return execution
    wait = workflow_pb2.WaitExecutionRequest(
        namespace=stubs.namespace, execution=execution.name, run_id=execution.chain_id, encoding=request.encoding
    )
    return await_end(stubs, wait, limit)
