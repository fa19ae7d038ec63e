/**
 * Calls workflows and entities on a Cruster host.
 *
 * A request that is sent twice runs once: starts by their keys, and everything else by an id that
 * the client draws. So calls that no host answered, or that a full host put off, are repeated, for
 * as long as `retryFor` allows. Settling a deferred is not: a second settlement is refused, also if
 * the first was this client's own.
 */
export { Cluster, type ClusterOptions } from "./cluster.js";
export { Entity } from "./entity.js";
export { CrusterError, RunError } from "./errors.js";
export { Run, type State, type Status } from "./run.js";
export { Workflow, type IfFinished } from "./workflow.js";
export type { CallOptions } from "./calls.js";
