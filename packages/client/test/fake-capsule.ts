import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { onTestFinished } from 'vitest';

import { agentCard } from '@svc/protocol/agent-card.ts';
import type { ContextId, TaskId } from '@svc/protocol/ids.ts';
import { encodeConnectionFrame, encodeNumberedFrame, type NumberedFrame } from '@svc/protocol/frames.ts';
import { encodeLiveEvent } from '@svc/protocol/live-events.ts';
import { encodeJsonRpcFault, encodeJsonRpcResult, JsonRpcFault } from '@svc/protocol/json-rpc.ts';
import { encodeTask, type TaskFacts } from '@svc/protocol/task-object.ts';

export const taskId = 'tsk_1' as TaskId;

/** One connection of a watch; what it writes is up to the test. */
export interface Watcher {
  readonly lastEventId: string | undefined;
  /** As its request has it. */
  readonly eventsHeader: string | undefined;
  readonly response: ServerResponse;
  write(text: string): void;
  /** Without a word. */
  cut(): void;
}

export interface FakeOptions {
  /** Plays one connection of `stream/watch`, the first of which is 0. */
  readonly watch?: (watcher: Watcher, index: number) => void;
  /** Serves live events to those who ask for them. */
  readonly hasEvents?: boolean;
  /** Answers a call by its result; a fault is thrown. */
  readonly call?: (method: string, params: Readonly<Record<string, unknown>>) => unknown;
  readonly card?: (usual: Readonly<Record<string, unknown>>) => unknown;
  /** Answers any other request. */
  readonly other?: (request: IncomingMessage, response: ServerResponse) => void;
}

/** A server with the door of a capsule, which lies when a test wants that. */
export class FakeCapsule {
  readonly calls: { method: string; params: Readonly<Record<string, unknown>>; headers: IncomingMessage['headers'] }[] =
    [];
  readonly watchers: Watcher[] = [];
  readonly #options: FakeOptions;
  readonly #server: Server;

  private constructor(options: FakeOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async open(options: FakeOptions = {}): Promise<FakeCapsule> {
    const capsule = new FakeCapsule(options);
    capsule.#server.listen(0, '127.0.0.1');
    await once(capsule.#server, 'listening');
    onTestFinished(() => {
      capsule.#server.closeAllConnections();
      capsule.#server.close();
    });
    return capsule;
  }

  get url(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Without a word to anybody. */
  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const json = { 'content-type': 'application/json' };
    if (request.url === '/.well-known/agent-card.json') {
      const exports = { files: true, peer_files: true };
      const facts = { name: 'fake', version: '1.0.0', url: this.url, sessionId: 'ses_1', tools: [], shellAllow: [] };
      const usual = agentCard({ ...facts, networkAllow: [], taskAcceptance: 'queue', exports });
      response.writeHead(200, json).end(JSON.stringify(this.#options.card?.({ ...usual }) ?? usual));
      return;
    }
    if (request.method !== 'POST' || request.url !== '/') return this.#options.other?.(request, response);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method, params } = JSON.parse(Buffer.concat(chunks).toString()) as {
      method: string;
      params: Readonly<Record<string, unknown>>;
    };
    this.calls.push({ method, params, headers: request.headers });
    if (method === 'stream/watch') return this.#watch(request, response);
    try {
      response.writeHead(200, json).end(encodeJsonRpcResult(1, this.#options.call?.(method, params)));
    } catch (error) {
      if (!(error instanceof JsonRpcFault)) throw error;
      response.end(encodeJsonRpcFault(1, error));
    }
  }

  #watch(request: IncomingMessage, response: ServerResponse): void {
    const hasEvents = this.#options.hasEvents === true && request.headers['svc-events'] === '1';
    response.writeHead(200, { 'content-type': 'text/event-stream', ...(hasEvents ? { 'svc-events': '1' } : {}) });
    response.flushHeaders();
    const watcher: Watcher = {
      lastEventId: request.headers['last-event-id'] as string | undefined,
      eventsHeader: request.headers['svc-events'] as string | undefined,
      response,
      write: (text) => void response.write(text),
      cut: () => response.socket?.resetAndDestroy(),
    };
    this.watchers.push(watcher);
    this.#options.watch?.(watcher, this.watchers.length - 1);
  }
}

export const acknowledgement: string = encodeConnectionFrame({
  event: 'connection-ack',
  conversationMode: 'stateless',
});
export const closed: string = encodeConnectionFrame({ event: 'capsule-closed' });
export const gap = (id: bigint): string => encodeConnectionFrame({ event: 'gap', firstAvailableId: id });

export function text(id: bigint, said: string, task: TaskId = taskId): string {
  return encodeNumberedFrame(id, { event: 'text', taskId: task, text: said, final: false });
}

export function status(
  id: bigint,
  state: Extract<NumberedFrame, { event: 'status' }>['state'],
  { message = state, task = taskId }: { readonly message?: string; readonly task?: TaskId } = {},
): string {
  const final = state === 'completed' || state === 'failed' || state === 'canceled';
  const frame = { event: 'status', taskId: task, message, final } as const;
  if (state !== 'input-required') return encodeNumberedFrame(id, { ...frame, state });
  return encodeNumberedFrame(id, { ...frame, state, contextId: 'ctx_1' as ContextId, final: false });
}

export function taskObject(facts: Partial<TaskFacts>): unknown {
  const usual = { id: taskId, contextId: 'ctx_1', state: 'working', message: null, prompt: null, response: null };
  return encodeTask({ ...usual, ...facts });
}

/** The snapshot of a session with one task, which asks this. */
export function snapshot(asked: { waitId: string; prompt: string } | null): string {
  const question = asked === null ? null : { taskId, ...asked };
  return encodeLiveEvent({
    event: 'snapshot',
    sessionId: 'ses_1',
    name: 'fake',
    version: '1.0.0',
    model: 'm',
    containment: 'sealed',
    methods: ['tasks/answer'],
    usage: { inputTokens: 1, outputTokens: 2 },
    tasks: [{ taskId, contextId: 'ctx_1', state: 'input-required', origin: 'message', text: 'Paint.', question }],
    tasksLeftOut: 0,
  });
}
