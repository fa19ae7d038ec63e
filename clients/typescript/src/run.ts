/** One execution. */

import { requestId, type CallOptions, type RequestOptions } from "./calls.js";
import { CrusterError, RunError } from "./errors.js";
import { Encoding, Error as WireError, Execution, State as WireState } from "./proto/cruster/v1/common.js";
import { GetExecutionRequest, type SignalOptions } from "./proto/cruster/v1/workflow.js";
import type { Stubs } from "./stubs.js";
import { packed, unpacked } from "./values.js";
import { awaitEnd } from "./waiting.js";

/** The form of values that is asked for. */
export const encoding = Encoding.ENCODING_MSGPACK;

/** How far an execution is. */
export type State = "running" | "paused" | "completed" | "failed" | "interrupted" | "unknown";

const states = new Map<WireState, State>([
  [WireState.STATE_RUNNING, "running"],
  [WireState.STATE_PAUSED, "paused"],
  [WireState.STATE_COMPLETED, "completed"],
  [WireState.STATE_FAILED, "failed"],
  [WireState.STATE_INTERRUPTED, "interrupted"],
]);

/** The state of an execution as Run.poll sees it. */
export interface Status<Res> {
  state: State;
  /** The result, once it has completed. */
  result?: Res;
  /** Why it failed, was interrupted or is paused. */
  error?: RunError;
}

/** One execution of a workflow; Workflow.start and Cluster.run make them. */
export class Run<Res> {
  constructor(
    private readonly stubs: Stubs,
    /** Its name, which finds it again from anywhere: "deployment/Workflow/key". */
    readonly execution: string,
    /** Whether it had been started before. */
    readonly existed: boolean,
  ) {}

  private get name(): { namespace: string; execution: string } {
    return { namespace: this.stubs.namespace, execution: this.execution };
  }

  /** Waits for the result. A workflow that fails, is interrupted or is paused throws a RunError. */
  async wait(options?: CallOptions): Promise<Res> {
    const request = { ...this.name, encoding, runId: "" };
    return resultOf(await awaitEnd(this.stubs, request, this.stubs.caller.limit(options)));
  }

  /** Tells at once how far it is. */
  async poll(options?: CallOptions): Promise<Status<Res>> {
    const { caller, workflows } = this.stubs;
    const request = GetExecutionRequest.create({ ...this.name, encoding });
    const { execution } = await caller.call(workflows.getExecution.bind(workflows, request), options);
    const state = stateOf(execution);
    switch (state) {
      case "running":
        return { state };
      case "completed":
        return { state, result: resultOf(execution) };
      default:
        return { state, error: runError(execution) };
    }
  }

  /**
   * Asks it to stop. It is done when the request is durable; wait is done when the workflow has
   * cleaned up.
   */
  async interrupt(reason: string, options?: CallOptions): Promise<void> {
    const { caller, workflows } = this.stubs;
    await caller.call(workflows.interruptExecution.bind(workflows, { ...this.name, reason }), options);
  }

  /** Ends it at once, running or paused, without its cleanup. It is done when that is durable. */
  async terminate(reason: string, options?: CallOptions): Promise<void> {
    const { caller, workflows } = this.stubs;
    await caller.call(workflows.terminateExecution.bind(workflows, { ...this.name, reason }), options);
  }

  /** Sends it a signal. It is done when the signal is durable; the workflow receives it when it asks for it. */
  async signal(name: string, value?: unknown, options?: RequestOptions): Promise<void> {
    const { caller, workflows } = this.stubs;
    const request = { ...this.name, signal: signalOptions(name, value, options) };
    await caller.call(workflows.signalExecution.bind(workflows, request), options);
  }

  /** Asks it a question, and returns the workflow's reply at this moment. */
  async query<Answer>(name: string, input?: unknown, options?: CallOptions): Promise<Answer> {
    const { caller, workflows } = this.stubs;
    const request = { ...this.name, name, input: packed(input), encoding };
    return unpacked((await caller.call(workflows.queryExecution.bind(workflows, request), options)).value);
  }

  /** Asks it for a change, and returns the workflow's answer; the change is durable by then. */
  async update<Answer>(name: string, input?: unknown, options?: RequestOptions): Promise<Answer> {
    const { caller, workflows } = this.stubs;
    const request = { ...this.name, name, input: packed(input), requestId: requestId(options?.id), encoding };
    const response = await caller.call(workflows.updateExecution.bind(workflows, request), options);
    if (response.error !== undefined) {
      throw new CrusterError(response.error);
    }
    return unpacked(response.value);
  }

  /** Reads a value that it has published, also after its end; undefined if it has not. */
  async published<T>(name: string, options?: CallOptions): Promise<T | undefined> {
    const { caller, workflows } = this.stubs;
    const request = { ...this.name, name, encoding };
    const { state } = await caller.call(workflows.getExecutionState.bind(workflows, request), options);
    return unpacked(state[0]?.value);
  }

  /** Settles one of its deferreds with a value. A settled one is CR-2013. */
  async resolve(deferred: string, value?: unknown, options?: CallOptions): Promise<void> {
    const { caller, deferreds } = this.stubs;
    const request = { ...this.name, name: deferred, value: packed(value) };
    await caller.call(deferreds.resolveDeferred.bind(deferreds, request), options, "once");
  }

  /** Settles one of its deferreds with an error. The type is for the workflow to switch on. */
  async reject(deferred: string, message: string, type = "", options?: CallOptions): Promise<void> {
    const { caller, deferreds } = this.stubs;
    const request = { ...this.name, name: deferred, message, type };
    await caller.call(deferreds.rejectDeferred.bind(deferreds, request), options, "once");
  }
}

export function signalOptions(name: string, value: unknown, options?: RequestOptions): SignalOptions {
  return { name, value: packed(value), requestId: requestId(options?.id) };
}

function stateOf(execution: Execution | undefined): State {
  return (execution && states.get(execution.state)) ?? "unknown";
}

/** The result of an execution that waits no more. */
export function resultOf<Res>(execution: Execution | undefined): Res {
  if (stateOf(execution) !== "completed") {
    throw runError(execution);
  }
  return unpacked(execution?.result);
}

function runError(execution: Execution | undefined): RunError {
  const wire = execution?.error ?? WireError.create({ code: "CR-5001", message: "the host gave no reason" });
  return new RunError(wire, execution?.name ?? "", stateOf(execution));
}
