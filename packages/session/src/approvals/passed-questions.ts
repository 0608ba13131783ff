/** Passes the questions of children on: to a person, or to the parent of this session. */

import { atMost, type Clock } from '@svc/kit/clock.ts';
import { BoundedMap } from '@svc/kit/bounded-map.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import type { JsonObject } from '@svc/protocol/json-object.ts';
import {
  noPerson,
  type ParentReply,
  type ParentRequest,
  type PassedAnswer,
  type PassedQuestion,
} from '@svc/protocol/passed-question.ts';
import type { ApprovalLog } from '@svc/record/sessions/approval-log.ts';
import { redactedJson } from '@svc/record/trace/file-trace.ts';
import type { AskingChild } from '../delegation/delegations-deps.ts';
import type { ParentLine } from '../delegation/parent-line.ts';
import type { PassedCall, Task } from '../task/task.ts';
import { maxPassedMs } from './passed-calls.ts';

export interface PassedQuestionsDeps {
  /** Is null in the session that a person has started, which asks them itself. */
  readonly up: Pick<ParentLine, 'ask'> | null;
  /** Why nobody can be asked; null where somebody can. */
  readonly whyUnattended: () => Promise<string | null>;
  /** Gives the session a task that asks a person; null where it takes none. */
  readonly submit: (child: AskingChild, passed: PassedCall) => Task | null;
  /** Has a person answer while the task waits for its turn; resolves once somebody has, or the task has ended. Returns null if its turn comes at once. */
  readonly offer: (task: Task, passed: PassedCall) => Promise<unknown> | null;
  readonly cancel: (task: Task) => void;
  readonly log: ApprovalLog;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly redact: (text: string) => string;
  /** Called with what ends the session: the record cannot be written. */
  readonly onLost: (error: unknown) => void;
}

/** Questions of all children together. */
const maxWaiting = 16;
/** Questions of one child, as long as it lives. */
const maxOfChild = 100;
/** How long a reply is held back. */
const holdMs = 15_000;

interface Waiting {
  readonly digest: string;
  /** Nobody needs to answer any more. */
  readonly withdraw: () => void;
  readonly ended: Promise<void>;
  reply: ParentReply;
}

/** The questions of the children of one session. What a child says of itself counts for nothing: its name is the one that this session started. */
export class PassedQuestions {
  readonly #deps: PassedQuestionsDeps;
  readonly #waiting = new Map<string, Waiting>();
  /** Whose children have not ended may ask for their replies again. */
  readonly #ended = new BoundedMap<string, Waiting>(maxOfChild);
  readonly #counts = new WeakMap<AskingChild, number>();

  constructor(deps: PassedQuestionsDeps) {
    this.#deps = deps;
  }

  async hear(child: AskingChild, request: ParentRequest): Promise<ParentReply> {
    switch (request.kind) {
      case 'look': {
        const why = await this.#deps.whyUnattended();
        return why === null ? { kind: 'open' } : refused(why);
      }
      case 'withdraw':
        this.#waiting.get(keyOf(child, request))?.withdraw();
        return { kind: 'open' };
      case 'ask':
        return await this.#ask(child, request.question);
    }
  }

  async #ask(child: AskingChild, question: PassedQuestion): Promise<ParentReply> {
    const key = keyOf(child, question);
    const known = this.#waiting.get(key) ?? this.#ended.get(key);
    if (known !== undefined && known.digest !== question.digest) return refused('another call has this id');
    const waiting = known ?? this.#begin(child, question);
    if (waiting === null) return refused('too many calls of capsules that it has started wait, or have waited');
    await atMost(this.#deps.clock, holdMs, waiting.ended);
    return waiting.reply;
  }

  #begin(child: AskingChild, question: PassedQuestion): Waiting | null {
    const count = this.#counts.get(child) ?? 0;
    if (this.#waiting.size >= maxWaiting || count >= maxOfChild) return null;
    this.#counts.set(child, count + 1);
    const key = keyOf(child, question);
    const withdrawn = new AbortController();
    const carried = this.#carry(child, this.#shown(question), withdrawn.signal).catch((error: unknown) => {
      this.#deps.onLost(error);
      return refused('the session that asks ends');
    });
    const waiting: Waiting = {
      digest: question.digest,
      withdraw: () => withdrawn.abort(),
      ended: carried.then((reply) => {
        waiting.reply = reply;
        this.#waiting.delete(key);
        this.#ended.set(key, waiting);
      }),
      reply: { kind: 'waits' },
    };
    this.#waiting.set(key, waiting);
    void child.over.then(waiting.withdraw);
    return waiting;
  }

  /** What one of the children does not know to be a secret may be one here. */
  #shown(question: PassedQuestion): PassedQuestion {
    return { ...question, effect: redactedJson(question.effect, this.#deps.redact) as JsonObject };
  }

  async #carry(child: AskingChild, question: PassedQuestion, withdrawn: AbortSignal): Promise<ParentReply> {
    const path = [child.capsule, ...question.below];
    const { up } = this.#deps;
    if (up !== null) return sealed(child, question, await this.#passUp(child, { question, path, up }, withdrawn));
    const passed = { question, path, sessionId: child.sessionId, end: null };
    return await this.#askPerson(child, passed, withdrawn);
  }

  async #askPerson(child: AskingChild, passed: PassedCall, withdrawn: AbortSignal): Promise<ParentReply> {
    const { whyUnattended, submit, offer, cancel, clock } = this.#deps;
    const why = await whyUnattended();
    if (why !== null) return refused(why);
    if (withdrawn.aborted) return { kind: 'waits' };
    const task = submit(child, passed);
    if (task === null) return refused('the capsule that started it takes no further task');
    const whenOver = offer(task, passed) ?? task.whenEnded;
    const over = (): void => (passed.end === null ? cancel(task) : undefined);
    withdrawn.addEventListener('abort', over, { once: true });
    const leftMs = passed.question.expiresAtMs - clock.now();
    await atMost(clock, Math.min(Math.max(1, leftMs), maxPassedMs), whenOver);
    // A child that is stopped does not withdraw it, and only the first one is shown before its turn.
    if (task.state === 'submitted') over();
    await whenOver;
    return sealed(child, passed.question, answerOf(task, passed));
  }

  async #passUp(
    child: AskingChild,
    { question, path, up }: { question: PassedQuestion; path: readonly string[]; up: Pick<ParentLine, 'ask'> },
    withdrawn: AbortSignal,
  ): Promise<PassedAnswer | null> {
    const { log, clock } = this.#deps;
    const { digest, id: of, expiresAtMs: expires_at } = question;
    // Two children may give the same id.
    const id = `apr_${sha256Hex(keyOf(child, question)).slice(0, 40)}`;
    log.write({ k: 'passed', at: clock.now(), id, digest, capsule: path, session_id: child.sessionId, of, expires_at });
    const answer = await up.ask({ ...question, id, below: path }, withdrawn);
    const { decision, option, by } = answer ?? { decision: 'canceled', option: 'once', by: 'task' };
    log.write({ k: 'settled', at: clock.now(), id, digest, decision, ...(decision === 'allow' ? { option } : {}), by });
    return answer;
  }
}

/** Returns null for a question whose time is over, which its own session knows. */
function answerOf({ answeredBy, canceledBy }: Task, { end }: PassedCall): PassedAnswer | null {
  if (end?.kind === 'timed-out') return null;
  if (end === null) {
    return { decision: 'deny', option: 'once', note: 'the question was canceled', by: canceledBy ?? noPerson };
  }
  const { decision, option, note } = end;
  return { decision, option: option === 'session' ? option : 'once', note, by: answeredBy ?? noPerson };
}

function sealed({ key }: AskingChild, question: PassedQuestion, answer: PassedAnswer | null): ParentReply {
  return answer === null ? { kind: 'waits' } : { kind: 'answered', ...answer, seal: key.seal(question, answer) };
}

function refused(reason: string): ParentReply {
  return { kind: 'refused', reason: reason.slice(0, 1000) };
}

/** A child can name its own questions alone. */
function keyOf({ delegationId }: AskingChild, { id }: Pick<PassedQuestion, 'id'>): string {
  return `${delegationId} ${id}`;
}
