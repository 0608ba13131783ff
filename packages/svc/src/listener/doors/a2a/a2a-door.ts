/** A2A 1.0 over JSON-RPC: `POST /a2a`. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { singleHeader } from '@svc/kit/http/hygiene.ts';
import type { Reply, StreamReply } from '@svc/kit/http/reply.ts';
import type { HttpRequest } from '@svc/kit/http/route.ts';
import { ownTurn } from '@svc/kit/own-turn.ts';
import {
  briefBody,
  type JsonRpcId,
  type JsonRpcRefusedRequest,
  type JsonRpcRequest,
  parseJsonRpcRequest,
  readJsonRpcRequest,
} from '@svc/protocol/json-rpc.ts';
import { decodeMessageTags } from '@svc/protocol/message-tags.ts';
import type { TaskRecord } from '../../../session/task-record.ts';
import { isLong } from '@svc/kit/own-turn.ts';
import { nestsTooDeep } from '../bad-input.ts';
import type { DoorCore, StreamOpening } from '../door-core.ts';
import type { Principal } from '../principal.ts';
import { a2aVersion } from './card.ts';
import { deliver, type Delivered, type Delivery, prepared, visible } from './deliver.ts';
import { A2aFault, encodeFault, faultOf, ofJsonRpc } from './errors.ts';
import { deliveredTask, isUnary, sendMessage, unaryMethods } from './methods.ts';
import { parseSend, parseTaskRequest, type SendRequest } from './params.ts';
import { TaskStream } from './task-stream.ts';
import { a2aScopes, demand } from '../../scopes.ts';

const versionHeader = 'a2a-version';
/** A patch version is no other version (A2A 1.0, 3.6). */
const spoken = /^1\.0(?:\.\d+)?$/;
const jsonTypes = /^application\/(?:json|a2a\+json)[ \t]*(?:;|$)/i;
/** Of the id of a call, which every event of its stream repeats. */
const longestCallId = 256;

const notJson = new A2aFault('CONTENT_TYPE_NOT_SUPPORTED', 'Content type is not supported: send application/json');

/** A call whose envelope is sound. */
interface Call {
  readonly id: JsonRpcId;
  readonly method: string;
  readonly params: unknown;
  readonly principal: Principal;
  readonly traceparent: string | undefined;
}

type Request = Pick<HttpRequest, 'headers' | 'query'>;

/** The A2A door of one session. */
export class A2aDoor {
  readonly #core: DoorCore;
  readonly #streams = new WeakMap<TaskRecord, TaskStream>();

  constructor(core: DoorCore) {
    this.#core = core;
  }

  handle({ headers, query, body, release }: HttpRequest): Reply | Promise<Reply> {
    if (!jsonTypes.test(headers['content-type'] ?? '')) {
      return { kind: 'json', status: 415, text: encodeFault(null, notJson) };
    }
    const request = { headers, query };
    if (body.length > briefBody) return this.#handleLong(body, request, release);
    const parsed = parseJsonRpcRequest(body);
    release();
    return this.#answer(parsed, request);
  }

  /** Nothing waits for a body of megabytes to be read: it is done in turns of the event loop. */
  async #handleLong(body: Buffer, request: Request, release: () => void): Promise<Reply> {
    const reading = readJsonRpcRequest(body);
    for (;;) {
      const step = reading.next();
      if (step.done === true) {
        // What waits for its task to end holds no body meanwhile.
        release();
        return await this.#answer(step.value, request);
      }
      await ownTurn();
    }
  }

  #answer(parsed: JsonRpcRequest | JsonRpcRefusedRequest, request: Request): Reply | Promise<Reply> {
    if (parsed.kind === 'fault') return reply(encodeFault(parsed.id, ofJsonRpc(parsed.fault)));
    const { id } = parsed;
    if (typeof id === 'string' && id.length > longestCallId) {
      return reply(
        encodeFault(null, new A2aFault('INVALID_REQUEST', `id must have at most ${longestCallId} characters`)),
      );
    }
    try {
      const answer = this.#call(parsed, request);
      if (!(answer instanceof Promise)) return answer;
      return answer.catch((error: unknown) => this.#failed(id, error));
    } catch (error) {
      return this.#failed(id, error);
    }
  }

  #call({ id, method, params }: JsonRpcRequest, request: Request): Reply | Promise<Reply> {
    checkVersion(request);
    if (nestsTooDeep(params)) throw new A2aFault('INVALID_REQUEST', 'params must not nest deeper than 64');
    const principal = this.#core.principalOf(request);
    demand(principal, a2aScopes.get(method));
    const call = { id, method, params, principal, traceparent: traceparentOf(request) };
    if (isUnary(method)) {
      const answer = unaryMethods[method](params, { principal, core: this.#core });
      return typeof answer === 'string' ? resultReply(id, answer) : answer.then((text) => resultReply(id, text));
    }
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

  #send(call: Call): Reply | Promise<Reply> {
    const request = sendRequest(call);
    const delivered = { ...call, message: request.message };
    if (isLong(request.message.text)) return this.#sendLong(call, request, delivered);
    const answer = sendMessage(request, delivered, this.#core, undefined);
    return typeof answer === 'string'
      ? resultReply(call.id, answer)
      : answer.then((text) => resultReply(call.id, text));
  }

  async #sendLong({ id }: Call, request: SendRequest, delivered: Delivered): Promise<Reply> {
    const ahead = await prepared(request.message, this.#core);
    return resultReply(id, await sendMessage(request, delivered, this.#core, ahead));
  }

  #sendStreaming(call: Call): Reply | Promise<Reply> {
    const request = sendRequest(call);
    const delivered = { ...call, message: request.message };
    if (!isLong(request.message.text)) return this.#stream(call, () => deliver(delivered, this.#core));
    return prepared(request.message, this.#core).then((ahead) =>
      this.#stream(call, () => deliver(delivered, this.#core, ahead)),
    );
  }

  #subscribe(call: Call): Reply {
    const { id } = parseTaskRequest(call.params);
    return this.#stream(call, () => {
      const record = visible(id, call.principal, this.#core);
      if (!record.isSettled) return { kind: 'task', record };
      throw faultOf('UNSUPPORTED_OPERATION', `The task is ${record.state}: nothing follows`, { taskId: record.id });
    });
  }

  /** The task first, then all that happens to it. */
  #stream({ id, principal }: Call, deliverTask: () => Delivery): StreamReply {
    const around = { head: `data: {"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`, tail: '}\n\n' };
    return this.#core.stream(principal, around, () => this.#opening(deliverTask()));
  }

  #opening(delivery: Delivery): StreamOpening {
    if (delivery.kind === 'rejected') {
      const task = deliveredTask(delivery, { historyLength: null, artifacts: true }, this.#core);
      return {
        onOpen: (stream) => {
          stream.begin(JSON.stringify({ task }));
          stream.end();
        },
        onGone: () => {},
      };
    }
    const followed = this.#streamOf(delivery.record);
    return {
      onOpen: (stream) => {
        stream.begin(followed.snapshot());
        if (delivery.record.isSettled) stream.end();
        else followed.join(stream);
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

  #failed(id: JsonRpcId, error: unknown): Reply {
    if (error instanceof A2aFault) return reply(encodeFault(id, error));
    if (!(error instanceof Diagnostic)) throw error;
    // The trace cannot be written: the session cannot go on (D1 "Task states" 2).
    this.#core.session.trap(error);
    return reply(encodeFault(id, new A2aFault('INTERNAL')));
  }
}

function sendRequest({ params }: Call): SendRequest {
  const request = parseSend(params);
  if (request.push !== undefined) throw new A2aFault('PUSH_NOTIFICATION_NOT_SUPPORTED');
  return request;
}

/** In a header, or in the query. None at all is version 0.3. */
function checkVersion({ headers, query }: Request): void {
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

/** One of another form counts as absent (docs/protocol.md "Sending again"). */
function traceparentOf({ headers }: Request): string | undefined {
  const span = singleHeader(headers['traceparent']);
  if (span === undefined) return undefined;
  const decoded = decodeMessageTags((name) => (name === 'traceparent' ? span : undefined));
  return decoded.kind === 'tags' ? decoded.tags.traceparent : undefined;
}

function reply(text: string): Reply {
  return { kind: 'json', status: 200, text };
}

function resultReply(id: JsonRpcId, result: string): Reply {
  return reply(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`);
}
