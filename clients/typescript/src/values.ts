/** Values of the application: msgpack on the wire, plain values and classes in TypeScript. */

import { decode, encode } from "@msgpack/msgpack";

import type { Payload } from "./proto/cruster/v1/common.js";

/** The payload of a value. A Date is a point in time, a Uint8Array bytes, a Map an object, and undefined fields are left out. */
export function packed(value: unknown): Payload {
  return { msgpack: Buffer.from(encode(outgoing(value), { useBigInt64: true, ignoreUndefined: true })) };
}

/** The value of a payload. An integer that a number cannot hold is a bigint. */
export function unpacked<T>(payload: Payload | undefined): T {
  return loads(payload?.msgpack) as T;
}

/** One msgpack value; no bytes are undefined. */
export function loads(data: Uint8Array | undefined): unknown {
  if (data === undefined || data.length === 0) {
    return undefined;
  }
  // Not the Buffer that it is: bytes in the value would be Buffers too.
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return incoming(decode(bytes, { useBigInt64: true }));
}

/** The library writes a number as an integer only up to 32 bits, and a bigint always. */
function outgoing(value: unknown): unknown {
  if (typeof value === "number" && Number.isSafeInteger(value) && Math.abs(value) > 0x7fffffff) {
    return BigInt(value);
  }
  return each(value instanceof Map || value instanceof Set ? entriesOf(value) : value, outgoing);
}

/** The object of a Map. Neither a Map nor a Set has its parts as properties: they would be lost. */
function entriesOf(value: Map<unknown, unknown> | Set<unknown>): object {
  if (value instanceof Set) {
    throw new TypeError("a Set is not a value that can be sent: use an array");
  }
  for (const key of value.keys()) {
    if (typeof key !== "string") {
      throw new TypeError(`a Map is sent as an object, so that its keys are texts: one is a ${typeof key}`);
    }
  }
  return Object.fromEntries(value as Map<string, unknown>);
}

function incoming(value: unknown): unknown {
  if (typeof value === "bigint") {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value;
  }
  return each(value, incoming);
}

/** The value with a function applied to its parts. */
function each(value: unknown, change: (part: unknown) => unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(change);
  }
  if (typeof value !== "object" || value === null || value instanceof Date || ArrayBuffer.isView(value)) {
    return value;
  }
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, change(part)]));
}
