/** Sums what a session sent to each host and got from it. */

import type { Socket } from 'node:net';

import type { TraceEvent } from '@svc/record/trace/events.ts';

type EgressLine = Extract<TraceEvent, { readonly event_type: 'egress' }>;

/** Programs choose the hosts: further ones are summed as one. */
const maxHosts = 1_000;
/** Limit for what a session reports of its grants. */
const maxInEvidence = 200;

interface Endpoint {
  readonly host: string;
  readonly port: number;
  /** Who connects: `programs`, or the name of an artifact. */
  readonly by: string;
}

interface Sum extends Endpoint {
  readonly allowed: boolean;
  connections: number;
  bytesIn: number;
  bytesOut: number;
}

type Added = Endpoint & Pick<Sum, 'allowed'> & Partial<Pick<Sum, 'connections' | 'bytesIn' | 'bytesOut'>>;

type Counted = Pick<Socket, 'bytesRead' | 'bytesWritten'>;

/** Connections and bytes by host, port and who connects. */
export class EgressSums {
  readonly #sums = new Map<string, Sum>();
  readonly #open = new Map<Counted, Endpoint>();

  add({ host, port, by, allowed, connections = 0, bytesIn = 0, bytesOut = 0 }: Added): void {
    const sum = this.#sumOf({ host, port, by, allowed });
    sum.connections += connections;
    sum.bytesIn += bytesIn;
    sum.bytesOut += bytesOut;
  }

  /** Adds the bytes of a connection once it is closed, or those so far where the session ends before. */
  follow(endpoint: Endpoint, socket: Counted & Pick<Socket, 'once'>): void {
    this.#open.set(socket, endpoint);
    socket.once('close', () => this.#take(socket));
  }

  /** In the order of hosts. Nothing is open any more after it. */
  lines(): readonly EgressLine[] {
    for (const socket of this.#open.keys()) this.#take(socket);
    return [...this.#sums].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => lineOf(sum));
  }

  /** How often each was connected to, and how often that was refused. */
  hosts(): Record<string, { used: number; refused: number }> {
    const hosts = new Map<string, { used: number; refused: number }>();
    for (const { host, port, allowed, connections } of this.#sums.values()) {
      const name = host === others ? others : `${host}:${port}`;
      const known = hosts.get(name) ?? { used: 0, refused: 0 };
      known[allowed ? 'used' : 'refused'] += connections;
      hosts.set(name, known);
    }
    const most = [...hosts].toSorted(([, a], [, b]) => b.used + b.refused - a.used - a.refused);
    return Object.fromEntries(most.slice(0, maxInEvidence).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  #take(socket: Counted): void {
    const endpoint = this.#open.get(socket);
    if (!this.#open.delete(socket) || endpoint === undefined) return;
    const { bytesRead: bytesIn, bytesWritten: bytesOut } = socket;
    this.add({ ...endpoint, allowed: true, bytesIn, bytesOut });
  }

  #sumOf({ host, port, by, allowed }: Endpoint & Pick<Sum, 'allowed'>): Sum {
    const own = `${host}:${port} ${by} ${allowed}`;
    const isFull = this.#sums.size >= maxHosts && !this.#sums.has(own);
    const key = isFull ? `${others} ${by} ${allowed}` : own;
    let sum = this.#sums.get(key);
    if (sum === undefined) {
      const place = isFull ? { host: others, port: 0 } : { host, port };
      sum = { ...place, by, allowed, connections: 0, bytesIn: 0, bytesOut: 0 };
      this.#sums.set(key, sum);
    }
    return sum;
  }
}

const others = '*';

function lineOf({ host, port, allowed, by, connections, bytesIn, bytesOut }: Sum): EgressLine {
  return {
    event_type: 'egress',
    host,
    port,
    allowed,
    by,
    connections,
    bytes_in: bytesIn,
    bytes_out: bytesOut,
  };
}
