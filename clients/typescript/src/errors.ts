/** Errors, made of the statuses of hosts and of gRPC itself. */

import { status, type ServiceError } from "@grpc/grpc-js";

import { CODES } from "./codes.js";
import { Error as WireError } from "./proto/cruster/v1/common.js";
import { RetryInfo, RpcStatus } from "./proto/status.js";
import { loads } from "./values.js";

/** A call that failed. Codes are stable: docs/errors.md has them all. */
export class CrusterError extends Error {
  /** The code: "CR-2001". */
  readonly code: string;
  /** The event and its subject, without the code. */
  readonly reason: string;
  /** Advice; empty if there is none. */
  readonly hint: string;
  /** The application's own name of the error, for instance "card_declined"; or empty. */
  readonly errorType: string;
  /** Whether another attempt may succeed. */
  readonly retryable: boolean;
  /** The application's own data about the error; undefined if it gave none. */
  readonly details: unknown;

  constructor(wire: WireError, prefix = "") {
    super(`${prefix}${wire.code}: ${wire.message}`);
    this.name = new.target.name;
    this.code = wire.code;
    this.reason = wire.message;
    this.hint = wire.hint;
    this.errorType = wire.type;
    this.retryable = wire.retryable;
    this.details = loads(wire.details);
  }
}

/** A workflow that did not complete: it failed, was interrupted, or is paused. */
export class RunError extends CrusterError {
  constructor(
    wire: WireError,
    /** Its name: "deployment/Workflow/key". */
    readonly execution: string,
    /** "failed", "interrupted" or "paused". */
    readonly state: string,
  ) {
    super(wire, `${execution} ${state}: `);
  }
}

/** An error of the client's own. */
function of(code: keyof typeof CODES, message: string): CrusterError {
  const { hint, retryable } = CODES[code];
  return new CrusterError(WireError.create({ code, message, hint, retryable }));
}

/** The error of a call whose deadline has passed while there was no connection. */
export function unsent(): CrusterError {
  return of("CR-5010", "no host answers: the deadline passed before there was a connection; it was not sent");
}

/** The error of a call; `late` tells whether its deadline has passed. */
export function fromService(error: ServiceError, late: boolean): CrusterError {
  const wire = find(error, "cruster.v1.Error", WireError);
  if (wire !== undefined) {
    return new CrusterError(wire);
  }
  // A host gives up at the deadline as well, and may end the call first.
  if (error.code === status.DEADLINE_EXCEEDED || (late && lostCodes.has(error.code))) {
    return of("CR-5008", "the deadline passed before the host answered");
  }
  switch (error.code) {
    case status.UNAVAILABLE:
      return of("CR-5010", `no host answers: ${error.details}`);
    case status.RESOURCE_EXHAUSTED:
      return of("CR-2005", error.details);
    case status.INVALID_ARGUMENT:
      return of("CR-2015", error.details);
    default:
      return of("CR-5001", `${status[error.code]}: ${error.details}`);
  }
}

const lostCodes = new Set([status.UNAVAILABLE, status.CANCELLED]);

/** After how many milliseconds the host asks the caller to try again, if it does. */
export function retryDelay(error: ServiceError): number | undefined {
  const delay = find(error, "google.rpc.RetryInfo", RetryInfo)?.retryDelay;
  return delay && Number(delay.seconds) * 1000 + delay.nanos / 1e6;
}

interface Decoder<T> {
  decode(data: Uint8Array): T;
}

/** Looks for a message of a type among the details of a status. */
function find<T>(error: ServiceError, name: string, type: Decoder<T>): T | undefined {
  for (const trailer of error.metadata?.get("grpc-status-details-bin") ?? []) {
    if (typeof trailer === "string") {
      continue;
    }
    try {
      const detail = RpcStatus.decode(trailer).details.find((d) => d.typeUrl.endsWith(`/${name}`));
      if (detail !== undefined) {
        return type.decode(detail.value);
      }
    } catch {
      return undefined; // not a status
    }
  }
  return undefined;
}
