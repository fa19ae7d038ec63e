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
#: How many seconds an attempt has to take for it to be known that a host had the call. A host, or a
#: proxy in front of it, that can do nothing with a call says so sooner.
HAD_BY_HOST = 10.0

Res = TypeVar("Res", bound=Message)
Answer = TypeVar("Answer", bound=Message, covariant=True)


class Method(Protocol[Answer]):
    """A method of a generated stub."""

    def __call__(self, request: Any, timeout: float | None = ..., metadata: Any = ...) -> Answer: ...


#: Waits, for some seconds at most, until there is a connection; tells whether there is one. It
#: raises ValueError if the client is closed.
Ready = Callable[[float], bool]


def request_id(given: str | None) -> str:
    """An id for a request, by which a host knows it again."""
    return given or secrets.token_hex(16)


class Budget:
    """Bounds for how many seconds one call is without a host: waits for connections and is
    repeated, together. When a host has had the call, it is whole again: a call that waits for long
    outlives any number of restarts, and a refused one, at once or after a while, does not."""

    def __init__(self, seconds: float) -> None:
        self._whole = seconds
        self._spare = seconds  # before the first failure
        self._end: float | None = None  # unknown before the first failure

    def end(self) -> float:
        """When it ends, if it is used from now on."""
        return time.monotonic() + self._spare if self._end is None else self._end

    def start(self) -> float:
        """Begins the repetitions, unless they have begun, and tells when they end."""
        self._end = self.end()
        return self._end

    def waited(self, seconds: float) -> None:
        self._spare -= seconds

    def refill(self, took: float) -> bool:
        """Makes the budget whole again if an attempt took so many seconds that a host had the
        call. Returns whether it did."""
        if took < HAD_BY_HOST:
            return False
        self._spare, self._end = self._whole, None
        return True

    def use_up(self) -> None:
        self._end = time.monotonic()


class Limit:
    """The time of one call, or of several that are one for the caller."""

    def __init__(self, seconds: float | None) -> None:
        #: When it ends, if it does.
        self.deadline = None if seconds is None else time.monotonic() + seconds

    def left(self) -> float | None:
        """How many seconds are left of it; None if it has no end."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())


class Caller:
    """Calls methods with the metadata of each call."""

    def __init__(self, ready: Ready, retry_for: float, timeout: float | None, token: str | None) -> None:
        self._ready = ready
        self._retry_for = retry_for
        self._timeout = timeout
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()

    def limit(self, timeout: float | None) -> Limit:
        """The time from now on; None means that of the cluster."""
        return Limit(timeout if timeout is not None else self._timeout)

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
        marks the request as possibly arrived: a request without a connection has not."""
        limit = self.limit(timeout)
        deadline = limit.deadline
        budget = Budget(self._retry_for)
        lost: grpc.RpcError | None = None  # of an attempt that may have arrived
        backoff = FIRST_BACKOFF
        waits = again is not None or not repeat
        connected = True  # a first attempt that does not wait finds the budget whole anyway
        while True:
            if waits:
                ends = budget.end()
                until = ends if deadline is None else min(ends, deadline)
                connected = self._connect(budget, until)
                if not connected and until < ends:  # by the deadline
                    if lost is None:
                        raise _errors.of(_errors.UNREACHABLE, _errors.UNSENT)
                    if again is None:
                        raise _errors.from_rpc(lost) from lost
            begun = time.monotonic()
            try:
                return method(request, timeout=limit.left(), metadata=self._metadata)
            except grpc.RpcError as error:
                now = time.monotonic()
                unavailable = error.code() == grpc.StatusCode.UNAVAILABLE
                if unavailable and connected and budget.refill(now - begun):
                    backoff = FIRST_BACKOFF
                delay = _delay(error, repeat, backoff)
                ends = budget.start() if deadline is None else min(budget.start(), deadline)
                if delay is None or now + delay > ends:
                    raise _errors.from_rpc(error, late=deadline is not None and now >= deadline) from error
                if unavailable:
                    lost = error
                    if again is not None:
                        again()
            time.sleep(delay)
            backoff = min(2 * backoff, MAX_BACKOFF)
            waits = True

    def _connect(self, budget: Budget, until: float) -> bool:
        """Waits for a connection, because a status does not tell whether a call had one: what
        fails without one has not left and was with no host, and a call that fails with one may have
        arrived. Tells whether there is one. If there is none within the budget, the next attempt
        says why, and is the last."""
        begun = time.monotonic()
        if self._ready(max(0.0, until - begun)):
            budget.waited(time.monotonic() - begun)
            return True
        budget.use_up()
        return False


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
