/** Makes calls, and repeats them while no host answers or the host is full. */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { Metadata, status, type CallOptions as GrpcOptions, type ClientUnaryCall, type ServiceError } from "@grpc/grpc-js";

import { fromService, retryDelay, unsent } from "./errors.js";

const FIRST_BACKOFF = 50;
export const MAX_BACKOFF = 2000;
/**
 * How long an attempt has to take for it to be known that a host had the call. A host, or a proxy in
 * front of it, that can do nothing with a call says so sooner.
 */
const HAD_BY_HOST = 10_000;

/**
 * How long a call waits for its connection, if it is not repeated for longer: the library itself waits for ever for
 * a server that takes connections and says nothing.
 */
const CONNECT_LIMIT = 5_000;
/** The least that is left for an attempt to say why there is no connection. */
const LAST_TRY = 1_000;

/** The options of one call. */
export interface CallOptions {
  /** How many milliseconds it may take, with its repetitions. It ends the waiting, never the workflow. */
  timeout?: number;
}

/** The options of one request that changes something. */
export interface RequestOptions extends CallOptions {
  /** Those with the same id are performed once, also from another process. Without it the client draws one. */
  id?: string;
}

/** A method of a generated client, with its request. */
export type Method<Res> = (
  metadata: Metadata,
  options: Partial<GrpcOptions>,
  callback: (error: ServiceError | null, response: Res) => void,
) => ClientUnaryCall;

/** An id for a request, by which a host knows it again. */
export function requestId(given: string | undefined): string {
  return given ?? randomUUID();
}

/** Whether a call may be made again when it is not known whether the first one arrived. */
export type Repeat = "repeat" | "once";

/** Waits until there is a connection, or until a point in time; tells whether there is one. It fails if the client is closed. */
export type Ready = (deadline: number) => Promise<boolean>;

/**
 * Bounds for how many milliseconds one call is without a host: waits for connections and is
 * repeated, together. When a host has had the call, it is whole again: a call that waits for long
 * outlives any number of restarts, and a refused one, at once or after a while, does not.
 */
class Budget {
  private spare: number; // before the first failure
  private ends: number | undefined; // unknown before the first failure

  constructor(private readonly whole: number) {
    this.spare = whole;
  }

  /** When it ends, if it is used from now on. */
  end(): number {
    return this.ends ?? Date.now() + this.spare;
  }

  /** Begins the repetitions, unless they have begun, and tells when they end. */
  start(): number {
    return (this.ends = this.end());
  }

  waited(time: number): void {
    this.spare -= time;
  }

  /** Makes the budget whole again if an attempt took so long that a host had the call. Returns whether it did. */
  refill(took: number): boolean {
    if (took < HAD_BY_HOST) {
      return false;
    }
    this.spare = this.whole;
    this.ends = undefined;
    return true;
  }

  useUp(): void {
    this.ends = Date.now();
  }
}

/** The time of one call, or of several that are one for the caller. */
export class Limit {
  /** When it ends: Infinity if it does not. */
  readonly deadline: number;

  constructor(time: number | undefined) {
    this.deadline = time === undefined ? Infinity : Date.now() + time;
  }

  /** The options of a call that has the rest of it. */
  rest(): CallOptions {
    return this.deadline === Infinity ? {} : { timeout: Math.max(0, this.deadline - Date.now()) };
  }
}

/** Calls methods with the metadata of each call. */
export class Caller {
  constructor(
    private readonly ready: Ready,
    private readonly retryFor: number,
    private readonly timeout: number | undefined,
    private readonly token: string | undefined,
    private readonly pause: (time: number) => Promise<void> = sleep,
    private readonly connectLimit: number = CONNECT_LIMIT,
  ) {}

  /** The time that a call has, from now on. */
  limit(options: CallOptions = {}): Limit {
    return new Limit(options.timeout ?? this.timeout);
  }

  /** Makes a call. `again` marks the request as possibly arrived: not without a connection. */
  async call<Res>(method: Method<Res>, options: CallOptions = {}, repeat: Repeat = "repeat", again?: () => void): Promise<Res> {
    const { deadline } = this.limit(options);
    const connectBy = Date.now() + this.connectLimit;
    const budget = new Budget(this.retryFor);
    let lost: ServiceError | undefined; // of an attempt that may have arrived
    let waits = again !== undefined || repeat === "once";
    let connected = true; // a first attempt that does not wait finds the budget whole anyway
    for (let backoff = FIRST_BACKOFF; ; backoff = Math.min(2 * backoff, MAX_BACKOFF)) {
      if (waits) {
        const ends = budget.end();
        connected = await this.connect(budget, Math.min(ends, deadline));
        if (!connected && deadline < ends) {
          if (lost === undefined) {
            throw unsent();
          }
          if (again === undefined) {
            throw fromService(lost, false);
          }
        }
      }
      const begun = Date.now();
      const answer = await this.once(method, deadline, waits && connected ? undefined : Math.max(connectBy, begun + LAST_TRY));
      if (!(answer instanceof Failure)) {
        return answer;
      }
      const { error } = answer;
      const now = Date.now();
      const unavailable = error.code === status.UNAVAILABLE;
      if (unavailable && connected && budget.refill(now - begun)) {
        backoff = FIRST_BACKOFF;
      }
      const delay = delayOf(error, repeat, backoff);
      if (delay === undefined || now + delay > Math.min(budget.start(), deadline)) {
        throw fromService(error, now >= deadline);
      }
      if (unavailable) {
        again?.();
        lost = error;
      }
      await this.pause(delay);
      waits = true;
    }
  }

  /**
   * Waits for a connection, because a status does not tell whether a call had one: a call that fails
   * without one has not left and was with no host, and a call that fails with one may have arrived. Tells
   * whether there is one. If there is none within the budget, the next attempt says why, and is the
   * last.
   */
  private async connect(budget: Budget, until: number): Promise<boolean> {
    const begun = Date.now();
    if (await this.ready(until)) {
      budget.waited(Date.now() - begun);
      return true;
    }
    budget.useUp();
    return false;
  }

  /** Makes one attempt. If it may have no connection, it is given up unless there is one at a point in time. */
  private once<Res>(method: Method<Res>, deadline: number, connectBy: number | undefined): Promise<Res | Failure> {
    const metadata = new Metadata();
    if (this.token !== undefined) {
      metadata.set("authorization", `Bearer ${this.token}`);
    }
    return new Promise((resolve) => {
      let limit: NodeJS.Timeout | undefined;
      let settled = false;
      const call = method(metadata, { deadline }, (error, response) => {
        settled = true;
        clearTimeout(limit);
        resolve(error === null ? response : new Failure(error));
      });
      if (settled || connectBy === undefined || connectBy >= deadline) {
        return;
      }
      const giveUp = () => {
        resolve(new Failure(silent()));
        call.cancel();
      };
      limit = setTimeout(() => {
        this.ready(Date.now()).then((there) => there || giveUp(), () => undefined); // a cluster that is closed ends its calls
      }, connectBy - Date.now());
    });
  }
}

/** Why an attempt has failed that had no connection in time. */
function silent(): ServiceError {
  const details = "there is no connection after a while: the address drops what is sent, or what listens there says nothing";
  return Object.assign(new Error(details), { code: status.UNAVAILABLE, details, metadata: new Metadata() });
}

class Failure {
  constructor(readonly error: ServiceError) {}
}

/**
 * When to make a call again, if it may be. A host that names a delay did nothing else with the
 * call, so that any call may be repeated after it.
 */
function delayOf(error: ServiceError, repeat: Repeat, backoff: number): number | undefined {
  if (error.code === status.RESOURCE_EXHAUSTED) {
    const after = retryDelay(error);
    // All callers of a full host get the same delay: spread them.
    return after === undefined ? undefined : after + backoff * Math.random();
  }
  if (error.code === status.UNAVAILABLE && repeat === "repeat") {
    return backoff * (0.5 + Math.random());
  }
  return undefined;
}
