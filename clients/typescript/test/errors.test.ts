/** Errors made of the statuses of hosts and of gRPC itself, and which calls are repeated. */

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";

import { Metadata, status, type ClientUnaryCall, type ServiceError } from "@grpc/grpc-js";

import { Caller, MAX_BACKOFF, type Method, type Ready } from "../src/calls.js";
import { CrusterError, fromService, retryDelay } from "../src/errors.js";
import { Error as WireError } from "../src/proto/cruster/v1/common.js";
import { RetryInfo, RpcStatus } from "../src/proto/status.js";

function failure(code: status, name = "", value: Uint8Array = new Uint8Array()): ServiceError {
  const metadata = new Metadata();
  if (name !== "") {
    const details = [{ typeUrl: `type.googleapis.com/${name}`, value: Buffer.from(value) }];
    metadata.set("grpc-status-details-bin", Buffer.from(RpcStatus.encode({ details }).finish()));
  }
  return Object.assign(new Error("why"), { code, details: "why", metadata });
}

function full(seconds: number): ServiceError {
  const delay = RetryInfo.encode(RetryInfo.create({ retryDelay: { seconds: BigInt(seconds), nanos: 0 } })).finish();
  return failure(status.RESOURCE_EXHAUSTED, "google.rpc.RetryInfo", delay);
}

test("the error of a host is in the details", () => {
  const wire = { code: "CR-2001", message: "no", hint: "look", type: "kind", retryable: true, details: Buffer.from([7]) };
  const error = fromService(failure(status.NOT_FOUND, "cruster.v1.Error", WireError.encode(wire).finish()), false);
  assert.equal(error.message, "CR-2001: no");
  assert.deepEqual([error.code, error.reason, error.hint, error.errorType, error.retryable, error.details], ["CR-2001", "no", "look", "kind", true, 7]);
});

test("what gRPC says itself has a code", () => {
  for (const [code, want] of [
    [status.UNAVAILABLE, "CR-5010"],
    [status.DEADLINE_EXCEEDED, "CR-5008"],
    [status.RESOURCE_EXHAUSTED, "CR-2005"],
    [status.INVALID_ARGUMENT, "CR-2015"],
    [status.UNIMPLEMENTED, "CR-5001"],
  ] as const) {
    const error = fromService(failure(code), false);
    assert.equal(error.code, want);
    assert.notEqual(error.hint, "");
  }
  assert.equal(fromService(failure(status.CANCELLED), true).code, "CR-5008");
});

test("garbage in the details is ignored", () => {
  const error = failure(status.INVALID_ARGUMENT);
  error.metadata.set("grpc-status-details-bin", Buffer.from([0xff, 0xff, 0xff]));
  assert.equal(fromService(error, false).code, "CR-2015");
});

test("a host may say when to try again", () => {
  assert.equal(retryDelay(full(3)), 3000);
  assert.equal(retryDelay(failure(status.RESOURCE_EXHAUSTED)), undefined);
});

/** A method that fails some times first. */
function host(...failures: ServiceError[]): { method: Method<string>; calls: () => number } {
  let calls = 0;
  const method: Method<string> = (_metadata, _options, callback) => {
    calls++;
    callback(failures.shift() ?? null, "answer");
    return {} as ClientUnaryCall;
  };
  return { method, calls: () => calls };
}

const connected = () => Promise.resolve(true);

test("a lost call is repeated and marked", async () => {
  const { method, calls } = host(failure(status.UNAVAILABLE));
  let marks = 0;
  await new Caller(connected, 30_000, undefined, undefined).call(method, {}, "repeat", () => marks++);
  assert.deepEqual([calls(), marks], [2, 1]);
});

test("a call that must not be repeated is not", async () => {
  const { method, calls } = host(failure(status.UNAVAILABLE));
  const call = new Caller(connected, 30_000, undefined, undefined).call(method, {}, "once");
  await assert.rejects(call, (e) => e instanceof CrusterError && e.code === "CR-5010");
  assert.equal(calls(), 1);
});

test("a full host did nothing with the call", async () => {
  const { method, calls } = host(full(0));
  let marks = 0;
  await new Caller(connected, 30_000, undefined, undefined).call(method, {}, "once", () => marks++);
  assert.deepEqual([calls(), marks], [2, 0]);
});

test("repetitions have a budget", async () => {
  for (const caller of [new Caller(connected, 0, undefined, undefined), new Caller(connected, 30_000, 1, undefined)]) {
    const { method, calls } = host(full(60));
    await assert.rejects(caller.call(method));
    assert.equal(calls(), 1);
  }
});

test("waiting and repeating share a budget", async (t) => {
  t.mock.timers.enable({ apis: ["Date"] });
  const soon = async () => {
    t.mock.timers.tick(1500);
    return true;
  };
  const { method, calls } = host(full(1));
  await assert.rejects(new Caller(soon, 2000, undefined, undefined).call(method, {}, "once"));
  assert.equal(calls(), 1);
});

test("a first attempt takes its time", async (t) => {
  t.mock.timers.enable({ apis: ["Date"] });
  const soon = async () => {
    t.mock.timers.tick(100);
    return true;
  };
  const { method, calls } = host(failure(status.UNAVAILABLE));
  const slow: Method<string> = (...args) => {
    t.mock.timers.tick(60_000);
    return method(...args);
  };
  await new Caller(soon, 2000, undefined, undefined).call(slow, {}, "repeat", () => {});
  assert.equal(calls(), 2);
});

test("a deadline says what has left", async (t) => {
  t.mock.timers.enable({ apis: ["Date"] });
  for (const lost of [false, true]) {
    const found = [lost, false];
    const ready = async (deadline: number) => {
      if (found.shift()) {
        return true;
      }
      t.mock.timers.tick(deadline - Date.now());
      return false;
    };
    const failures = lost ? [failure(status.UNAVAILABLE)] : [];
    const { method, calls } = host(...failures, failure(status.DEADLINE_EXCEEDED));
    const call = new Caller(ready, 30_000, 10_000, undefined).call(method, {}, "repeat", () => {});
    await assert.rejects(call, (e) => {
      assert.ok(e instanceof CrusterError);
      assert.deepEqual([calls(), e.code, e.reason.includes("it was not sent")], lost ? [2, "CR-5008", false] : [0, "CR-5010", true]);
      return true;
    });
  }
});

/** A method that is lost some times first, and how a call of it ends if nothing but what is said takes time. */
function lossy(t: TestContext, options: { failures: number; takes: number; retryFor: number; timeout?: number; ready: (tick: (ms: number) => void) => Ready }) {
  t.mock.timers.reset();
  t.mock.timers.enable({ apis: ["Date"], now: 0 });
  const tick = (ms: number) => t.mock.timers.setTime(Date.now() + Math.ceil(ms));
  const { method, calls } = host(...Array.from({ length: options.failures }, () => failure(status.UNAVAILABLE)));
  const slow: Method<string> = (...args) => {
    tick(options.takes);
    return method(...args);
  };
  const caller = new Caller(options.ready(tick), options.retryFor, options.timeout, undefined, async (ms) => tick(ms), Infinity);
  return { call: (again?: () => void) => caller.call(slow, {}, "repeat", again), calls };
}

const soon = (tick: (ms: number) => void) => async () => {
  tick(500);
  return true;
};

const disconnected = (tick: (ms: number) => void) => async (deadline: number) => {
  tick(deadline - Date.now());
  return false;
};

const isUnreachable = (e: unknown) => e instanceof CrusterError && e.code === "CR-5010" && e.reason === "no host answers: why";

test("a deadline says why a call is repeated", async (t) => {
  const { call, calls } = lossy(t, { failures: 1000, takes: 0, retryFor: 30_000, timeout: 10_000, ready: disconnected });
  await assert.rejects(call(), isUnreachable);
  assert.deepEqual([calls(), Date.now()], [1, 10_000]);
});

test("refusals after a while give nothing back", async (t) => {
  for (const takes of [10, 100, 5000]) {
    const { call } = lossy(t, { failures: 10_000, takes, retryFor: 30_000, ready: soon });
    await assert.rejects(call(), isUnreachable);
    assert.ok(Date.now() <= 30_000 + 2 * takes + 1000, `${takes}: ${Date.now()}`);
  }
});

test("a call that a host had for long has the whole budget", async (t) => {
  for (const again of [undefined, () => {}]) {
    const { call, calls } = lossy(t, { failures: 20, takes: 10_000, retryFor: 1000, ready: soon });
    assert.equal(await call(again), "answer");
    assert.equal(calls(), 21);
  }
});

test("a host that never takes a call is given up", async (t) => {
  for (const again of [undefined, () => {}]) {
    const { call } = lossy(t, { failures: 1000, takes: 0, retryFor: 30_000, ready: () => connected });
    await assert.rejects(call(again), isUnreachable);
    assert.ok(Date.now() > 30_000 - 2 * MAX_BACKOFF && Date.now() <= 30_000, `${Date.now()}`);
  }
});

test("attempts without a connection give nothing back", async (t) => {
  for (const [again, want] of [
    [undefined, 20_000 + 30_000 + 20_000],
    [() => {}, 30_000 + 20_000],
  ] as const) {
    const { call } = lossy(t, { failures: 1000, takes: 20_000, retryFor: 30_000, ready: disconnected });
    await assert.rejects(call(again), isUnreachable);
    assert.equal(Date.now(), want);
  }
});
