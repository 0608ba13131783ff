/** Holds the question that waits for a person, and takes the answer to it. */

import type { Approvals as ApprovalSettings } from '@svc/artifacts/manifest/approvals.ts';
import { BoundedMap } from '@svc/kit/bounded-map.ts';
import type { Clock } from '@svc/kit/clock.ts';
import type { ApprovalAnswer, AskedApproval, OpenApproval, SettledApproval } from '@svc/protocol/approval.ts';
import type { Question, QuestionName } from '@svc/protocol/question.ts';
import type { ApprovalLog } from '@svc/record/sessions/approval-log.ts';
import type { Recorder } from '../recorder/recorder.ts';
import { type ApprovalEnd, type QuestionEnd, type Task, TaskCanceled } from '../task/task.ts';

/** By which way an answer comes: as `approvals.answer` names it, or from the session above. */
export type AnswerWay = ApprovalSettings['answer'][number] | 'parent';

/** Who answers. */
export interface Answering {
  readonly principal: string;
  readonly way: AnswerWay;
}

export interface WaitingApprovalsDeps {
  /** An answer that comes by another way settles nothing. */
  readonly ways: readonly AnswerWay[];
  readonly recorder: Recorder;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: ApprovalLog;
  /** Called right before clients are shown a question. */
  readonly onAsked?: (question: Pick<MadeQuestion, 'prompt'>) => void;
}

/** Puts the question and waits. Rejects as `requestInput` does. */
export type AskApproval = (question: (name: QuestionName) => Question, timeoutMs: number) => Promise<QuestionEnd>;

/** What an answer came to. */
export type AnswerResult =
  | { readonly kind: 'settled'; readonly settled: SettledApproval }
  /** It was settled before. */
  | { readonly kind: 'already'; readonly settled: SettledApproval }
  | { readonly kind: 'unknown' }
  /** It waits for an answer that comes by one of these ways. */
  | { readonly kind: 'elsewhere'; readonly ways: readonly AnswerWay[]; readonly why: string }
  /** The answer is for another call than the one that waits. */
  | { readonly kind: 'other-digest' }
  | { readonly kind: 'not-offered' };

/** An answer as a recording has it. */
export interface ReplayedDecision extends QuestionName, Pick<ApprovalAnswer, 'decision' | 'option' | 'note'> {
  readonly principal: string;
}

/** A question whose turn has come; `shown` is called right before clients are shown it. */
export interface MadeQuestion {
  readonly asked: AskedApproval;
  readonly prompt: string;
  readonly shown: () => void;
}

interface AskedBy {
  readonly task: Task;
  readonly ask: AskApproval;
  readonly timeoutMs: number;
}

interface Waiting {
  readonly task: Task;
  readonly question: QuestionName;
  readonly asked: AskedApproval;
}

/** A question whose task waits for its turn. */
interface Offered extends Waiting {
  /** As clients have it. */
  readonly open: OpenApproval;
  readonly decided: (end: ApprovalEnd, principal: string) => void;
}

const maxSettled = 1000;

/** The questions of one session. That of its running task waits, and those of children do beside it. */
export class WaitingApprovals {
  readonly #deps: WaitingApprovalsDeps;
  readonly #settled = new BoundedMap<string, SettledApproval>(maxSettled);
  #waiting: Waiting | null = null;
  /** By their ids. */
  readonly #offered = new Map<string, Offered>();
  /** The question whose answer came last. */
  #latest: Pick<AskedApproval, 'id' | 'digest'> | null = null;

  constructor(deps: WaitingApprovalsDeps) {
    this.#deps = deps;
  }

  get latest(): Pick<AskedApproval, 'id' | 'digest'> | null {
    return this.#latest;
  }

  /** How it was settled; undefined for one that waits, and for one that nobody knows any more. */
  settled(id: string): SettledApproval | undefined {
    return this.#settled.get(id);
  }

  /** The questions that wait, that of the running task first: a task asks one at a time. */
  list(): readonly OpenApproval[] {
    const waiting = this.#waiting;
    const question = waiting?.task.inputWait?.question;
    const offered = [...this.#offered.values()].map(({ open }) => open);
    if (waiting === null || question === undefined) return offered;
    return [{ ...waiting.asked, taskId: waiting.task.id, prompt: question.prompt }, ...offered];
  }

  /** Takes an answer before the turn of the task has come; `decided` is called with it. */
  offer(offered: Offered): void {
    this.#deps.onAsked?.(offered.open);
    this.#offered.set(offered.asked.id, offered);
  }

  /** The task of an offered question has ended. Does nothing for one that was answered, or whose turn has come. */
  withdraw(id: string): void {
    const offered = this.#offered.get(id);
    if (!this.#offered.delete(id) || offered === undefined) return;
    const isLate = this.#deps.clock.now() >= offered.asked.expiresAtMs;
    this.#close(offered.asked, isLate ? { decision: 'expired', by: 'clock' } : { decision: 'canceled', by: 'task' });
  }

  /** Asks with the question that `make` gives, which is settled and written once this resolves. Rejects as `ask` does, and then it is settled too. */
  async wait(
    { task, ask, timeoutMs }: AskedBy,
    make: (name: QuestionName) => MadeQuestion,
  ): Promise<{ readonly asked: AskedApproval; readonly end: QuestionEnd }> {
    let asked: AskedApproval | null = null;
    const question = (name: QuestionName): Question => {
      const made = make(name);
      asked = made.asked;
      this.#waiting = { task, question: name, asked };
      if (!this.#offered.delete(asked.id)) this.#deps.onAsked?.(made);
      made.shown();
      return { ...name, prompt: made.prompt, approval: asked };
    };
    try {
      const end = await ask(question, timeoutMs);
      if (asked === null) throw new Error('a question is made before it is answered');
      if (end.kind === 'timed-out') this.#close(asked, { decision: 'expired', by: 'clock' });
      return { asked, end };
    } catch (error) {
      if (error instanceof TaskCanceled && asked !== null) this.#close(asked, { decision: 'canceled', by: 'task' });
      throw error;
    } finally {
      if (this.#waiting?.asked === asked) this.#waiting = null;
    }
  }

  /** Settles an approval; the first answer counts. Throws the Diagnostic of what cannot be written, and then nothing is settled. */
  answer(answer: ApprovalAnswer, { principal, way }: Answering): AnswerResult {
    const { clock, ways } = this.#deps;
    const settled = this.#settled.get(answer.id);
    if (settled !== undefined) return { kind: 'already', settled };
    const offered = this.#offered.get(answer.id);
    const waiting = offered ?? this.#waiting;
    if (waiting === null || waiting.asked.id !== answer.id) return { kind: 'unknown' };
    if (!ways.includes(way)) return { kind: 'elsewhere', ways, why: answersCome(ways) };
    if (waiting.asked.digest !== answer.digest) return { kind: 'other-digest' };
    if (answer.decision === 'allow' && !waiting.asked.options.includes(answer.option)) return { kind: 'not-offered' };
    const atMs = clock.now();
    // Its timer has run out, and its turn comes next.
    if (atMs >= waiting.asked.expiresAtMs) return { kind: 'already', settled: this.#expired(waiting.asked, atMs) };
    const { id, decision } = answer;
    const now = { id, decision, by: principal, atMs };
    this.#settle(waiting.asked, now, answer.option);
    const { option, note } = answer;
    this.#offered.delete(id);
    if (offered === undefined) this.replayed({ ...waiting.question, ...answer, principal });
    else offered.decided({ kind: 'decided', decision, option, note }, principal);
    return { kind: 'settled', settled: now };
  }

  /** Lets the session go on with an answer. False where it does not wait for that. */
  replayed(answer: ReplayedDecision): boolean {
    const waiting = this.#waiting;
    const wait = waiting?.task.inputWait;
    const isAsked = waiting?.question.taskId === answer.taskId && waiting.question.waitId === answer.waitId;
    if (waiting === null || wait?.decide === undefined || !isAsked) return false;
    const { taskId, waitId, decision, option, note, principal } = answer;
    this.#deps.recorder.arrive({
      what: 'decision',
      taskId: waiting.task.id,
      waitId,
      decision,
      option,
      note,
      principal,
    });
    waiting.task.answeredBy = principal;
    wait.decide({ kind: 'decided', decision, option, note });
    return taskId === waiting.task.id;
  }

  /** For the end of a question that nobody answered. */
  #close(asked: AskedApproval, { decision, by }: Pick<SettledApproval, 'decision' | 'by'>): void {
    if (this.#settled.has(asked.id)) return;
    this.#settle(asked, { id: asked.id, decision, by, atMs: this.#deps.clock.now() });
  }

  #expired(asked: AskedApproval, atMs: number): SettledApproval {
    const settled = { id: asked.id, decision: 'expired', by: 'clock', atMs } as const;
    this.#settle(asked, settled);
    return settled;
  }

  #settle({ id, digest }: AskedApproval, settled: SettledApproval, option?: string): void {
    const { decision, by, atMs: at } = settled;
    const far = option === undefined || decision !== 'allow' ? {} : { option };
    this.#deps.log.write({ k: 'settled', at, id, digest, decision, ...far, by });
    this.#settled.set(id, settled);
    this.#latest = { id, digest };
  }
}

/** A clause that follows a refusal. */
function answersCome(ways: readonly AnswerWay[]): string {
  return ways.includes('parent')
    ? 'the session that a person has started takes the answer'
    : `approvals.answer of its manifest names ${ways.join(', ')}`;
}
