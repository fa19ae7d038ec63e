/** Calls of entities. */

import { requestId, type CallOptions, type RequestOptions } from "./calls.js";
import { CrusterError } from "./errors.js";
import type { Operation } from "./proto/cruster/v1/entity.js";
import { encoding } from "./run.js";
import type { Stubs } from "./stubs.js";
import { packed, unpacked } from "./values.js";

/** One entity; Cluster.entity makes it. */
export class Entity {
  constructor(
    private readonly stubs: Stubs,
    /** Its name: "deployment/Type/id". */
    readonly name: string,
  ) {}

  /**
   * Performs an operation and returns its result; its changes are durable by then. A call whose
   * answer was lost is repeated, unless it could run twice: for an operation of an entity
   * without a state that is not persisted it is CR-6014.
   */
  async call<Res>(operation: string, input?: unknown, options?: RequestOptions): Promise<Res> {
    const { caller, entities } = this.stubs;
    const request = { operation: this.operation(operation, input, options), encoding };
    const again = () => {
      request.operation.again = true;
    };
    const response = await caller.call(entities.callEntity.bind(entities, request), options, "repeat", again);
    if (response.error !== undefined) {
      throw new CrusterError(response.error);
    }
    return unpacked(response.result);
  }

  /** Has an operation performed without waiting for it. It is done when the message is durable. */
  async send(operation: string, input?: unknown, options?: RequestOptions): Promise<void> {
    const { caller, entities } = this.stubs;
    const request = { operation: this.operation(operation, input, options) };
    await caller.call(entities.sendToEntity.bind(entities, request), options);
  }

  /** Its state, with the effects of all operations that were answered before. */
  async state<State>(options?: CallOptions): Promise<State> {
    const { caller, entities } = this.stubs;
    const request = { namespace: this.stubs.namespace, entity: this.name, encoding };
    return unpacked((await caller.call(entities.getEntity.bind(entities, request), options)).state);
  }

  /** Deletes its state, behind the calls that came before. */
  async destroy(options?: RequestOptions): Promise<void> {
    const { caller, entities } = this.stubs;
    const request = { namespace: this.stubs.namespace, entity: this.name, requestId: requestId(options?.id) };
    await caller.call(entities.destroyEntity.bind(entities, request), options);
  }

  private operation(name: string, input: unknown, options?: RequestOptions): Operation {
    return {
      namespace: this.stubs.namespace,
      entity: this.name,
      name,
      input: packed(input),
      requestId: requestId(options?.id),
      again: false,
    };
  }
}
