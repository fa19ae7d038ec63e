/** Waits for the ends of executions. */

import type { Limit } from "./calls.js";
import { State, type Execution } from "./proto/cruster/v1/common.js";
import type { StartExecutionRequest, WaitExecutionRequest } from "./proto/cruster/v1/workflow.js";
import type { Stubs } from "./stubs.js";

/**
 * How long one call waits for the end of an execution; then the client asks again. Proxies cut off calls that are
 * silent for a minute or longer.
 */
const wait = { seconds: 50n, nanos: 0 };

/** Waits until an execution is final or paused, with as many calls as that takes. */
export async function awaitEnd(
  stubs: Stubs,
  asked: Omit<WaitExecutionRequest, "wait">,
  limit: Limit,
): Promise<Execution | undefined> {
  const { caller, workflows } = stubs;
  const method = workflows.waitExecution.bind(workflows, { ...asked, wait });
  for (;;) {
    const { execution } = await caller.call(method, limit.rest());
    if (execution?.state !== State.STATE_RUNNING) {
      return execution;
    }
  }
}

/**
 * Starts an execution, or finds the one that was started under the same key, and awaits its end. If another run takes
 * its name meanwhile, that one is not waited for.
 */
export async function execute(
  stubs: Stubs,
  asked: Omit<StartExecutionRequest, "wait">,
  limit: Limit,
): Promise<Execution | undefined> {
  const { caller, workflows, namespace } = stubs;
  const method = workflows.startExecution.bind(workflows, { ...asked, wait });
  const { execution } = await caller.call(method, limit.rest());
  if (execution?.state !== State.STATE_RUNNING) {
    return execution;
  }
  const { name, chainId: runId } = execution;
  return awaitEnd(stubs, { namespace, execution: name, runId, encoding: asked.encoding }, limit);
}
