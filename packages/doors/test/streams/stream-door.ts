import { afterEach } from 'vitest';

import { emptyReply } from '@svc/kit/http/reply.ts';
import { HttpServer } from '@svc/kit/http/server.ts';
import { capsuleRoutes } from '../../src/capsule-listener.ts';
import { agentCard } from '@svc/protocol/agent-card.ts';
import type { EventId, NumberedFrame } from '@svc/protocol/frames.ts';
import type { TaskId } from '@svc/protocol/ids.ts';
import { OpenDelegations } from '../../../../test/support/open-delegations.ts';
import { postBytes } from '../../../../test/support/raw-socket.ts';
import { SessionFixture, type FixtureOptions } from '../../../../test/support/session-fixture.ts';
import { StreamReader } from './stream-reader.ts';

/** The task of every frame that a test publishes itself. */
export const taskId = 'tsk_0190a1b2c3d4e5f60718293a4b5c6d7e' as TaskId;

/** The acknowledgement of a stateless capsule, byte for byte. */
export const ack = 'event: connection-ack\ndata: {"role":"observer","conversation_mode":"stateless"}\n\n';

/** What the sessions of these doors keep secret. */
export const canary = 'k-4711-canary';

/** Params of a message that is taken. */
export const hello = { message: { messageId: 'm1', role: 'user', parts: [{ text: 'Hello.' }] } };

export interface DoorOptions extends Partial<FixtureOptions> {
  readonly conversationMode?: 'stateless' | 'threaded';
  /** Called while the completion of an open delegation is handed over; none is open without it. */
  readonly onCompletion?: () => void;
}

/** The HTTP door of a session whose tasks and frames a test has in hand. Its readers are gone after the test. */
export class StreamDoor {
  readonly fixture: SessionFixture;
  readonly #server: HttpServer;
  readonly port: number;
  readonly #readers: StreamReader[] = [];
  readonly bugs: unknown[];

  private constructor(fixture: SessionFixture, listening: { server: HttpServer; port: number; bugs: unknown[] }) {
    this.fixture = fixture;
    this.#server = listening.server;
    this.port = listening.port;
    this.bugs = listening.bugs;
  }

  static async open(options: DoorOptions): Promise<StreamDoor> {
    const acceptance = { afterTask: 'sleep', ...options.acceptance } as const;
    const fixture = new SessionFixture({ turns: [], ...options, acceptance });
    const { conversationMode = 'stateless', onCompletion } = options;
    const door = {
      session: fixture.session,
      card: cardOf(fixture, options.acceptance?.taskAcceptance ?? 'queue'),
      principal: 'local',
      conversationMode,
      containment: 'sealed',
      redact: (text: string) => text.replaceAll(canary, '[secret]'),
      delegation: {
        open: (id: string) => {
          onCompletion?.();
          return onCompletion === undefined ? null : new OpenDelegations({ [id]: 'untrusted' }).open(id);
        },
      },
      residue: () => [],
      resources: { answer: () => emptyReply(404), refused: () => {}, counted: () => {} },
    };
    const bugs: unknown[] = [];
    const routes = capsuleRoutes(Promise.resolve(door));
    const server = new HttpServer({ routes, token: null, onBug: (bug) => bugs.push(bug) });
    const bound = await server.bind({ address: '127.0.0.1', port: 0 });
    if (bound.kind !== 'bound') throw new Error('no port');
    return new StreamDoor(fixture, { server, port: bound.port, bugs });
  }

  /** A connection that has sent nothing yet. */
  async connect(): Promise<StreamReader> {
    const reader = await StreamReader.open(this.port);
    this.#readers.push(reader);
    return reader;
  }

  /** A connection that has sent one call. */
  async call(method: string, params: unknown, headers: readonly string[] = []): Promise<StreamReader> {
    const reader = await this.connect();
    reader.send(callBytes(method, params, headers));
    return reader;
  }

  /** A `stream/watch` that is served: every frame from now on is for it. */
  async watch(headers: readonly string[] = []): Promise<StreamReader> {
    const reader = await this.call('stream/watch', {}, headers);
    return await reader.until('event: connection-ack\n');
  }

  /** A `message/stream` that is served, its task waiting in the queue: every frame from now on is for it. */
  async submit(headers: readonly string[] = []): Promise<StreamReader> {
    const reader = await this.call('message/stream', hello, headers);
    return await reader.untilHead();
  }

  /** Publishes a `text` frame; its text is its id where none is given. */
  text(id: EventId, text = `${id}`): void {
    this.fixture.stream.publish(id, { event: 'text', taskId, text, final: false });
  }

  /** Publishes the final status of a completed task. */
  completed(id: EventId): void {
    const frame = { event: 'status', taskId, state: 'completed', message: 'session ended', final: true } as const;
    this.fixture.stream.publish(id, frame satisfies NumberedFrame);
  }

  async close(): Promise<void> {
    for (const reader of this.#readers) reader.socket.destroy();
    await this.#server.close(0);
    if (this.bugs.length > 0) throw new Error('a handler failed', { cause: this.bugs[0] });
  }
}

/** An opener of doors, which are closed after the test; a bug in a handler fails it. */
export function useStreamDoors(): (options?: DoorOptions) => Promise<StreamDoor> {
  const doors: StreamDoor[] = [];
  afterEach(async () => {
    await Promise.all(doors.splice(0).map((door) => door.close()));
  });
  return async (options = {}) => {
    const door = await StreamDoor.open(options);
    doors.push(door);
    return door;
  };
}

/** One JSON-RPC call as the bytes of a request; without `params` where they are undefined. */
export function callBytes(method: string, params: unknown, headers: readonly string[] = []): string {
  return postBytes(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), headers);
}

/** The bytes of what `StreamDoor.text` publishes. */
export function textBytes(id: EventId | number, text = `${id}`): string {
  return `id: ${id}\nevent: text\ndata: {"id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","text":"${text}","final":false}\n\n`;
}

/** The bytes of what `StreamDoor.completed` publishes. */
export function completedBytes(id: EventId | number): string {
  return `id: ${id}\nevent: status\ndata: {"id":"tsk_0190a1b2c3d4e5f60718293a4b5c6d7e","status":{"state":"completed","message":"session ended"},"final":true}\n\n`;
}

function cardOf(fixture: SessionFixture, taskAcceptance: 'none' | 'single' | 'queue'): ReturnType<typeof agentCard> {
  return agentCard({
    name: 'demo',
    version: '1.2.3',
    url: 'localhost:1',
    sessionId: fixture.session.id,
    tools: [],
    shellAllow: [],
    networkAllow: [],
    taskAcceptance,
    exports: { files: false, peer_files: false },
  });
}
