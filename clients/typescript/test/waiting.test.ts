/** Executions that run for longer than one call waits. */

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";

import { Metadata, Server, ServerCredentials, status, type ClientUnaryCall, type ServiceError } from "@grpc/grpc-js";

import { Caller, type Method } from "../src/calls.js";
import { Cluster, CrusterError, RunError } from "../src/index.js";
import { Encoding, Execution, State } from "../src/proto/cruster/v1/common.js";
import {
  StartOptions,
  WorkflowServiceService,
  type StartExecutionRequest,
  type StartExecutionResponse,
  type WaitExecutionRequest,
  type WaitExecutionResponse,
} from "../src/proto/cruster/v1/workflow.js";
import type { Stubs } from "../src/stubs.js";
import { packed } from "../src/values.js";
import { execute } from "../src/waiting.js";

const name = "shop/Buy/k";
const running = Execution.create({ name, state: State.STATE_RUNNING, runId: "b2", chainId: "a1" });
const completed = Execution.create({ name, state: State.STATE_COMPLETED, result: packed(7) });
const paused = Execution.create({ name, state: State.STATE_PAUSED });

interface Call<Req> {
  request: Req;
}
type Answer<Res> = (error: null, response: Res) => void;

/** A host that answers calls with the execution as it is when each of them is over, and keeps the calls. */
async function host(t: TestContext, ...executions: Execution[]) {
  const calls: [string, bigint | undefined, string][] = [];
  const server = new Server();
  t.after(() => server.forceShutdown());
  server.addService(WorkflowServiceService, {
    startExecution({ request }: Call<StartExecutionRequest>, answer: Answer<StartExecutionResponse>) {
      calls.push(["start", request.wait?.seconds, request.start?.workflow ?? ""]);
      answer(null, { execution: executions.shift(), existed: false });
    },
    waitExecution({ request }: Call<WaitExecutionRequest>, answer: Answer<WaitExecutionResponse>) {
      calls.push([request.execution, request.wait?.seconds, request.runId]);
      answer(null, { execution: executions.shift() });
    },
  } as never);
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
  const cluster = new Cluster(`127.0.0.1:${port}`);
  t.after(() => cluster.close());
  return { cluster, calls };
}

test("a long run is awaited by several calls", async (t) => {
  const { cluster, calls } = await host(t, running, running, running, completed);
  assert.equal(await cluster.workflow<null, number>("shop/Buy").execute(null), 7);
  const wait = [name, 50n, "a1"];
  assert.deepEqual(calls, [["start", 50n, "shop/Buy"], wait, wait, wait]);
});

test("a run is awaited by its name", async (t) => {
  const { cluster, calls } = await host(t, running, completed);
  assert.equal(await cluster.run<number>(name).wait(), 7);
  const wait = [name, 50n, ""];
  assert.deepEqual(calls, [wait, wait]);
});

test("a paused run is not awaited", async (t) => {
  const { cluster, calls } = await host(t, paused);
  const call = cluster.workflow<null, number>("shop/Buy").execute(null);
  await assert.rejects(call, (e) => e instanceof RunError && e.state === "paused");
  assert.equal(calls.length, 1);
});

test("a start without a wait has none", async (t) => {
  const { cluster, calls } = await host(t, running);
  assert.equal((await cluster.workflow<null, number>("shop/Buy").start(null)).execution, name);
  assert.deepEqual(calls, [["start", undefined, "shop/Buy"]]);
});

test("the calls of a wait share its time", async (t) => {
  t.mock.timers.enable({ apis: ["Date"] });
  for (const [ofCluster, ofCall] of [[120_000, undefined], [undefined, 120_000], [5_000, 120_000]] as const) {
    // An execution takes very long, and a call as long as it may.
    const begun = Date.now();
    const left: number[] = [];
    const method: Method<{ execution: Execution }> = (_metadata, options, callback) => {
      const time = Number(options.deadline) - Date.now();
      left.push(time);
      t.mock.timers.tick(Math.min(time, 50_000));
      const late = { code: status.DEADLINE_EXCEEDED, details: "why", metadata: new Metadata() };
      const execution = Date.now() - begun < 1_000_000 ? running : completed;
      callback(time < 50_000 ? (late as ServiceError) : null, { execution });
      return {} as ClientUnaryCall;
    };
    const later = (_request: unknown, ...call: Parameters<typeof method>) => method(...call);
    const workflows = { startExecution: later, waitExecution: later };
    const caller = new Caller(() => Promise.resolve(true), 30_000, ofCluster, undefined);
    const stubs = { caller, workflows, namespace: "" } as unknown as Stubs;
    const asked = { start: StartOptions.create(), encoding: Encoding.ENCODING_MSGPACK };
    const call = execute(stubs, asked, caller.limit({ timeout: ofCall }));
    await assert.rejects(call, (e) => e instanceof CrusterError && e.code === "CR-5008");
    assert.deepEqual(left, [120_000, 70_000, 20_000]);
  }
});
