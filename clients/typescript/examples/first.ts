/** The program that docs/clients-typescript.md begins with, for a host with the example orders. */

import { Cluster } from "cruster-client";

const cluster = new Cluster(process.env.CRUSTER_ADDR ?? "127.0.0.1:7600");
const orders = cluster.workflow<object, { status: string }>("orders/ProcessOrder");
const order = { order_id: "100", email: "ada@example.com", items: [{ sku: "tea", quantity: 2, price_cents: 450 }], cooling_off_ms: 100 };
const run = await orders.start(order); // returns when the start is durable
console.log(`started ${run.execution}`);
console.log((await run.wait()).status);

const result = await orders.execute({ ...order, order_id: "101" }); // starts it and waits
console.log(result.status);
cluster.close();
