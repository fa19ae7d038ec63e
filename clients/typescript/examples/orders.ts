/** The program of docs/clients-typescript.md, for a host with the examples orders, cart and approval. */

import { setTimeout as sleep } from "node:timers/promises";

import { Cluster, CrusterError, RunError } from "../src/index.js";

interface Item {
  sku: string;
  quantity: number;
  price_cents: number;
}

interface OrderRequest {
  order_id: string;
  email: string;
  items: Item[];
  cooling_off_ms?: number;
}

interface OrderResult {
  order_id: string;
  charge_id: string;
  total_cents: number;
  status: string;
}

async function workflows(cluster: Cluster): Promise<void> {
  const order = { order_id: "42", email: "ada@example.com", items: [{ sku: "tea", quantity: 2, price_cents: 450 }], cooling_off_ms: 100 };
  const orders = cluster.workflow<OrderRequest, OrderResult>("orders/ProcessOrder");
  const run = await orders.start(order); // durable by now
  console.log(`started ${run.execution}`);
  const result = await run.wait();
  console.log(`${result.status}: ${result.total_cents} cents`);

  // The order id is the key: an order that is sent twice is processed once.
  const again = await orders.execute(order);
  console.log(`charged ${again.charge_id === result.charge_id ? "once" : "twice"}`);
}

async function refusals(cluster: Cluster): Promise<void> {
  const empty = { order_id: "43", email: "", items: [] };
  // A workflow that fails: the error has its state, and the type that the workflow gave it.
  try {
    await cluster.workflow<OrderRequest, OrderResult>("orders/ProcessOrder").execute(empty);
  } catch (e) {
    if (!(e instanceof RunError)) throw e;
    console.log(`${e.state} ${e.code} ${e.errorType}`);
  }
  // A call that fails: the error has a code, and a hint that says what to do.
  try {
    await cluster.workflow<OrderRequest, OrderResult>("nowhere/ProcessOrder").start(empty);
  } catch (e) {
    if (!(e instanceof CrusterError)) throw e;
    console.log(`${e.code}: ${e.reason}`);
  }
}

async function deferreds(cluster: Cluster): Promise<void> {
  const approvals = cluster.workflow<{ document: string }, { status: string; by: string }>("approval/RequestApproval");
  const run = await approvals.start({ document: "budget" });
  await run.resolve("approved", { approved: true, by: "ada" });
  const result = await run.wait();
  console.log(`${result.status} by ${result.by}`);
}

interface SubscriptionStatus {
  plan: string;
  canceled: boolean;
}

async function messages(cluster: Cluster): Promise<void> {
  const subscriptions = cluster.workflow<{ customer: string; plan: string }, SubscriptionStatus>("cart/Subscription");
  const run = await subscriptions.signalWithStart({ customer: "ada", plan: "small" }, "change_plan", { plan: "large" });
  // A signal is durable once it is sent; the workflow receives it in its own time.
  while ((await run.query<SubscriptionStatus>("status")).plan !== "large") {
    await sleep(20);
  }
  console.log(`state: ${(await run.poll()).state}`);

  await run.signal("cancel", { reason: "too much tea" });
  while (!(await run.query<SubscriptionStatus>("status")).canceled) {
    await sleep(20);
  }
  await run.interrupt("the customer has moved");
  try {
    await run.wait();
  } catch (e) {
    if (!(e instanceof RunError)) throw e;
    console.log(`${e.state}: ${e.code}`);
  }
}

async function entities(cluster: Cluster): Promise<void> {
  const cart = cluster.entity("cart/Cart", "ada");
  console.log(`total: ${await cart.call<number>("add", { sku: "tea", quantity: 2, price_cents: 450 })}`);
  // A request with an id of its own is performed once, however often it is made.
  for (let i = 0; i < 2; i++) {
    const milk = { sku: "milk", quantity: 1, price_cents: 450 };
    console.log(`total: ${await cart.call<number>("add", milk, { id: "milk-1" })}`);
  }
  try {
    await cart.call<number>("remove", "coffee");
  } catch (e) {
    if (!(e instanceof CrusterError)) throw e;
    console.log(`${e.code} ${e.errorType}: ${e.reason}`);
  }
  console.log(`items: ${(await cart.state<{ items: Item[] }>()).items.length}`);
}

const cluster = new Cluster(process.env.CRUSTER_ADDR ?? "127.0.0.1:7600");
await workflows(cluster);
await refusals(cluster);
await deferreds(cluster);
await messages(cluster);
await entities(cluster);
cluster.close();
