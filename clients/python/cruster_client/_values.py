"""Values of the application: msgpack on the wire, dataclasses and plain values in Python."""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

import msgpack

from cruster_client.proto import common_pb2

T = TypeVar("T")


def packed(value: object) -> common_pb2.Payload:
    """The payload of a value: a dataclass, a dict, a list, a tz-aware datetime, bytes or a scalar."""
    return common_pb2.Payload(msgpack=msgpack.packb(_plain(value), datetime=True, use_bin_type=True))


def unpacked(payload: common_pb2.Payload, kind: type[T]) -> T:
    """The value of a payload. A dataclass is made of the map of its fields."""
    return typing.cast(T, _build(kind, loads(payload.msgpack), "the value"))


def loads(data: bytes) -> Any:
    """One msgpack value; no bytes are None."""
    if not data:
        return None
    return msgpack.unpackb(data, timestamp=3, raw=False, strict_map_key=False)


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return _plain(value.value)
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (set, frozenset)):
        # A key that is derived from its order would differ from process to process.
        raise TypeError(f"a {type(value).__name__} has no order that all processes agree on: use a sorted list")
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value


def _build(kind: Any, value: Any, where: str) -> Any:
    """The value as the type says. Parts that the type does not describe stay as they are."""
    if kind is Any or kind is object:
        return value
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return _build_union(arguments, value, where)
    if origin is list and isinstance(value, list):
        return [_build(arguments[0], v, f"{where}[{i}]") for i, v in enumerate(value)]
    if origin is dict and isinstance(value, dict):
        return {k: _build(arguments[1], v, f"{where}[{k!r}]") for k, v in value.items()}
    if dataclasses.is_dataclass(kind) and isinstance(value, dict):
        return _build_dataclass(kind, value, where)
    wanted = origin or kind
    if isinstance(wanted, type):
        if issubclass(wanted, enum.Enum):
            return wanted(value)
        if wanted is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            raise TypeError(f"{where} is {type(value).__name__}, not {wanted.__name__}")
    return value


def _build_union(kinds: tuple[Any, ...], value: Any, where: str) -> Any:
    problems = []
    for kind in kinds:
        try:
            return _build(kind, value, where)
        except (TypeError, ValueError) as e:
            problems.append(str(e))
    raise TypeError("; ".join(problems))


def _build_dataclass(kind: Any, value: dict[str, Any], where: str) -> Any:
    hints = typing.get_type_hints(kind)
    known = {f.name: f for f in dataclasses.fields(kind) if f.init}
    # A field that the type does not have was added by a newer module.
    given = {n: _build(hints[n], value[n], f"{where}.{n}") for n in known if n in value}
    return kind(**given)
