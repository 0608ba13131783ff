/** The API of OpenAI as far as a capsule can speak it: `/v1/responses`, `/v1/chat/completions` and `/v1/models`. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { HttpRefusal } from '@svc/kit/http/refusal.ts';
import { isJsonMediaType, singleHeader } from '@svc/kit/http/hygiene.ts';
import { jsonReply, type Reply, type StreamReply } from '@svc/kit/http/reply.ts';
import type { HttpRequest, RequestHead } from '@svc/kit/http/route.ts';
import type { JsonText } from '@svc/protocol/json-text.ts';
import { decodeMessageTags } from '@svc/protocol/message-tags.ts';
import type { TaskRecord } from '@svc/session/task/task-record.ts';
import { demand, openAiScopes } from '../callers/scopes.ts';
import { untilAtRest } from '../core/at-rest.ts';
import { deepest, nestsTooDeep } from '../core/bad-input.ts';
import type { DoorCore, StreamOpening } from '../core/door-core.ts';
import type { DoorStream } from '../core/door-stream.ts';
import type { Principal } from '../callers/principal.ts';
import { readJson } from '../core/read-json.ts';
import { type ChatConversation, ChatContexts } from './chat-contexts.ts';
import { ChatStream, failedTask } from './chat-stream.ts';
import {
  type Caller,
  deliver,
  type Delivery,
  deliveryAfter,
  nextDelivery,
  noRetry,
  prepared,
  resolved,
  visibleResponse,
} from './deliver.ts';
import { OpenAiFault, ofRefusal, unserved } from './errors.ts';
import { type Followed, followSpeech, type SpeechListener } from './follow-speech.ts';
import { answerOf, chatCompletion, modelObject, type ResponseFacts, responseObject } from './objects.ts';
import { parseChat, parseResponse } from './params.ts';
import { ResponseStream } from './response-stream.ts';
import { traced, type TracedRequest, untraced } from './traced-request.ts';

type Answer = Reply | Promise<Reply>;

/** The OpenAI door of one session. */
export class OpenAiDoor {
  readonly #core: DoorCore;
  readonly #model: string;
  readonly #openedMs: number;
  readonly #contexts = new ChatContexts();
  /** What a response repeats of the request that it answers. */
  readonly #asked = new WeakMap<TaskRecord, Pick<ResponseFacts, 'background' | 'previous'>>();

  constructor(core: DoorCore) {
    this.#core = core;
    this.#model = core.card.name;
    this.#openedMs = core.session.clock.now();
  }

  /** Answers what comes to one of the paths of the door; there is a body where it was posted. */
  handle(request: RequestHead | HttpRequest): Answer {
    const spans = this.#core.facts.outside?.requests() ?? null;
    if (spans === null) return this.#answer(request, untraced());
    return traced(spans, request, (about) => this.#answer(request, about));
  }

  #answer(request: RequestHead | HttpRequest, about: TracedRequest): Answer {
    try {
      const answer = this.#route(request, about);
      return answer instanceof Promise ? answer.catch((error: unknown) => this.#failed(error)) : answer;
    } catch (error) {
      return this.#failed(error);
    }
  }

  #route(request: RequestHead | HttpRequest, about: TracedRequest): Answer {
    const [kind, name = '', action] = request.path.slice('/v1/'.length).split('/');
    const isPosted = 'body' in request;
    if (kind === 'models' && action === undefined) return this.#models(name);
    if (kind === 'responses' && action === undefined && !isPosted) return this.#retrieve(request, name);
    if (kind === 'responses' && action === 'cancel' && isPosted) return this.#cancel(request, name);
    if (isPosted && request.path === '/v1/responses')
      return this.#post(request, (body) => this.#respond(body, request, about));
    if (isPosted && kind === 'chat') return this.#post(request, (body) => this.#chat(body, request, about));
    throw new OpenAiFault(404, 'Nothing is served at this path.', { code: 'not_found' });
  }

  #models(name: string): Reply {
    const model = modelObject(this.#model, this.#openedMs);
    if (name === '') return jsonReply({ object: 'list', data: [model] });
    if (name === this.#model) return jsonReply(model);
    throw new OpenAiFault(404, `There is no such model; this capsule is ${this.#model}.`, { code: 'model_not_found' });
  }

  #retrieve(request: RequestHead, id: string): Reply {
    const principal = this.#core.principalOf(request);
    demand(principal, openAiScopes.get('retrieve'));
    const record = visibleResponse(id, principal, this.#core);
    refuseResuming(request.query);
    return this.#responseReply(record);
  }

  async #cancel(request: RequestHead, id: string): Promise<Reply> {
    const principal = this.#core.principalOf(request);
    demand(principal, openAiScopes.get('cancel'));
    const record = visibleResponse(id, principal, this.#core);
    if (!record.isSettled) await this.#core.session.board.cancel(record.task, principal.name);
    return this.#responseReply(record);
  }

  #post(request: HttpRequest, answer: (body: unknown) => Answer): Answer {
    if (!isJsonMediaType(request.headers['content-type'])) {
      throw new OpenAiFault(415, 'The body must be sent as application/json.', { code: 'unsupported_media_type' });
    }
    const read = readJson(request.body);
    // What waits for its task to end holds no body meanwhile.
    if (read instanceof Promise) {
      return read.then((json) => {
        request.release();
        return answer(valueOf(json));
      });
    }
    request.release();
    return answer(valueOf(read));
  }

  #respond(body: unknown, request: HttpRequest, about: TracedRequest): Answer {
    const caller = this.#caller(request, about);
    const { stream, background, previous, ...said } = parseResponse(body, this.#model);
    const { asked, last } = resolved(said, caller.principal, this.#core);
    // What follows a response by its id has a history that its input does not list.
    const conversation = previous === null ? this.#contexts.conversation(caller.principal, asked) : unlisted;
    const delivery =
      previous === null
        ? nextDelivery(asked, last === null ? conversation : { before: last.id }, this.#core)
        : deliveryAfter(previous, asked, caller, this.#core);
    const hand = (ahead: Prepared): TaskRecord => {
      const record = deliver(delivery, caller, this.#core, ahead);
      about.taskId = record.id;
      if (!this.#asked.has(record)) this.#asked.set(record, { background, previous });
      return record;
    };
    return whenPrepared(prepared(delivery, this.#core), (ahead) => {
      if (stream) return this.#stream(caller, delivery, () => hand(ahead), this.#responseWriter(conversation));
      const record = hand(ahead);
      const noted = this.#noteAnswer(record, conversation);
      return background ? this.#responseReply(record) : this.#awaitResponse(noted, record, caller.principal);
    });
  }

  #chat(body: unknown, request: HttpRequest, about: TracedRequest): Answer {
    const caller = this.#caller(request, about);
    const asked = parseChat(body, this.#model);
    const conversation = this.#contexts.conversation(caller.principal, asked);
    const delivery = nextDelivery(asked, conversation, this.#core);
    return whenPrepared(prepared(delivery, this.#core), (ahead) => {
      const hand = (): TaskRecord => {
        const record = deliver(delivery, caller, this.#core, ahead);
        about.taskId = record.id;
        return record;
      };
      if (!asked.stream) return this.#awaitChat(hand(), caller.principal, conversation);
      return this.#stream(caller, delivery, hand, this.#chatWriter(conversation, asked.includeUsage));
    });
  }

  /** Resolves when the task is at rest: the history of the next request may end with its answer. */
  async #noteAnswer(record: TaskRecord, conversation: ChatConversation): Promise<void> {
    await untilAtRest(record, this.#core.records);
    const text = answerOf(record);
    if (text !== null) conversation.answered(text, record.id);
  }

  /** A client that leaves stops waiting; the task goes on. A waiting client holds nothing of its request. */
  async #awaitResponse(noted: Promise<void>, record: TaskRecord, principal: Principal): Promise<Reply> {
    await noted;
    await this.#core.demandHeld(principal);
    return this.#responseReply(record);
  }

  async #awaitChat(record: TaskRecord, principal: Principal, conversation: ChatConversation): Promise<Reply> {
    await untilAtRest(record, this.#core.records);
    await this.#core.demandHeld(principal);
    const text = answerOf(record);
    if (text === null) throw failedTask(record);
    conversation.answered(text, record.id);
    return jsonReply(chatCompletion(record, this.#model, text));
  }

  #stream({ principal }: Caller, { place }: Delivery, hand: () => TaskRecord, write: Writer): StreamReply {
    // An answer continues what its client has heard already.
    const fromStart = place.kind !== 'answers';
    return this.#core.stream(principal, { head: '', tail: '' }, () =>
      this.#opening({ record: hand(), fromStart }, write),
    );
  }

  #opening(followed: Followed, write: Writer): StreamOpening {
    let unfollow = (): void => {};
    return {
      onOpen: (stream) => {
        unfollow = followSpeech(followed, this.#core.records, write(stream, followed));
      },
      onGone: () => unfollow(),
    };
  }

  #responseWriter(conversation: ChatConversation): Writer {
    return (stream, followed) => {
      const onAnswered = (text: string): void => conversation.answered(text, followed.record.id);
      return new ResponseStream(stream, followed, { ...this.#factsOf(followed.record), onAnswered });
    };
  }

  #chatWriter(conversation: ChatConversation, includeUsage: boolean): Writer {
    const model = this.#model;
    return (stream, followed) => {
      const onAnswered = (text: string): void => conversation.answered(text, followed.record.id);
      return new ChatStream(stream, followed, { model, includeUsage, onAnswered });
    };
  }

  #caller({ headers }: HttpRequest, { traceparent }: TracedRequest): Caller {
    const principal = this.#core.principalOf({ headers });
    demand(principal, openAiScopes.get('create'));
    const decoded = decodeMessageTags((name) => singleHeader(headers[name]));
    if (decoded.kind === 'tags') {
      const { tags } = decoded;
      return { principal, tags: traceparent === undefined ? tags : { ...tags, traceparent } };
    }
    throw new OpenAiFault(400, decoded.problem, { code: 'invalid_idempotency_key' });
  }

  #factsOf(record: TaskRecord): ResponseFacts {
    const asked = this.#asked.get(record) ?? { background: false, previous: null };
    return { model: this.#model, ...asked };
  }

  #responseReply(record: TaskRecord): Reply {
    return jsonReply(responseObject(record, this.#factsOf(record)));
  }

  #failed(error: unknown): Reply {
    if (error instanceof OpenAiFault) return error.reply;
    if (error instanceof HttpRefusal) return ofRefusal(error).reply;
    if (!(error instanceof Diagnostic)) throw error;
    // The trace cannot be written: the session cannot go on (D1 "Task states" 2).
    this.#core.session.trap(error);
    return new OpenAiFault(500, 'Internal error', { code: 'internal_error', headers: noRetry }).reply;
  }
}

/** A record of a task has no events (docs/adr/doors.md "OpenAI"). */
function refuseResuming(query: string): void {
  const asked = new URLSearchParams(query);
  const stream = asked.get('stream');
  if (stream !== null && stream !== 'false') {
    throw unserved('stream', 'is not taken here: events are sent where a response is made; ask again for the whole');
  }
  if (!asked.has('starting_after')) return;
  throw unserved('starting_after', 'is not taken: events are not kept; ask for the response without it');
}

/** No later request can list what was said before it. */
const unlisted: ChatConversation = { before: null, answered: () => {} };

type Prepared = Awaited<ReturnType<typeof prepared>>;

type Writer = (stream: DoorStream, followed: Followed) => SpeechListener;

function whenPrepared(ahead: Promise<Prepared> | undefined, answer: (ahead: Prepared) => Answer): Answer {
  return ahead === undefined ? answer(undefined) : ahead.then(answer);
}

function valueOf(json: JsonText): unknown {
  if (json.kind === 'not-json') throw new OpenAiFault(400, 'The body is not JSON.', { code: 'invalid_json' });
  if (json.kind === 'too-many') throw new OpenAiFault(400, 'The body holds too many values.', { code: 'invalid_json' });
  if (json.kind === 'json' && !nestsTooDeep(json.value)) return json.value;
  throw new OpenAiFault(400, `The body nests deeper than ${deepest}.`, { code: 'invalid_json' });
}
