/**
 * A client does not notice a host that is killed and started again. tests/clients does that to
 * the host whenever this program says so.
 */

import { createInterface } from "node:readline";

import { Cluster } from "../src/index.js";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Prints a demand, and waits until it was taken up. */
async function say(wanted: string): Promise<void> {
  console.log(`> ${wanted}`);
  await lines.next();
}

const cluster = new Cluster(process.env.CRUSTER_ADDR ?? "127.0.0.1:7600");
const approvals = cluster.workflow<{ document: string }, { status: string }>("approval/RequestApproval");
const first = await approvals.start({ document: "plan" });
const cart = cluster.entity("cart/Cart", "bob");
const tea = { sku: "tea", quantity: 1, price_cents: 450 };
const total = await cart.call<number>("add", tea, { id: "tea-1" });
console.log(`existed: ${first.existed}, total: ${total}`);

// No host is there: calls are repeated until one is, and find the effects of the first ones.
await say("kill");
await say("start");
const again = await approvals.start({ document: "plan" });
console.log(`existed: ${again.existed}, same: ${again.execution === first.execution}`);
console.log(`total: ${await cart.call<number>("add", tea, { id: "tea-1" })}`);

// The host is killed while a call waits. The call goes on with the next host.
const waiting = again.wait();
await first.poll(); // behind the call that waits, on the same connection
await say("kill");
await say("start and wait");
await first.resolve("approved", { approved: true, by: "ada" });
console.log((await waiting).status);
cluster.close();
process.exit();
