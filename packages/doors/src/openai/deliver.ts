/** Hands what clients of the OpenAI API say to the session: it starts a task, or answers a question. */

import { isLong } from '@svc/kit/yield-to-loop.ts';
import type { MessageTags } from '@svc/protocol/message-tags.ts';
import type { TaskRecord } from '@svc/session/task/task-record.ts';
import type { TaskSource } from '@svc/session/task/task.ts';
import { demand } from '../callers/scopes.ts';
import type { DoorCore } from '../core/door-core.ts';
import { maySee, type Principal } from '../callers/principal.ts';
import { OpenAiFault, wrongField } from './errors.ts';
import type { ChatConversation } from './chat-contexts.ts';
import { answerOf } from './objects.ts';
import type { Asked, Turn } from './params.ts';

/** Who speaks, and what came with it. */
export interface Caller {
  readonly principal: Principal;
  readonly tags: MessageTags;
}

type Prepared = TaskSource['prepared'];
type Said = Pick<Asked, 'before' | 'text'>;

/** Where something is said: the question that it answers, or the task whose conversation it goes on. */
type Place =
  | { readonly kind: 'new' }
  | { readonly kind: 'after'; readonly record: TaskRecord }
  | { readonly kind: 'answers'; readonly record: TaskRecord };

/** What reaches the session, and in which place. */
export interface Delivery {
  readonly place: Place;
  readonly text: string;
}

const itemShape = /^msg_(tsk_[0-9a-f]{32})(?:_q?\d+)*$/;

/** What was said, with the texts of the items that it names, and the task of the last of them where the next turn follows it. Throws the fault of an item that nobody knows. */
export function resolved(asked: Said, principal: Principal, core: DoorCore): { asked: Said; last: TaskRecord | null } {
  let last: TaskRecord | null = null;
  const before = asked.before.map((turn) => {
    last = null;
    if (turn.item === undefined) return turn;
    last = core.records.find(itemShape.exec(turn.item)?.[1] ?? '');
    if (last === null || !maySee(principal, last.task))
      throw new OpenAiFault(404, 'There is no such item.', { param: 'input', code: 'item_not_found' });
    return { ...turn, text: answerOf(last) ?? '' };
  });
  return { asked: { before, text: asked.text }, last };
}

/** What is said now, where it goes on what this door has answered and the capsule knows yet; else all that was said. */
export function nextDelivery(asked: Said, { before }: Pick<ChatConversation, 'before'>, core: DoorCore): Delivery {
  const record = before === null ? null : core.records.find(before);
  const place = record === null ? null : placeAfter(record, core);
  return place === null ? { place: { kind: 'new' }, text: transcript(asked) } : { place, text: asked.text };
}

/** What is said after the response of this id. Throws the fault of one that nothing can follow. */
export function deliveryAfter(previous: string, asked: Said, { principal }: Caller, core: DoorCore): Delivery {
  const text = transcript(asked);
  const record = visibleResponse(previous, principal, core, 'previous_response_id');
  const place = placeAfter(record, core);
  if (place !== null) return { place, text };
  throw wrongField('previous_response_id', `names a response that ${whyNot(record, core)}`);
}

/** Returns null where nothing can be said after it. */
function placeAfter(record: TaskRecord, core: DoorCore): Place | null {
  if (record.state === 'input-required') return { kind: 'answers', record };
  return whyNot(record, core) === null ? { kind: 'after', record } : null;
}

/** Why nothing can continue the conversation of the task from there; a clause. */
function whyNot(record: TaskRecord, core: DoorCore): string | null {
  if (!record.isSettled) return 'is not finished yet';
  if (!core.session.keeps(record.task.conversation)) {
    return 'this capsule keeps no conversation of; send what was said in input';
  }
  return isLast(record, core) ? null : 'is not the last of its conversation; a capsule has one way through it';
}

/** Whether nobody has said anything in its conversation since. */
function isLast({ task }: TaskRecord, { session }: DoorCore): boolean {
  let last = task;
  for (const each of session.board.known()) {
    if (each.conversation === task.conversation && (each.sender !== null || each === task)) last = each;
  }
  return last === task;
}

/** Does the slow part of recording a long text ahead, in turns of its own. */
export function prepared({ text }: Delivery, { session }: DoorCore): Promise<Prepared> | undefined {
  return isLong(text) ? session.board.prepare(text) : undefined;
}

/** Throws the fault of what can be handed to nobody. A repetition with the same `Idempotency-Key` gives the same task, and starts nothing. */
export function deliver({ place, text }: Delivery, caller: Caller, core: DoorCore, ahead: Prepared): TaskRecord {
  if (place.kind === 'answers') return answered(place.record, text, caller, core);
  const { board } = core.session;
  const source = {
    text,
    origin: 'message',
    trust: 'untrusted',
    sender: { principal: caller.principal.name, tags: caller.tags },
    ...(place.kind === 'new'
      ? {}
      : { contextId: place.record.contextId, conversation: place.record.task.conversation }),
    ...(ahead === undefined ? {} : { prepared: ahead }),
  } as const;
  const before = sentBefore(source, core);
  if (before !== null) return before;
  const { kind, task } = board.submit(source);
  if (kind === 'accepted') return core.records.of(task);
  throw kind === 'rejected'
    ? new OpenAiFault(429, 'There is no room in the queue of this capsule.', { code: 'queue_full', headers: later })
    : new OpenAiFault(503, 'This capsule takes no more tasks.', { code: 'capsule_ends', headers: noRetry });
}

const later = { 'retry-after': '5' };
/** Clients of the API ask again by themselves, unless this header forbids it. */
export const noRetry = { 'x-should-retry': 'false' };

function answered(record: TaskRecord, text: string, { principal, tags }: Caller, core: DoorCore): TaskRecord {
  demand(principal, ['answer']);
  const source = { text, sender: { principal: principal.name, tags }, answers: record.id };
  const before = sentBefore(source, core);
  if (before !== null) return before;
  if (core.records.answer(record, source, record.newMessage('user', text))) return record;
  const approval = record.task.inputWait?.question.approval;
  if (approval !== undefined) {
    const message = `The task waits for an approval, which no message gives: svc approve ${approval.id}`;
    throw new OpenAiFault(400, message, { code: 'approval_required', headers: noRetry });
  }
  throw new OpenAiFault(400, 'The question has been answered meanwhile.', { code: 'question_not_open' });
}

function sentBefore(
  source: Parameters<DoorCore['session']['board']['sentBefore']>[0],
  core: DoorCore,
): TaskRecord | null {
  const before = core.session.board.sentBefore(source);
  if (before === null) return null;
  if (before !== 'other') return core.records.of(before);
  throw new OpenAiFault(400, 'Idempotency-Key came with another message before', { code: 'idempotency_key_reused' });
}

const responseShape = /^resp_(tsk_[0-9a-f]{32})$/;

/** The task of a response that the principal may know of. `param` is the field that names it; absent in a path. */
export function visibleResponse(id: string, principal: Principal, { records }: DoorCore, param?: string): TaskRecord {
  const record = records.find(responseShape.exec(id)?.[1] ?? '');
  if (record !== null && maySee(principal, record.task)) return record;
  const code = param === undefined ? 'response_not_found' : 'previous_response_not_found';
  throw new OpenAiFault(404, 'There is no such response.', param === undefined ? { code } : { code, param });
}

/** What was said before, for a capsule that does not know it, and what is said now. */
function transcript({ before, text }: Said): string {
  if (before.length === 0) return text;
  return [...before, { role: 'user', text } satisfies Turn].map((turn) => `${turn.role}: ${turn.text}`).join('\n\n');
}
