"""Values: dataclasses to msgpack, and back."""

import unittest
from dataclasses import dataclass, field
from datetime import datetime, timezone
from enum import Enum
from typing import Any, Optional

from cruster_client._values import packed, unpacked
from cruster_client.proto import common_pb2


class Color(Enum):
    RED = "red"


@dataclass
class Part:
    name: str
    weight: float = 0.0


@dataclass
class Whole:
    parts: list[Part]
    by_name: dict[str, Part] = field(default_factory=dict)
    color: Color = Color.RED
    note: Optional[str] = None
    at: datetime | None = None
    raw: bytes = b""
    anything: Any = None


class ValuesTest(unittest.TestCase):
    def test_dataclasses_survive(self) -> None:
        at = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=timezone.utc)
        whole = Whole([Part("a", 1.5)], {"b": Part("b", 2)}, note="n", at=at, raw=b"\x00\xff", anything=[1, None])
        self.assertEqual(whole, unpacked(packed(whole), Whole))

    def test_fields_may_be_missing_or_new(self) -> None:
        self.assertEqual(Whole([]), unpacked(packed({"parts": [], "added_later": 1}), Whole))
        with self.assertRaisesRegex(TypeError, "parts"):
            unpacked(packed({}), Whole)

    def test_what_does_not_fit_is_refused(self) -> None:
        for value, kind in ((1, str), ("1", int), (True, int), (None, int), ([1], Whole), ({"parts": [{"name": 1}]}, Whole)):
            with self.subTest(value=value), self.assertRaises(TypeError):
                unpacked(packed(value), kind)

    def test_sets_are_refused(self) -> None:
        # Their order differs from process to process, and so would a key that is derived from one.
        for value in ({"a", "b"}, frozenset("ab"), Whole([], anything={"x": [{"a"}]})):
            with self.subTest(value=value), self.assertRaisesRegex(TypeError, "a sorted list"):
                packed(value)

    def test_numbers(self) -> None:
        self.assertEqual(2.0, unpacked(packed(2), float))
        self.assertEqual(2**63, unpacked(packed(2**63), int))

    def test_nothing(self) -> None:
        self.assertIsNone(unpacked(packed(None), type(None)))
        self.assertIsNone(unpacked(common_pb2.Payload(), type(None)))


if __name__ == "__main__":
    unittest.main()
