"""The methods of the services that are used, with their types, which the generated stubs lack."""

from __future__ import annotations

from typing import Protocol

import grpc

from cruster_client._calls import Caller, Method
from cruster_client.proto import deferred_pb2 as deferred
from cruster_client.proto import deferred_pb2_grpc, entity_pb2_grpc, workflow_pb2_grpc
from cruster_client.proto import entity_pb2 as entity
from cruster_client.proto import workflow_pb2 as workflow


class Workflows(Protocol):
    """WorkflowService."""

    GetExecution: Method[workflow.GetExecutionResponse]
    GetExecutionState: Method[workflow.GetExecutionStateResponse]
    InterruptExecution: Method[workflow.InterruptExecutionResponse]
    QueryExecution: Method[workflow.QueryExecutionResponse]
    SignalExecution: Method[workflow.SignalExecutionResponse]
    SignalWithStart: Method[workflow.SignalWithStartResponse]
    StartExecution: Method[workflow.StartExecutionResponse]
    TerminateExecution: Method[workflow.TerminateExecutionResponse]
    UpdateExecution: Method[workflow.UpdateExecutionResponse]
    WaitExecution: Method[workflow.WaitExecutionResponse]


class Deferreds(Protocol):
    """DeferredService."""

    RejectDeferred: Method[deferred.RejectDeferredResponse]
    ResolveDeferred: Method[deferred.ResolveDeferredResponse]


class Entities(Protocol):
    """EntityService."""

    CallEntity: Method[entity.CallEntityResponse]
    DestroyEntity: Method[entity.DestroyEntityResponse]
    SendToEntity: Method[entity.SendToEntityResponse]
    GetEntity: Method[entity.GetEntityResponse]


class Stubs:
    """The services of a host, with the common parts of the calls of a cluster."""

    def __init__(self, channel: grpc.Channel, caller: Caller, namespace: str) -> None:
        self.workflows: Workflows = workflow_pb2_grpc.WorkflowServiceStub(channel)  # type: ignore[no-untyped-call]
        self.deferreds: Deferreds = deferred_pb2_grpc.DeferredServiceStub(channel)  # type: ignore[no-untyped-call]
        self.entities: Entities = entity_pb2_grpc.EntityServiceStub(channel)  # type: ignore[no-untyped-call]
        self.call = caller.call
        self.limit = caller.limit
        self.namespace = namespace
