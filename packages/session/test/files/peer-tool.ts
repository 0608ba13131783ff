import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { parseDestination, type NetworkDestination } from '@svc/kit/net/network-destination.ts';
import type { Tool, ToolOutcome } from '../../src/tools/tool.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import { aloneCall } from '../../../../test/support/quiet-calls.ts';

export interface CalledTool extends ToolOutcome {
  readonly events: readonly TraceEvent[];
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Whether the trace takes what is recorded. */
  readonly records?: boolean;
  /** Where what is recorded goes, for a call that rejects. */
  readonly events?: TraceEvent[];
}

/** Calls a tool as the agent loop would, and keeps what it recorded. */
export async function callTool(
  tool: Tool,
  args: Readonly<Record<string, unknown>>,
  { signal = new AbortController().signal, records = true, events = [] }: CallOptions = {},
): Promise<CalledTool> {
  const record = (event: TraceEvent): boolean => {
    events.push(event);
    return records;
  };
  const outcome = await tool.call(args, {
    ...aloneCall,
    record,
    taskId: 'tsk_1',
    callId: 'call_1',
    signal,
    emitText: () => undefined,
    emitThinking: () => undefined,
    requestInput: () => Promise.reject(new Error('nothing is asked')),
  });
  return { ...outcome, events };
}

export function allowed(...entries: readonly string[]): readonly NetworkDestination[] {
  return entries.map((entry) => {
    const reading = parseDestination(entry);
    if (reading.kind === 'malformed') throw new Error(reading.reason);
    return reading.destination;
  });
}

/** An HTTP server on loopback in the place of a peer. */
export class FakePeer {
  readonly requests: IncomingMessage[] = [];
  connections = 0;
  readonly #server: Server;

  private constructor(answer: RequestListener) {
    this.#server = createServer((request, response) => {
      this.requests.push(request);
      answer(request, response);
    });
    this.#server.on('connection', () => (this.connections += 1));
  }

  static async open(answer: RequestListener): Promise<FakePeer> {
    const peer = new FakePeer(answer);
    peer.#server.listen(0, '127.0.0.1');
    await once(peer.#server, 'listening');
    return peer;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** `host:port` */
  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}
