/** The generated clients of the services that are used. */

import { connectivityState, type ChannelCredentials, type ClientOptions } from "@grpc/grpc-js";

import type { Caller } from "./calls.js";
import { DeferredServiceClient } from "./proto/cruster/v1/deferred.js";
import { EntityServiceClient } from "./proto/cruster/v1/entity.js";
import { WorkflowServiceClient } from "./proto/cruster/v1/workflow.js";

/** In milliseconds: a timer that is set for longer ends at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** The services of a host, with the common parts of the calls of a cluster. */
export class Stubs {
  readonly workflows: WorkflowServiceClient;
  readonly deferreds: DeferredServiceClient;
  readonly entities: EntityServiceClient;
  private closed = false;

  constructor(
    address: string,
    credentials: ChannelCredentials,
    options: ClientOptions,
    readonly caller: Caller,
    readonly namespace: string,
  ) {
    this.workflows = new WorkflowServiceClient(address, credentials, options);
    // All services share the connection.
    const channelOverride = this.workflows.getChannel();
    this.deferreds = new DeferredServiceClient(address, credentials, { ...options, channelOverride });
    this.entities = new EntityServiceClient(address, credentials, { ...options, channelOverride });
  }

  /** Waits until there is a connection, or until a point in time; tells whether there is one. It fails once the connection is closed. */
  ready(deadline: number): Promise<boolean> {
    const channel = this.workflows.getChannel();
    return new Promise((resolve, reject) => {
      const look = (late?: Error) => {
        // Asked for its state, a channel that is closed would connect again.
        if (this.closed) {
          return reject(new Error("the cluster is closed"));
        }
        if (late !== undefined && Date.now() >= deadline) {
          return resolve(false);
        }
        const state = channel.getConnectivityState(true);
        if (state === connectivityState.READY) {
          return resolve(true);
        }
        channel.watchConnectivityState(state, Math.min(deadline, Date.now() + LONGEST_TIMER), look);
      };
      setImmediate(look); // the known state of the connection is heeded first
    });
  }

  close(): void {
    this.closed = true;
    this.workflows.close();
  }
}
