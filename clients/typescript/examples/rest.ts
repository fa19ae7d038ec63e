/**
 * The parts left out of the page: updates, published values, keys that are used again, and
 * entities without a state. tests/clients runs it.
 */

import { Cluster, CrusterError } from "../src/index.js";

/** The code of a call that is refused, with the type of its error. */
async function refusal(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (e) {
    if (!(e instanceof CrusterError)) throw e;
    return `${e.code} ${e.errorType}`.trim();
  }
  return "it was not refused";
}

const cluster = new Cluster(process.env.CRUSTER_ADDR ?? "127.0.0.1:7600");
const sums = cluster.workflow<boolean, number[]>("conformance/Updated").withKeyRaw("sums");
const run = await sums.start(false);
console.log(await run.update<number>("add", 3));
for (let i = 0; i < 2; i++) {
  console.log(await run.update<number>("add", 4, { id: "four" }));
}
for (const refused of [-1, 2000]) {
  console.log(await refusal(run.update("add", refused)));
}
console.log(await run.update<string>("finish"));
console.log(`[${(await run.wait()).join(", ")}]`);

console.log(await refusal(sums.ifFinished("refuse").start(false)));
const restart = sums.ifFinished("restart", "second");
console.log(`[${(await restart.start(false)).existed}, ${(await restart.start(false)).existed}]`);

const publishes = await cluster.workflow<string, unknown[]>("conformance/Publishes").withKey("ada").start("ada");
await publishes.resolve("gate", "open");
await publishes.wait();
console.log(await publishes.published<string>("stage"));

const ledger = cluster.entity("conformance/Ledger", "a");
for (let i = 0; i < 2; i++) {
  console.log(await ledger.call<number>("note", false, { id: "one" }));
}
console.log(await ledger.call<number>("read", {}));
cluster.close();
