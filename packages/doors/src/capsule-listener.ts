/** The HTTP routes of a running capsule. */

import { runYielding } from '@svc/kit/yield-to-loop.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { isJsonMediaType, singleHeader } from '@svc/kit/http/hygiene.ts';
import { HttpRefusal } from '@svc/kit/http/refusal.ts';
import type { ByteBudget } from '@svc/kit/http/byte-budget.ts';
import { emptyReply, jsonReply, type Reply } from '@svc/kit/http/reply.ts';
import type { HttpRequest, RequestHead, Route } from '@svc/kit/http/route.ts';
import { type AgentCard, agentCardPath } from '@svc/protocol/agent-card.ts';
import {
  briefBody,
  encodeJsonRpcFault,
  encodeJsonRpcResult,
  JsonRpcFault,
  type JsonRpcRefusedRequest,
  type JsonRpcRequest,
  parseJsonRpcRequest,
  readJsonRpcRequest,
} from '@svc/protocol/json-rpc.ts';
import { childMethod, eventsHeader, eventsVersion, methodsBeyond } from '@svc/protocol/asked-events.ts';
import { parseMessage } from '@svc/protocol/message.ts';
import { type ResourceDoor, resourceRoute } from '@svc/session/files/resource-routes.ts';
import type { DoorName } from '@svc/artifacts/manifest/door-names.ts';
import { type Callers, onlyCaller } from './callers/callers.ts';
import { doorRoutes, Doors } from './doors.ts';
import type { DoorFacts, DoorSession } from './core/door-core.ts';
import type { ChildrenDoor } from './own/child-questions.ts';
import type { EventStreams, StreamedSession } from './own/event-streams.ts';
import {
  answerTask,
  cancelTask,
  type DelegationDoor,
  getTask,
  type MethodDeps,
  type ReceivedMessage,
  receiveLongMessage,
  sendMessage,
  stopSession,
  submitMessage,
} from './own/methods.ts';
import { demand, may, methodScopes } from './callers/scopes.ts';

/** Largest body of `POST /` (docs/protocol.md "Limits"). */
const maxBodyBytes = 10 * 1024 * 1024;

export interface CapsuleDoor extends Omit<StreamedSession, 'callers'> {
  /** The name of clients that show no door token: `operator` where they show the listener token, else `local`. */
  readonly principal: string;
  /** Absent where it knows no others. */
  readonly callers?: Callers;
  readonly card: AgentCard;
  readonly delegation: DelegationDoor;
  /** Absent where it starts none that ask. */
  readonly children?: ChildrenDoor;
  readonly residue: () => readonly unknown[];
  /** Everything under `/resources/`. */
  readonly resources: ResourceDoor;
  /** What doors say of the capsule; absent where it serves none. */
  readonly facts?: () => Promise<DoorFacts>;
}

/** The doors that a capsule has beside its own. */
export interface ServedDoors {
  /** Their names (docs/doors.md). */
  readonly serve: readonly DoorName[];
  /** The budget of the server on which the doors are. */
  readonly answers: ByteBudget;
}

/**
 * The card, `POST /` and the resource planes of a capsule (D1 "HTTP routes of a running capsule"). `door` resolves when the session is ready:
 * a request that comes right after the port is bound waits for it.
 */
export function capsuleRoutes(door: Promise<CapsuleDoor>, served: ServedDoors | null = null): readonly Route[] {
  const ready = new ReadyDoor(door, served);
  return [
    {
      method: 'GET',
      path: agentCardPath,
      open: true,
      body: 'unread',
      handle: (request) => ready.use(({ doors, cardReply }) => doors?.card(request) ?? cardReply),
    },
    {
      method: 'POST',
      path: '/',
      body: 'whole',
      maxBytes: maxBodyBytes,
      handle: (request) => {
        // D1: no JSON content type, or no body, is not the endpoint at all.
        if (!isJsonMediaType(request.headers['content-type']) || request.body.length === 0) return emptyReply(404);
        return ready.use(({ dispatch }) => dispatch.handle(request));
      },
    },
    resourceRoute({
      answer: (request) => ready.use((open) => readFiles(open, request)),
      refused: (path, refusal) => ready.refused(path, refusal),
    }),
    ...doorRoutes(served?.serve ?? [], (answer) =>
      ready.use(({ doors }) => {
        if (doors === null) throw new Error('a capsule that serves doors opens them');
        return answer(doors);
      }),
    ),
  ];
}

function readFiles({ resources, callers }: OpenDoor, request: RequestHead): Reply | Promise<Reply> {
  try {
    demand(callers.principalOf(request), ['read']);
  } catch (error) {
    if (error instanceof HttpRefusal) resources.refused(request.path, error);
    throw error;
  }
  return resources.answer(request);
}

function doorsOf(session: Omit<DoorSession, 'answers'>, served: ServedDoors | null): Doors | null {
  if (served === null || served.serve.length === 0) return null;
  return new Doors({ ...session, answers: served.answers }, served.serve);
}

interface OpenDoor {
  readonly resources: ResourceDoor;
  readonly callers: Callers;
  readonly dispatch: Dispatch;
  readonly cardReply: Reply;
  /** It is null where the capsule serves no doors. */
  readonly doors: Doors | null;
}

const maxEarly = 64;

/** Hands the door on without a promise once it is open, which is what nearly every request meets. */
class ReadyDoor {
  readonly #opening: Promise<OpenDoor>;
  #open: OpenDoor | null = null;
  /** Refused before there was a record: the first ones, and how many more by their codes. */
  readonly #early: { readonly path: string; readonly refusal: HttpRefusal }[] = [];
  readonly #more = new Map<string, { readonly refusal: HttpRefusal; readonly count: number }>();

  constructor(door: Promise<CapsuleDoor>, served: ServedDoors | null) {
    this.#opening = door.then((opened) => {
      const { card, facts, resources, callers = onlyCaller(opened.principal) } = opened;
      this.#open = {
        callers,
        dispatch: new Dispatch(opened, callers),
        cardReply: jsonReply(card),
        resources,
        doors: facts === undefined ? null : doorsOf({ ...opened, callers, facts }, served),
      };
      this.#recordEarly(opened.resources);
      return this.#open;
    });
    // A launch that fails closes the listener; a client that waits loses the connection.
    this.#opening.catch(() => undefined);
  }

  /** Recorded as soon as there is a record; a launch that fails has none. */
  refused(path: string, refusal: HttpRefusal): void {
    if (this.#open !== null) this.#open.resources.refused(path, refusal);
    else if (this.#early.length < maxEarly) this.#early.push({ path, refusal });
    else {
      const more = this.#more.get(refusal.code)?.count ?? 0;
      this.#more.set(refusal.code, { refusal, count: more + 1 });
    }
  }

  #recordEarly({ refused, counted }: ResourceDoor): void {
    for (const { path, refusal } of this.#early.splice(0)) refused(path, refusal);
    for (const { refusal, count } of this.#more.values()) counted(refusal, count);
    this.#more.clear();
  }

  use(answer: (door: OpenDoor) => Reply | Promise<Reply>): Reply | Promise<Reply> {
    return this.#open === null ? this.#opening.then(answer) : answer(this.#open);
  }
}

/** The card does not list these: they are there only for those who ask for what is beyond the specification. */
const isBeyond = (method: string): boolean => (methodsBeyond as readonly string[]).includes(method);

const messageMethods: ReadonlySet<string> = new Set(['message/send', 'message/stream']);

/** JSON-RPC methods of one session; the card's `serves.methods` decides which exist. */
class Dispatch {
  readonly #deps: Omit<MethodDeps, 'principal'>;
  readonly #callers: Callers;
  readonly #streamed: StreamedSession;
  readonly #children: ChildrenDoor | undefined;
  /** It is null until somebody asks for a stream. */
  #streams: EventStreams | null = null;
  readonly #served: ReadonlySet<string>;

  constructor(door: CapsuleDoor, callers: Callers) {
    const { session, delegation, residue, children } = door;
    this.#children = children;
    this.#deps = { session, delegation, residue };
    this.#callers = callers;
    this.#streamed = { ...door, callers };
    this.#served = new Set(door.card.serves.methods);
  }

  handle(request: HttpRequest): Reply | Promise<Reply> {
    if (request.body.length > briefBody) return this.#handleLong(request);
    return this.#answer(parseJsonRpcRequest(request.body), request);
  }

  /** Nothing waits for a body of megabytes to be read: it is done in turns of the event loop. */
  async #handleLong(request: HttpRequest): Promise<Reply> {
    return await this.#answerLong(await runYielding(readJsonRpcRequest(request.body)), request);
  }

  async #answerLong(parsed: JsonRpcRequest | JsonRpcRefusedRequest, request: HttpRequest): Promise<Reply> {
    const brings = parsed.kind === 'request' && this.#served.has(parsed.method) && messageMethods.has(parsed.method);
    if (brings) demand(this.#callers.principalOf(request), methodScopes.get(parsed.method));
    return this.#answer(
      parsed,
      request,
      brings ? await receiveLongMessage(parsed.params, this.#deps.session) : undefined,
    );
  }

  #answer(
    parsed: JsonRpcRequest | JsonRpcRefusedRequest,
    request: HttpRequest,
    received?: ReceivedMessage,
  ): Reply | Promise<Reply> {
    if (parsed.kind === 'fault') return reply(encodeJsonRpcFault(parsed.id, parsed.fault));
    try {
      const answer = this.#call(parsed, request, received);
      if (isStream(answer)) return answer;
      if (!(answer instanceof Promise)) return reply(encodeJsonRpcResult(parsed.id, answer));
      return answer.then(
        (result) => (isStream(result) ? result : reply(encodeJsonRpcResult(parsed.id, result))),
        (error: unknown) => this.#failed(parsed, error),
      );
    } catch (error) {
      return this.#failed(parsed, error);
    }
  }

  #call({ method, params }: JsonRpcRequest, request: HttpRequest, received?: ReceivedMessage): unknown {
    const { headers } = request;
    const principal = this.#callers.principalOf(request);
    if (method === childMethod && asksForEvents(headers)) {
      const children = this.#children;
      return import('./own/child-questions.ts').then((own) => own.hearChild(params, { principal, children }));
    }
    const isServed = this.#served.has(method) || (isBeyond(method) && asksForEvents(headers));
    if (!isServed) throw new JsonRpcFault('method-not-found');
    demand(principal, methodScopes.get(method));
    // Fast path: clients poll `tasks/get`, so allocate nothing.
    if (method === 'tasks/get') return getTask(params, this.#deps);
    const deps = { ...this.#deps, principal };
    const stream = { lastEventId: singleHeader(headers['last-event-id']), principal };
    switch (method) {
      case 'message/send':
        return sendMessage(received ?? { parsed: parseMessage(params) }, headers, {
          ...deps,
          namesAnswers: asksForEvents(headers) || !may(principal, 'answer'),
        });
      case 'message/stream':
        return this.#open((streams) =>
          streams.submit(() => submitMessage(received ?? { parsed: parseMessage(params) }, headers, deps), stream),
        );
      case 'stream/watch':
        return this.#open((streams) =>
          asksForEvents(headers) ? streams.watchWithEvents(stream) : streams.watch(stream),
        );
      case 'tasks/cancel':
        return cancelTask(params, deps);
      case 'tasks/answer':
        return answerTask(params, deps);
      case 'tasks/command':
        return import('./own/typed-command.ts').then((own) => own.runCommand(params, deps));
      case 'approvals/list':
        return import('./own/approvals.ts').then((own) => own.listApprovals(deps.session));
      case 'approvals/answer':
        return import('./own/approvals.ts').then((own) => own.answerApproval(params, deps));
      case 'session/stop':
        return stopSession(deps);
      default:
        throw new JsonRpcFault('method-not-found');
    }
  }

  #open(stream: (streams: EventStreams) => Reply | Promise<Reply>): Reply | Promise<Reply> {
    return this.#streams === null ? this.#openFirst(stream) : stream(this.#streams);
  }

  async #openFirst(stream: (streams: EventStreams) => Reply | Promise<Reply>): Promise<Reply> {
    const { EventStreams } = await import('./own/event-streams.ts');
    this.#streams ??= new EventStreams(this.#streamed);
    return await stream(this.#streams);
  }

  #failed({ id }: JsonRpcRequest, error: unknown): Reply {
    if (error instanceof JsonRpcFault) return reply(encodeJsonRpcFault(id, error));
    if (!(error instanceof Diagnostic)) throw error;
    // The trace cannot be written: the session cannot go on (D1 "Task states" 2).
    this.#deps.session.trap(error);
    return reply(encodeJsonRpcFault(id, new JsonRpcFault('internal-error')));
  }
}

/** True for one header with the value `1`. Anything else gets the specified protocol only. */
function asksForEvents(headers: HttpRequest['headers']): boolean {
  return singleHeader(headers[eventsHeader]) === eventsVersion;
}

function reply(text: string): Reply {
  return { kind: 'json', status: 200, text };
}

function isStream(answer: unknown): answer is Extract<Reply, { kind: 'stream' }> {
  return typeof answer === 'object' && answer !== null && 'kind' in answer && answer.kind === 'stream';
}
