/** The generated clients of the services that are used. */

import type { ChannelCredentials, ClientOptions } from "@grpc/grpc-js";

import type { Caller } from "./calls.js";
import { DeferredServiceClient } from "./proto/cruster/v1/deferred.js";
import { EntityServiceClient } from "./proto/cruster/v1/entity.js";
import { WorkflowServiceClient } from "./proto/cruster/v1/workflow.js";

/** The services of a host, with what the calls of a cluster have in common. */
export class Stubs {
  readonly workflows: WorkflowServiceClient;
  readonly deferreds: DeferredServiceClient;
  readonly entities: EntityServiceClient;

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

  /** Waits until there is a connection, or until a point in time: then the next call says why there is none. */
  ready(deadline: number): Promise<void> {
    return new Promise((resolve) => this.workflows.waitForReady(deadline, () => resolve()));
  }

  close(): void {
    this.workflows.close();
  }
}
