/** A connection that is encrypted, with a token, as docs/clients-typescript.md shows it. */

import { readFileSync } from "node:fs";

import { Cluster, CrusterError } from "../src/index.js";

const variable = (name: string) => process.env[name] ?? "";

const cluster = new Cluster(variable("CRUSTER_ADDR"), {
  tls: readFileSync(variable("CRUSTER_CERTIFICATE")),
  token: variable("CRUSTER_TOKEN"),
  namespace: "shop",
  timeout: 30_000,
  retryFor: 1_000,
});
try {
  await cluster.run("orders/ProcessOrder/42").poll();
} catch (e) {
  if (!(e instanceof CrusterError)) throw e;
  console.log(`${e.code}: ${e.reason} (${e.hint})`);
}

// An answer that does not come in time ends the waiting, and nothing else.
try {
  await cluster.run("orders/ProcessOrder/slow").wait({ timeout: 1 });
} catch (e) {
  if (!(e instanceof CrusterError)) throw e;
  console.log(e.code);
}
cluster.close();
