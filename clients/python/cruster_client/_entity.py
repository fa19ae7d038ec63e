"""Calls of entities."""

from __future__ import annotations

from typing import TypeVar

from cruster_client import _errors
from cruster_client._calls import request_id
from cruster_client._run import MSGPACK
from cruster_client._stubs import Stubs
from cruster_client._values import packed, unpacked
from cruster_client.proto import entity_pb2

T = TypeVar("T")


class Entity:
    """One entity; Cluster.entity makes it."""

    def __init__(self, stubs: Stubs, name: str) -> None:
        self._stubs = stubs
        #: Its name: "deployment/Type/id".
        self.name = name

    def call(
        self, operation: str, returns: type[T], input: object = None, *, id: str | None = None, timeout: float | None = None
    ) -> T:
        """Performs an operation and returns its result; its changes are durable by then.
        Requests with the same id are performed once, and answered the same; without one the
        client draws it. A call whose answer was lost is repeated, unless it could run twice:
        for an operation of an entity without a state that is not persisted it is CR-6014."""
        request = entity_pb2.CallEntityRequest(operation=self._operation(operation, input, id), encoding=MSGPACK)

        def again() -> None:
            request.operation.again = True

        response = self._stubs.call(self._stubs.entities.CallEntity, request, timeout=timeout, again=again)
        if response.HasField("error"):
            raise _errors.CrusterError(response.error)
        return unpacked(response.result, returns)

    def send(self, operation: str, input: object = None, *, id: str | None = None, timeout: float | None = None) -> None:
        """Has an operation performed without waiting for it. It returns when the message is
        durable."""
        request = entity_pb2.SendToEntityRequest(operation=self._operation(operation, input, id))
        self._stubs.call(self._stubs.entities.SendToEntity, request, timeout=timeout)

    def state(self, kind: type[T], *, timeout: float | None = None) -> T:
        """Its state, with the effects of all operations that were answered before."""
        request = entity_pb2.GetEntityRequest(namespace=self._stubs.namespace, entity=self.name, encoding=MSGPACK)
        return unpacked(self._stubs.call(self._stubs.entities.GetEntity, request, timeout=timeout).state, kind)

    def destroy(self, *, id: str | None = None, timeout: float | None = None) -> None:
        """Deletes its state, behind the calls that came before."""
        request = entity_pb2.DestroyEntityRequest(
            namespace=self._stubs.namespace, entity=self.name, request_id=request_id(id)
        )
        self._stubs.call(self._stubs.entities.DestroyEntity, request, timeout=timeout)

    def _operation(self, name: str, input: object, id: str | None) -> entity_pb2.Operation:
        return entity_pb2.Operation(
            namespace=self._stubs.namespace, entity=self.name, name=name, input=packed(input), request_id=request_id(id)
        )
