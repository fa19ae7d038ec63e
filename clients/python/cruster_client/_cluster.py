"""The connection that everything is called through."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TypeVar

import grpc

from cruster_client._calls import Caller
from cruster_client._entity import Entity
from cruster_client._run import Run
from cruster_client._stubs import Stubs
from cruster_client._workflow import Workflow

T = TypeVar("T")

_OPTIONS = [
    # A call that waits for an answer may be silent for long; without pings it would not notice
    # that its host is gone.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 2_000),
    ("grpc.max_receive_message_length", -1),
    # Calls are repeated here, where it is known which may be.
    ("grpc.enable_retries", 0),
]

_CLOSED = "the cluster is closed"

#: More seconds than anyone waits, and few enough to wait for.
_FOREVER = threading.TIMEOUT_MAX / 2


class Cluster:
    """A host, or a cluster of hosts. It is safe to use from several threads; one a process is
    enough. It does not connect: the first call does."""

    def __init__(
        self,
        address: str,
        *,
        namespace: str = "",
        retry_for: float = 30.0,
        timeout: float | None = None,
        tls: bool | bytes = False,
        token: str | None = None,
    ) -> None:
        """Connects to the host at an address, "127.0.0.1:7600".

        namespace: the tenant of all calls; empty means the host's default one.
        retry_for: for how many seconds a call is repeated when no host answers or the host is
            full; 0 means never. While a host has the call, that time fills again as fast as it is
            used up without one.
        timeout: how many seconds a call may take, with its repetitions. It ends the waiting,
            never the workflow. Calls may be given another.
        tls: whether the connection is encrypted: True trusts the certificates that gRPC comes
            with; bytes are a certificate to trust, in PEM.
        token: sent with each call, for a proxy in front of the host: "authorization: Bearer
            TOKEN". Use it over an encrypted connection.
        """
        if tls is False:
            self._channel = grpc.insecure_channel(address, options=_OPTIONS)
        else:
            credentials = grpc.ssl_channel_credentials(tls if isinstance(tls, bytes) else None)
            self._channel = grpc.secure_channel(address, credentials, options=_OPTIONS)
        self._lock = threading.Lock()
        self._closed = False
        self._awaited: set[grpc.Future[None]] = set()  # connections that calls wait for
        self._stubs = Stubs(self._channel, Caller(self._ready, retry_for, timeout, token), namespace)

    def _ready(self, seconds: float) -> bool:
        with self._lock:
            if self._closed:
                raise ValueError(_CLOSED)
            ready = grpc.channel_ready_future(self._channel)
            self._awaited.add(ready)
        try:
            ready.result(timeout=min(seconds, _FOREVER))
            return True
        except grpc.FutureTimeoutError:
            return False
        except grpc.FutureCancelledError:  # by close
            raise ValueError(_CLOSED) from None
        finally:
            self._give_up([ready])

    def _give_up(self, awaited: list[grpc.Future[None]]) -> None:
        """Ends the waiting for connections, of each once: a future must not be cancelled twice."""
        with self._lock:
            mine = self._awaited.intersection(awaited)
            self._awaited -= mine
        for ready in mine:
            ready.cancel()

    def workflow(self, name: str, result: type[T]) -> Workflow[T]:
        """A workflow, "deployment/Workflow", with the type of its result: a dataclass, a dict
        or whatever it returns."""
        return Workflow(self._stubs, name, result)

    def run(self, execution: str, result: type[T]) -> Run[T]:
        """The execution of a name, "deployment/Workflow/key". It does not ask the host whether
        there is one."""
        return Run(self._stubs, execution, result, existed=True)

    def entity(self, kind: str, id: str) -> Entity:
        """The entity of a type, "deployment/Type", and an id. It is there from its first
        operation on."""
        return Entity(self._stubs, f"{kind}/{id}")

    @property
    def channel(self) -> grpc.Channel:
        """The connection itself, for the stubs in cruster_client.proto. Calls that are made
        with them are not repeated, and carry no token."""
        return self._channel

    def close(self) -> None:
        """Ends the connection and every call on it."""
        with self._lock:
            self._closed = True
            awaited = list(self._awaited)
        # A channel that is closed does not tell its waiters.
        self._give_up(awaited)
        self._channel.close()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
