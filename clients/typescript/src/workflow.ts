/** Starts of executions. */

import { requestId, type CallOptions, type RequestOptions } from "./calls.js";
import { IfFinished as WireIfFinished, StartOptions } from "./proto/cruster/v1/workflow.js";
import { encoding, resultOf, Run, signalOptions } from "./run.js";
import type { Stubs } from "./stubs.js";
import { packed } from "./values.js";
import { execute } from "./waiting.js";

/**
 * The behaviour of a start whose key has an ended run: it answers with it (the default),
 * starts a new run, starts a new run unless the ended one has completed, or fails with
 * CR-2044. A run that is not over is found, whatever it says.
 */
export type IfFinished = "return" | "restart" | "restart-failed" | "refuse";

const finished: Record<IfFinished, WireIfFinished> = {
  return: WireIfFinished.IF_FINISHED_RETURN,
  restart: WireIfFinished.IF_FINISHED_RESTART,
  "restart-failed": WireIfFinished.IF_FINISHED_RESTART_FAILED,
  refuse: WireIfFinished.IF_FINISHED_REFUSE,
};

/** A workflow with the types of its request and result; Cluster.workflow makes one. */
export class Workflow<Req, Res> {
  constructor(
    private readonly stubs: Stubs,
    private readonly start_: Partial<StartOptions>,
  ) {}

  /**
   * A copy whose starts use the given idempotency key instead of the one that the workflow derives
   * from its request. The host hashes it.
   */
  withKey(key: string): Workflow<Req, Res> {
    return new Workflow(this.stubs, { ...this.start_, key, rawKey: undefined });
  }

  /** withKey with a key that is used as it is, and shows in the name of the execution. */
  withKeyRaw(key: string): Workflow<Req, Res> {
    return new Workflow(this.stubs, { ...this.start_, key: undefined, rawKey: key });
  }

  /**
   * A copy whose starts do this if there is an ended run under their key. With a request id
   * they start one run, however often they are repeated, also from another process; without it each
   * call draws one.
   */
  ifFinished(then: IfFinished, id = ""): Workflow<Req, Res> {
    return new Workflow(this.stubs, { ...this.start_, ifFinished: finished[then], requestId: id });
  }

  /** Starts an execution, or finds the one that was started with the same key, and waits for its result. */
  async execute(request: Req, options?: CallOptions): Promise<Res> {
    const wire = { start: this.options(request), encoding };
    return resultOf(await execute(this.stubs, wire, this.stubs.caller.limit(options)));
  }

  /**
   * Starts an execution, or finds the one that was started with the same key. It is done as soon as
   * the start is durable.
   */
  async start(request: Req, options?: CallOptions): Promise<Run<Res>> {
    const { caller, workflows } = this.stubs;
    const wire = { start: this.options(request), encoding, wait: undefined };
    const response = await caller.call(workflows.startExecution.bind(workflows, wire), options);
    return new Run(this.stubs, response.execution?.name ?? "", response.existed);
  }

  /**
   * Sends a signal to an execution, and starts it first if it is not there: then both are durable,
   * or neither.
   */
  async signalWithStart(request: Req, signal: string, value?: unknown, options?: RequestOptions): Promise<Run<Res>> {
    const { caller, workflows } = this.stubs;
    // The signal has a request id.
    const start = { ...this.options(request), requestId: this.start_.requestId ?? "" };
    const wire = { start, signal: signalOptions(signal, value, options), encoding };
    const response = await caller.call(workflows.signalWithStart.bind(workflows, wire), options);
    return new Run(this.stubs, response.execution?.name ?? "", response.existed);
  }

  private options(request: Req): StartOptions {
    const start = StartOptions.create({ ...this.start_, namespace: this.stubs.namespace, input: packed(request) });
    // A start that finds an existing run is known again by its key.
    if (start.ifFinished !== WireIfFinished.IF_FINISHED_UNSPECIFIED && start.ifFinished !== WireIfFinished.IF_FINISHED_RETURN) {
      start.requestId = requestId(start.requestId || undefined);
    }
    return start;
  }
}
