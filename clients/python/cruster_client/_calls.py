"""Makes calls, and repeats them while no host answers or the host is full."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import grpc
from google.protobuf.message import Message

from cruster_client import _errors

FIRST_BACKOFF = 0.05
MAX_BACKOFF = 2.0

Res = TypeVar("Res", bound=Message)
Answer = TypeVar("Answer", bound=Message, covariant=True)


class Method(Protocol[Answer]):
    """A method of a generated stub."""

    def __call__(self, request: Any, timeout: float | None = ..., metadata: Any = ...) -> Answer: ...


#: Waits, for some seconds at most, until there is a connection; tells whether there is one.
Ready = Callable[[float], bool]


def request_id(given: str | None) -> str:
    """An id for a request, by which a host knows it again."""
    return given or secrets.token_hex(16)


class Caller:
    """Calls methods with what each call carries."""

    def __init__(self, ready: Ready, retry_for: float, timeout: float | None, token: str | None) -> None:
        self._ready = ready
        self._retry_for = retry_for
        self._timeout = timeout
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()

    def call(
        self,
        method: Method[Res],
        request: Message,
        *,
        repeat: bool = True,
        timeout: float | None = None,
        again: Callable[[], None] | None = None,
    ) -> Res:
        """Makes a call. `repeat` tells whether it may be made again when it is not known
        whether the first one arrived: it only looks, or the host knows it again. `again`
        marks the request as one that may have arrived: what had no connection has not."""
        limit = timeout if timeout is not None else self._timeout
        deadline = None if limit is None else time.monotonic() + limit
        budget: float | None = None  # of repetitions: it starts with the first failure
        backoff = FIRST_BACKOFF
        while True:
            if again is not None or not repeat:
                budget = self._connect(budget, deadline)
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            try:
                return method(request, timeout=left, metadata=self._metadata)
            except grpc.RpcError as error:
                delay = _delay(error, repeat, backoff)
                now = time.monotonic()
                budget = now + self._retry_for if budget is None else budget
                ends = budget if deadline is None else min(budget, deadline)
                if delay is None or now + delay > ends:
                    raise _errors.from_rpc(error, late=deadline is not None and now >= deadline) from error
                if again is not None and error.code() == grpc.StatusCode.UNAVAILABLE:
                    again()
            time.sleep(delay)
            backoff = min(2 * backoff, MAX_BACKOFF)

    def _connect(self, budget: float | None, deadline: float | None) -> float | None:
        """Waits for a connection, because a status does not tell whether a call had one: what
        fails without one has not left, and what fails with one may have arrived. Returns the
        budget, which is spent if there is none: the next attempt says why, and is the last."""
        now = time.monotonic()
        ends = now + self._retry_for if budget is None else budget
        ends = ends if deadline is None else min(ends, deadline)
        return budget if self._ready(max(0.0, ends - now)) else ends


def _delay(error: grpc.RpcError, repeat: bool, backoff: float) -> float | None:
    """When to make a call again, if it may be. A host that names a delay did nothing else with
    the call, so that any call may be repeated after it."""
    if error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED:
        after = _errors.retry_delay(error)
        # All callers of a full host get the same delay: spread them.
        return None if after is None else after + backoff * random.random()
    if error.code() == grpc.StatusCode.UNAVAILABLE and repeat:
        return backoff * (0.5 + random.random())
    return None
