/** Calls that found no connection: nothing of them has left the client. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { test } from "node:test";

import { Server, ServerCredentials, credentials, status } from "@grpc/grpc-js";

import { Caller } from "../src/calls.js";
import { Cluster, CrusterError } from "../src/index.js";
import { CallEntityRequest, EntityServiceService, type CallEntityResponse } from "../src/proto/cruster/v1/entity.js";
import { GetExecutionRequest } from "../src/proto/cruster/v1/workflow.js";
import { Stubs } from "../src/stubs.js";
import { packed } from "../src/values.js";

/** A server that ends the connections it takes before anything is said, as a host that goes down does. */
async function down() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const refuse = async () => ((await once(server, "connection")) as [Socket])[0].destroy();
  const close = () => new Promise((resolve) => server.close(resolve));
  return { address, refuse, close };
}

test("only what has left is marked", async (t) => {
  const { address, refuse, close } = await down();
  const cluster = new Cluster(address, { retryFor: 30 * 24 * 3_600_000 }); // longer than a timer can be set for
  t.after(() => cluster.close());
  const call = cluster.entity("shop/Cart", "ada").call<number>("add");
  for (let i = 0; i < 3; i++) {
    await refuse();
  }
  await close();

  const marks: (boolean | undefined)[] = [];
  const host = new Server();
  t.after(() => host.forceShutdown());
  host.addService(EntityServiceService, {
    callEntity(
      { request }: { request: CallEntityRequest },
      answer: (error: object | null, response?: CallEntityResponse) => void,
    ) {
      marks.push(request.operation?.again);
      if (marks.length === 1) {
        answer({ code: status.UNAVAILABLE, details: "the answer is lost" });
      } else {
        answer(null, { result: packed(7), error: undefined });
      }
    },
  } as never);
  await new Promise<void>((resolve, reject) =>
    host.bindAsync(address, ServerCredentials.createInsecure(), (error) => (error === null ? resolve() : reject(error))),
  );
  assert.equal(await call, 7);
  assert.deepEqual(marks, [false, true]);
});

test("a call without a connection has a budget", async (t) => {
  const { address, close } = await down();
  await close();
  // No connection comes, however long the limit that ends the wait for it. The other one is out of reach.
  for (const options of [{ retryFor: 0 }, { retryFor: 1 }, { retryFor: 3_600_000, timeout: 1 }]) {
    const cluster = new Cluster(address, options);
    t.after(() => cluster.close());
    const call = cluster.entity("shop/Cart", "ada").call("add");
    const late = "timeout" in options;
    await assert.rejects(call, (e) => e instanceof CrusterError && e.code === "CR-5010" && e.reason.includes("it was not sent") === late);
  }
});

test("closing ends the waiting", async () => {
  const { address, refuse, close } = await down();
  const cluster = new Cluster(address, { retryFor: 3_600_000 });
  const call = cluster.entity("shop/Cart", "ada").call("add");
  await refuse();
  cluster.close();
  await assert.rejects(call, /the cluster is closed/);
  await assert.rejects(cluster.entity("shop/Cart", "ada").call("add"), /the cluster is closed/);
  await close();
});

test("a listener that says nothing is given up", async (t) => {
  const taken: Socket[] = [];
  const server = createServer((socket) => taken.push(socket)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stubs = new Stubs(address, credentials.createInsecure(), {}, null as never, "");
  const caller = new Caller((deadline) => stubs.ready(deadline), 0, undefined, undefined, undefined, 100);
  t.after(() => {
    stubs.close();
    taken.forEach((socket) => socket.destroy());
    server.close();
  });
  const silent = (e: unknown) =>
    e instanceof CrusterError && e.code === "CR-5010" && e.reason.includes("no connection after a while");
  const { workflows, entities } = stubs;
  const look = GetExecutionRequest.fromPartial({ execution: "shop/Buy/k" });
  await assert.rejects(caller.call(workflows.getExecution.bind(workflows, look)), silent);
  const change = entities.callEntity.bind(entities, CallEntityRequest.fromPartial({}));
  await assert.rejects(caller.call(change, {}, "repeat", () => undefined), silent);
});

test("a call that has failed leaves no timer", async (t) => {
  const { address, close } = await down();
  await close();
  const cluster = new Cluster(address, { retryFor: 0 });
  t.after(() => cluster.close());
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
  const before = timers();
  await assert.rejects(cluster.run("shop/Buy/k").poll());
  assert.ok(timers() <= before + 1, `${timers()}`); // the library waits a moment before it connects again
});
