/** Values to msgpack, and back. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { packed, unpacked } from "../src/values.js";

test("values survive", () => {
  const value = {
    text: "a",
    small: 1,
    negative: -5,
    large: 2 ** 40,
    largest: Number.MAX_SAFE_INTEGER,
    huge: 2n ** 63n,
    fraction: 1.5,
    bytes: new Uint8Array([0, 255]),
    at: new Date("2026-01-02T03:04:05.678Z"),
    list: [1, null, [true]],
    map: { inner: "b" },
  };
  assert.deepEqual(unpacked(packed(value)), value);
});

test("integers are integers on the wire", () => {
  assert.equal(packed(2 ** 40).msgpack?.[0], 0xcf);
  assert.equal(packed(-(2 ** 40)).msgpack?.[0], 0xd3);
  assert.equal(packed(1.5).msgpack?.[0], 0xcb);
});

test("fields that are undefined are left out", () => {
  assert.deepEqual(unpacked(packed({ a: undefined, b: 1 })), { b: 1 });
});

test("a Map of texts is an object", () => {
  const map = new Map<string, unknown>([
    ["a", 2 ** 40],
    ["b", new Map([["c", 1]])],
    ["d", undefined],
  ]);
  assert.deepEqual(unpacked(packed({ map })), { map: { a: 2 ** 40, b: { c: 1 } } });
});

test("a Set and other Maps are refused", () => {
  for (const value of [new Set(["a"]), [{ deep: new Set() }], new Map([["a", new Set()]])]) {
    assert.throws(() => packed(value), { name: "TypeError", message: /a Set .* array/ });
  }
  assert.throws(() => packed({ map: new Map([[1, "a"]]) }), { name: "TypeError", message: /a Map .* texts/ });
});

test("nothing", () => {
  assert.deepEqual([...(packed(undefined).msgpack ?? [])], [0xc0]);
  assert.equal(unpacked(packed(null)), null);
  assert.equal(unpacked(undefined), undefined);
});
