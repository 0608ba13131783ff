/** The Model Context Protocol over HTTP: `POST`, `GET` and `DELETE /mcp`, in both of its manners of today. */

import type * as Sdk from '@modelcontextprotocol/server';

import type { Clock } from '@svc/kit/clock.ts';
import { ByteQueue } from '@svc/kit/http/byte-queue.ts';
import { isJsonMediaType } from '@svc/kit/http/hygiene.ts';
import { emptyReply, jsonReply, type Reply } from '@svc/kit/http/reply.ts';
import type { HttpRequest, RequestHead } from '@svc/kit/http/route.ts';
import { webReply, webRequest } from '@svc/kit/http/web-messages.ts';
import { yieldToLoop } from '@svc/kit/yield-to-loop.ts';
import { FewAtOnce } from '@svc/kit/few-at-once.ts';
import { asJsonObject, type JsonObject } from '@svc/protocol/json-object.ts';
import { demand, mcpScopes } from '../callers/scopes.ts';
import type { DoorCore } from '../core/door-core.ts';
import { type Principal, shareOf } from '../callers/principal.ts';
import { answerSecs, createClientServer, type ServedCapsule } from './capsule-server.ts';
import { acceptedForm, answerAlone, shownAccept } from './accepted-form.ts';
import { AnswerRoom } from './answer-room.ts';
import type { AskedState } from './caller.ts';
import { ClientSessions } from './client-sessions.ts';
import { readMessage } from './read-message.ts';

/** Kept of an answer beside its type. */
const kept = ['mcp-session-id', 'allow'];

const unacceptable = 'Accept must allow application/json or text/event-stream, and the latter for GET';

/** Files that are made into messages at the same time. */
const maxReads = 2;

/** What all clients of one capsule meet. */
export function servedCapsule(
  sdk: typeof Sdk,
  capsule: Omit<ServedCapsule, 'sdk' | 'states' | 'reads'>,
  source: Pick<Clock, 'randomBytes'>,
): ServedCapsule {
  const states = sdk.createRequestStateCodec<AskedState>({ key: source.randomBytes(32), ttlSeconds: answerSecs });
  return { ...capsule, sdk, states, reads: new FewAtOnce(maxReads) };
}

/** The door of one session. */
export class McpDoor {
  readonly #core: DoorCore;
  readonly #answers: ByteQueue;
  readonly #sdk: typeof Sdk;
  readonly #sessions: ClientSessions;
  readonly #modern: Sdk.McpHttpHandler;
  /** Who sent what is being handed to the library. */
  readonly #senders = new WeakMap<Request, Principal>();
  /** What its answer may hold. */
  readonly #rooms = new WeakMap<Request, AnswerRoom>();

  private constructor(core: DoorCore, sdk: typeof Sdk) {
    this.#core = core;
    this.#answers = new ByteQueue(core.answers);
    this.#sdk = sdk;
    const { name, version } = core.card;
    const capsule = servedCapsule(
      sdk,
      {
        about: { name, version, description: core.facts.description },
        binding: 'HTTP',
        spans: () => core.facts.outside?.requests() ?? null,
        roomOf: (request) => this.#rooms.get(request),
        core: () => core,
      },
      core.session.clock,
    );
    this.#sessions = new ClientSessions(capsule, core.session.clock);
    this.#modern = sdk.createMcpHandler(
      ({ requestInfo }) => {
        const principal = requestInfo === undefined ? undefined : this.#senders.get(requestInfo);
        if (principal === undefined) throw new Error('a request comes with who sent it');
        return createClientServer(capsule, () => principal).server;
      },
      // An answer may be longer in coming than a client waits for its head.
      { responseMode: 'sse', legacy: 'reject' },
    );
    core.session.events.onEnd(() => void this.#close());
  }

  /** Loads the library. */
  static async open(core: DoorCore): Promise<McpDoor> {
    return new McpDoor(core, await import('@modelcontextprotocol/server'));
  }

  async handle(request: RequestHead | HttpRequest): Promise<Reply> {
    if (!('body' in request)) {
      // A stream of events has no head that could be asked for alone.
      return request.method === 'HEAD'
        ? emptyReply(405, { allow: 'GET, POST, DELETE' })
        : await this.#serve(request, null);
    }
    if (!isJsonMediaType(request.headers['content-type']))
      return refused(415, -32_000, 'Content-Type must be application/json');
    const read = await readMessage(request.body);
    request.release();
    return read.kind === 'fault' ? refused(400, read.code, read.why) : await this.#serve(request, read.message);
  }

  async #serve(head: RequestHead, message: JsonObject | null): Promise<Reply> {
    const principal = this.#core.principalOf(head);
    const form = acceptedForm(head.headers['accept'], message?.['method']);
    if (form === null || (form === 'json' && head.method === 'GET')) return refused(406, -32_000, unacceptable);
    if (message !== null) demandFor(message, principal);
    const leave = this.#core.place(principal);
    const room = new AnswerRoom(this.#answers, shareOf(principal));
    const giveBack = (): void => {
      room.end();
      leave();
    };
    let reply: Reply | null = null;
    let closed = (): void => {};
    try {
      const headers = { ...head.headers, accept: shownAccept[form] };
      const request = webRequest({ ...head, headers }, isOfProtocol);
      this.#rooms.set(request, room);
      if (await this.#sdk.isLegacyRequest(request, message ?? undefined)) {
        const { response, opened } = await this.#sessions.handle(request, message, principal);
        reply = await webReply(response, kept);
        if (reply.kind === 'readable') closed = opened();
      } else {
        this.#senders.set(request, principal);
        reply = await webReply(await this.#modern.fetch(request, { parsedBody: message }), kept);
      }
      // Its source ends long before a client has taken a long answer.
      if (reply.kind !== 'readable') return reply;
      const alone = { contentType: 'application/json', source: answerAlone(reply.source) };
      return { ...reply, ...(form === 'json' ? alone : {}), onDone: giveBack };
    } finally {
      if (reply?.kind !== 'readable') giveBack();
      else {
        const { source } = reply;
        const release = this.#core.whileHeld(principal, () => source.destroy());
        source.once('close', () => {
          release();
          closed();
        });
      }
    }
  }

  /** Its tasks are over, so what is answered to calls has been said, and goes out first. */
  async #close(): Promise<void> {
    await yieldToLoop();
    await Promise.all([this.#sessions.close(), this.#modern.close()]);
  }
}

function isOfProtocol(header: string): boolean {
  return header === 'accept' || header === 'content-type' || header === 'traceparent' || header.startsWith('mcp-');
}

/** Throws the refusal 403 of a token that may not do this. What is no request answers a question. */
function demandFor({ method, params }: JsonObject, principal: Principal): void {
  if (typeof method !== 'string') return demand(principal, ['answer']);
  demand(principal, mcpScopes.get(method));
  if (method === 'tools/call' && isAnswer(asJsonObject(params) ?? {})) demand(principal, ['answer']);
}

function isAnswer({ arguments: given, inputResponses, requestState }: JsonObject): boolean {
  const taskId = asJsonObject(given)?.['task_id'] ?? '';
  return taskId !== '' || inputResponses !== undefined || requestState !== undefined;
}

function refused(status: number, code: number, message: string): Reply {
  return jsonReply({ jsonrpc: '2.0', id: null, error: { code, message } }, status);
}
