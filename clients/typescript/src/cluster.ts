/** The connection that everything is called through. */

import { credentials, type ClientOptions } from "@grpc/grpc-js";

import { Caller } from "./calls.js";
import { Entity } from "./entity.js";
import { Run } from "./run.js";
import { Stubs } from "./stubs.js";
import { Workflow } from "./workflow.js";

/** How a cluster is connected to. */
export interface ClusterOptions {
  /** The tenant of all calls. Defaults to the host's default namespace. */
  namespace?: string;
  /**
   * For how many milliseconds a call is repeated when no host answers or the host is full; 0 means
   * never. While a host has the call, that time fills again as fast as it is used up without one.
   * Defaults to 30 seconds.
   */
  retryFor?: number;
  /**
   * How many milliseconds a call may take, with its repetitions. It ends the waiting, never the
   * workflow. Calls may be given another. Defaults to no limit.
   */
  timeout?: number;
  /**
   * Whether the connection is encrypted: true trusts the certificates that Node.js trusts; a buffer
   * is a certificate to trust, in PEM.
   */
  tls?: boolean | Buffer;
  /**
   * Sent with each call, for a proxy in front of the host: "authorization: Bearer TOKEN". Use it
   * over an encrypted connection.
   */
  token?: string;
}

const CONNECTION: ClientOptions = {
  // A call that waits for an answer may be silent for long; without pings it would not notice that
  // its host is gone.
  "grpc.keepalive_time_ms": 10_000,
  "grpc.keepalive_timeout_ms": 10_000,
  "grpc.initial_reconnect_backoff_ms": 50,
  "grpc.max_reconnect_backoff_ms": 2_000,
  "grpc.max_receive_message_length": -1,
  // Calls are repeated here, where it is known which may be.
  "grpc.enable_retries": 0,
};

/** A host, or a cluster of hosts; one a process is enough. It does not connect: the first call does. */
export class Cluster {
  private readonly stubs: Stubs;

  /** Connects to the host at an address, "127.0.0.1:7600". */
  constructor(address: string, options: ClusterOptions = {}) {
    const { namespace = "", retryFor = 30_000, timeout, tls = false, token } = options;
    const trust = tls === false ? credentials.createInsecure() : credentials.createSsl(tls === true ? null : tls);
    const ready = (deadline: number) => this.stubs.ready(deadline);
    this.stubs = new Stubs(address, trust, CONNECTION, new Caller(ready, retryFor, timeout, token), namespace);
  }

  /** A workflow, "deployment/Workflow", with the types of its request and result. */
  workflow<Req, Res>(name: string): Workflow<Req, Res> {
    return new Workflow(this.stubs, { workflow: name });
  }

  /** The execution of a name, "deployment/Workflow/key". It does not ask the host whether there is one. */
  run<Res>(execution: string): Run<Res> {
    return new Run(this.stubs, execution, true);
  }

  /** The entity of a type, "deployment/Type", and an id. It is there from its first operation on. */
  entity(type: string, id: string): Entity {
    return new Entity(this.stubs, `${type}/${id}`);
  }

  /** Ends the connection. Calls that are under way are ended. */
  close(): void {
    this.stubs.close();
  }
}
