/** Answers the calls of A2A 1.0, whichever binding they came through. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { singleHeader } from '@svc/kit/http/hygiene.ts';
import { HttpRefusal } from '@svc/kit/http/refusal.ts';
import type { StreamReply } from '@svc/kit/http/reply.ts';
import type { RequestHead } from '@svc/kit/http/route.ts';
import { isLong } from '@svc/kit/yield-to-loop.ts';
import { decodeMessageTags } from '@svc/protocol/message-tags.ts';
import type { TaskRecord } from '@svc/session/task/task-record.ts';
import type { TaskSource } from '@svc/session/task/task.ts';
import type { RequestSpan } from '@svc/telemetry/request-spans.ts';
import { deepest, nestsTooDeep } from '../core/bad-input.ts';
import type { DoorCore, StreamOpening } from '../core/door-core.ts';
import type { DoorStream, DoorStreamOptions } from '../core/door-stream.ts';
import { otherError } from '../core/other-error.ts';
import { a2aScopes, demand } from '../callers/scopes.ts';
import type { Principal } from '../callers/principal.ts';
import { a2aVersion } from './card.ts';
import { deliver, type Delivered, type Delivery, prepared, taskBefore, visible } from './deliver.ts';
import { A2aFault, faultOf } from './errors.ts';
import { deliveredTask, isUnary, pushed, sendMessage, unaryMethods } from './methods.ts';
import { eventJson } from './objects.ts';
import { parseSend, parseTaskRequest, type SendRequest } from './params.ts';
import type { PushConfigs } from './push/push-configs.ts';
import type { PushRequest } from './push/push-params.ts';
import { TaskStream } from './task-stream.ts';

const versionHeader = 'a2a-version';
/** A patch version is no other version (A2A 1.0, 3.6). */
const spoken = /^1\.0(?:\.\d+)?$/;

/** What a call brings along beside its params. */
export type CallRequest = Pick<RequestHead, 'headers' | 'query'>;

/** As the card names them. */
export type Binding = 'JSONRPC' | 'HTTP+JSON';

/** A call whose envelope is sound. */
export interface A2aCall {
  readonly method: string;
  readonly params: unknown;
  readonly request: CallRequest;
  readonly binding: Binding;
  /** What its binding writes around each event of a stream; asked where there is to be one. */
  readonly around: () => Pick<DoorStreamOptions, 'head' | 'tail'>;
}

/** The result as JSON text, or a stream of events. */
export type A2aAnswer = string | StreamReply;

interface Call extends A2aCall {
  readonly principal: Principal;
  readonly traceparent: string | undefined;
  readonly span: RequestSpan | null;
}

/** A message, and where its sender wants to be notified of its task. */
interface Sent {
  readonly request: SendRequest;
  readonly delivered: Delivered;
  readonly push: PushRequest | null;
}

/** The methods of A2A for one session. */
export class A2aCalls {
  readonly #core: DoorCore;
  readonly #push: PushConfigs | null;
  readonly #streams = new WeakMap<TaskRecord, TaskStream>();

  constructor(core: DoorCore, push: PushConfigs | null) {
    this.#core = core;
    this.#push = push;
  }

  /** What it is refused with is thrown, or the promise rejects with it; `faultOf` reads it. */
  answer(called: A2aCall): A2aAnswer | Promise<A2aAnswer> {
    const traceparent = traceparentOf(called.request);
    const spans = this.#core.facts.outside?.requests() ?? null;
    if (spans === null) return this.#answer(called, traceparent, null);
    const { method, binding } = called;
    const span = spans.begin({ door: 'a2a', binding, name: a2aMethods.has(method) ? method : null, traceparent });
    return spanned(span, () => this.#answer(called, span.traceparent, span));
  }

  #answer(called: A2aCall, traceparent: string | undefined, span: RequestSpan | null): A2aAnswer | Promise<A2aAnswer> {
    const { method, params, request } = called;
    checkVersion(request);
    if (nestsTooDeep(params)) throw new A2aFault('INVALID_REQUEST', `params must not nest deeper than ${deepest}`);
    const principal = this.#core.principalOf(request);
    demand(principal, a2aScopes.get(method));
    if (isUnary(method)) return unaryMethods[method](params, { principal, core: this.#core, push: this.#push });
    const call = { ...called, principal, traceparent, span };
    switch (method) {
      case 'SendMessage':
        return this.#send(call);
      case 'SendStreamingMessage':
        return this.#sendStreaming(call);
      case 'SubscribeToTask':
        return this.#subscribe(call);
      default:
        throw new A2aFault('METHOD_NOT_FOUND');
    }
  }

  /** What a call that failed is answered with. Throws what is a bug. */
  faultOf(error: unknown): A2aFault {
    if (error instanceof A2aFault) return error;
    if (!(error instanceof Diagnostic)) throw error;
    // The trace cannot be written: the session cannot go on (D1 "Task states" 2).
    this.#core.session.trap(error);
    return new A2aFault('INTERNAL');
  }

  #send(call: Call): string | Promise<string> {
    const sent = this.#sent(call);
    const { request } = sent;
    const answer = (ahead?: TaskSource['prepared']): string | Promise<string> =>
      sendMessage(request, this.#deliver(sent, ahead), { principal: call.principal, core: this.#core });
    return isLong(request.message.text) ? prepared(request.message, this.#core).then(answer) : answer();
  }

  #sendStreaming(call: Call): StreamReply | Promise<StreamReply> {
    const sent = this.#sent(call);
    const { message } = sent.request;
    if (!isLong(message.text)) return this.#stream(call, true, () => this.#deliver(sent));
    return prepared(message, this.#core).then((ahead) => this.#stream(call, true, () => this.#deliver(sent, ahead)));
  }

  /** Everything that may be wrong with it is found before anything is done. */
  #sent({ params, principal, traceparent }: Call): Sent {
    const request = parseSend(params);
    const { message, push } = request;
    if (push !== undefined) demand(principal, ['read']);
    return {
      request,
      delivered: { message, principal, traceparent },
      push: push === undefined ? null : pushed(this.#push).ofMessage(push),
    };
  }

  #deliver({ delivered, push }: Sent, ahead?: TaskSource['prepared']): Delivery {
    // In the turn that accepts the task: what is wrong with its config must not be found afterwards.
    if (push !== null) this.#push?.demandRoom(taskBefore(delivered, this.#core), push, delivered.principal);
    const delivery = deliver(delivered, this.#core, ahead);
    if (push !== null && delivery.kind === 'task') this.#push?.addTo(delivery.record, push, delivered.principal);
    return delivery;
  }

  #subscribe(call: Call): StreamReply {
    const { id } = parseTaskRequest(call.params);
    return this.#stream(call, false, () => {
      const record = visible(id, call.principal, this.#core);
      if (!record.isSettled) return { kind: 'task', record };
      throw faultOf('UNSUPPORTED_OPERATION', `The task is ${record.state}: nothing follows`, { taskId: record.id });
    });
  }

  /** The task first, then all that happens to it. */
  #stream({ around, principal, span }: Call, untilQuestion: boolean, deliverTask: () => Delivery): StreamReply {
    return this.#core.stream(principal, around(), () => {
      const delivery = deliverTask();
      const opening = this.#opening(delivery, untilQuestion);
      if (span === null) return opening;
      const { id: taskId } = delivery.kind === 'task' ? delivery.record : delivery.task;
      const onGone = (stream: DoorStream): void => {
        opening.onGone(stream);
        span.end({ errorType: null, taskId });
      };
      return { ...opening, onGone };
    });
  }

  #opening(delivery: Delivery, untilQuestion: boolean): StreamOpening {
    if (delivery.kind === 'rejected') {
      const task = deliveredTask(delivery, { historyLength: null, artifacts: true }, this.#core);
      return {
        onOpen: (stream) => {
          stream.begin(eventJson({ task }));
          stream.end();
        },
        onGone: () => {},
      };
    }
    const { record } = delivery;
    const followed = this.#streamOf(record);
    return {
      onOpen: (stream) => {
        stream.begin(followed.snapshot());
        if (record.isSettled || (untilQuestion && record.state === 'input-required')) stream.end();
        else followed.join(stream, { untilQuestion });
      },
      onGone: (stream) => followed.leave(stream),
    };
  }

  #streamOf(record: TaskRecord): TaskStream {
    const known = this.#streams.get(record);
    if (known !== undefined) return known;
    const made = new TaskStream(record, this.#core.records);
    this.#streams.set(record, made);
    return made;
  }
}

/** Every method that is answered. */
export const a2aMethods: ReadonlySet<string> = new Set([
  ...Object.keys(unaryMethods),
  'SendMessage',
  'SendStreamingMessage',
  'SubscribeToTask',
]);

/** The span ends with the answer; a stream ends its own span. */
function spanned(span: RequestSpan, call: () => A2aAnswer | Promise<A2aAnswer>): A2aAnswer | Promise<A2aAnswer> {
  const answered = (answer: A2aAnswer): A2aAnswer => {
    const end = (): void => span.end({ errorType: null, taskId: null });
    if (typeof answer !== 'string') return { ...answer, abandon: () => (answer.abandon?.(), end()) };
    end();
    return answer;
  };
  const failed = (error: unknown): never => {
    const refused = error instanceof HttpRefusal ? error.code : otherError;
    const errorType = error instanceof A2aFault ? error.reason : refused;
    span.end({ errorType, taskId: null });
    throw error;
  };
  try {
    const answer = call();
    return answer instanceof Promise ? answer.then(answered, failed) : answered(answer);
  } catch (error) {
    return failed(error);
  }
}

/** In a header, or in the query. None at all is version 0.3. */
function checkVersion({ headers, query }: CallRequest): void {
  const named = singleHeader(headers[versionHeader]) ?? versionInQuery(query) ?? '';
  if (spoken.test(named.trim())) return;
  const asked = named === '' ? '0.3 (no A2A-Version header)' : named.slice(0, 32);
  throw faultOf('VERSION_NOT_SUPPORTED', `A2A version ${asked} is not supported; this interface speaks ${a2aVersion}`, {
    supported: a2aVersion,
  });
}

function versionInQuery(query: string): string | null {
  if (query === '') return null;
  for (const [name, value] of new URLSearchParams(query)) if (name.toLowerCase() === versionHeader) return value;
  return null;
}

/** Returns the header. A header of another form counts as absent (docs/protocol.md "Sending again"). */
function traceparentOf({ headers }: CallRequest): string | undefined {
  const span = singleHeader(headers['traceparent']);
  if (span === undefined) return undefined;
  const decoded = decodeMessageTags((name) => (name === 'traceparent' ? span : undefined));
  return decoded.kind === 'tags' ? decoded.tags.traceparent : undefined;
}
