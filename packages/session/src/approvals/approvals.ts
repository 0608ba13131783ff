/** Holds calls that need a person, until one has answered. */

import type { Approvals as ApprovalSettings } from '@svc/artifacts/manifest/approvals.ts';
import { BoundedMap } from '@svc/kit/bounded-map.ts';
import type { HeldRequest } from '@svc/kit/keys/bound-host.ts';
import { type ApprovalAnswer, approvalOptions, type AskedApproval, type OpenApproval } from '@svc/protocol/approval.ts';
import { noPerson } from '@svc/protocol/passed-question.ts';
import type { QuestionName } from '@svc/protocol/question.ts';
import type { QuestionEnd, Task } from '../task/task.ts';
import type { CallVerdict, CheckedCall, FileOperation, ProgramQuestions, RequestQuestions } from '../tools/tool.ts';
import { type AskedEffect, askedChange, askedEffect, askedRequest, type Judged } from './asked-effect.ts';
import { CallRules, type CallRuling } from './call-rules.ts';
import { PassedCalls } from './passed-calls.ts';
import { programQuestions } from './program-questions.ts';
import { ProgramRules } from './program-rules.ts';
import { idOf, promptOf, whatIs } from './question-words.ts';
import { defaultRule, RequestRules } from './request-rules.ts';
import {
  type Answering,
  type AnswerResult,
  type AnswerWay,
  type AskApproval,
  type MadeQuestion,
  type ReplayedDecision,
  WaitingApprovals,
  type WaitingApprovalsDeps,
} from './waiting-approvals.ts';
import { type TaskWidening, type Widening, Widenings } from './wanted-grants.ts';

export interface ApprovalsDeps extends WaitingApprovalsDeps {
  /** Is null for a manifest without `approvals`: every call runs that the session was granted. */
  readonly rules: Pick<ApprovalSettings, 'default' | 'opaque' | 'rules'> | null;
  /** In milliseconds, that a question waits. */
  readonly timeoutMs: number;
  /** Why nobody can be asked; null where somebody can. */
  readonly unattended: () => Promise<string | null>;
  /** The name of the capsule that asks. */
  readonly capsule: string;
  readonly redact: (text: string) => string;
  /** Absent where nothing is granted while the session runs. */
  readonly widening?: Widening;
  /** Absent where nothing outlasts the session. */
  readonly kept?: KeptCalls;
  /** Passes the question on to the session of the parent, until the signal says that it is settled. Absent where nobody is above. */
  readonly up?: (asked: AskedApproval, settled: AbortSignal) => void;
}

/** A call that is the same whenever it is made again. */
export interface RepeatableCall {
  readonly digest: string;
  /** The names of the programs that it starts. */
  readonly programs: readonly string[];
}

/** The calls that are allowed in every session of the manifest. */
export interface KeptCalls {
  /** Whether a further one can be kept. */
  readonly mayKeep: (call: RepeatableCall) => boolean;
  /** The approval that allowed it; null where none did. */
  readonly find: (call: RepeatableCall) => string | null;
  /** Whether it is on the disk now; a warning has said why not. */
  readonly keep: (
    call: RepeatableCall & Pick<AskedEffect, 'summary'>,
    by: { readonly id: string; readonly by: string; readonly at: number },
  ) => Promise<boolean>;
}

/** A call that is judged. */
export interface HeldCall {
  readonly task: Task;
  readonly call: CheckedCall;
  readonly ask: AskApproval;
}

/** A call whose component is about to change a file. */
export interface HeldChange extends HeldCall {
  readonly change: FileOperation;
}

/** What a recording keeps of a call that does not just run. */
interface Ruled extends CallRuling {
  readonly isRemembered: boolean;
}

/** What a person is asked about. */
interface AskedAbout extends Pick<CallRuling, 'rule' | 'isOpaque' | 'programs'>, Pick<Judged, 'isLeft'> {
  readonly effect: AskedEffect;
}

interface Asking extends Pick<HeldCall, 'task' | 'ask'> {
  readonly place: string;
}

const maxRemembered = 10_000;
/** The most requests that were allowed too late. */
const maxMissed = 100;

/** The approvals of one session. */
export class Approvals {
  readonly #deps: ApprovalsDeps;
  readonly #rules: CallRules | null;
  readonly #requests: RequestRules | null;
  readonly #programs: ProgramRules | null;
  readonly #held: WaitingApprovals;
  /** The calls of children. */
  readonly passed: PassedCalls;
  /** Calls that are allowed for the session, by their digests, and the questions that allowed them. */
  readonly #remembered = new BoundedMap<string, string>(maxRemembered);
  /** Requests that were allowed when nobody waited any more, by task and digest, and the questions that allowed them: each goes out once. */
  readonly #missed = new BoundedMap<string, string>(maxMissed);
  readonly #widenings: Widenings;

  constructor(deps: ApprovalsDeps) {
    this.#deps = deps;
    this.#held = new WaitingApprovals(deps);
    this.passed = new PassedCalls(deps, this.#held);
    this.#widenings = new Widenings(deps);
    this.#rules = deps.rules === null ? null : new CallRules(deps.rules);
    this.#requests = deps.rules === null ? null : new RequestRules(deps.rules);
    this.#programs = deps.rules === null ? null : new ProgramRules(deps.rules);
  }

  /** The questions that wait, that of the running task first: a task asks one at a time. */
  list(): readonly OpenApproval[] {
    return this.#held.list();
  }

  /** Whether an answer counts that comes by this way. */
  takes(way: AnswerWay): boolean {
    return this.#deps.ways.includes(way);
  }

  /** Settles an approval; the first answer counts. Throws the Diagnostic of what cannot be written, and then nothing is settled. */
  answer(answer: ApprovalAnswer, by: Answering): AnswerResult {
    return this.#held.answer(answer, by);
  }

  /** Lets the session go on with an answer. False where it does not wait for that. */
  replayed(answer: ReplayedDecision): boolean {
    return this.#held.replayed(answer);
  }

  /**
   * Whether the call runs now; asks and waits where a person has to say so. An `allow` is on the disk before this resolves. Rejects with
   * `TaskCanceled`, and with the Diagnostic of what cannot be written.
   */
  async judge({ task, call, ask }: HeldCall): Promise<CallVerdict> {
    const rules = this.#rules;
    if (rules === null) return { kind: 'proceed' };
    const { redact } = this.#deps;
    return await this.#judged(
      { task, place: call.place, ask },
      {
        what: 'call',
        ruling: () => rules.of(call),
        effectOf: ({ argv }) => askedEffect(call, argv, redact),
      },
    );
  }

  /** The same for one change of a file, which the component of a call waits for. */
  async judgeChange({ task, call, change, ask }: HeldChange): Promise<CallVerdict> {
    const rules = this.#rules;
    if (rules === null) return { kind: 'proceed' };
    const { redact } = this.#deps;
    return await this.#judged(
      { task, place: `${call.place}/change`, ask },
      {
        what: 'change',
        ruling: () => rules.ofChange(call, change),
        effectOf: () => askedChange(call, change, redact),
      },
    );
  }

  /** The same for the requests of a call, which its component or program waits for. Returns null for a manifest without `approvals`. */
  requestsOf({ task, call, ask }: HeldCall): RequestQuestions | null {
    const [rules, requests] = [this.#rules, this.#requests];
    if (rules === null || requests === null) return null;
    // Nobody is asked twice by the default: it may have decided about the call.
    const asks = (rule: string): boolean =>
      task.command === null && (rule !== defaultRule || rules.of(call)?.rule !== defaultRule);
    const programs = call.kind === 'shell' ? [call.toolName] : [];
    const effectOf = (request: HeldRequest): AskedEffect =>
      askedRequest(call, { request, argv: rules.of(call)?.argv ?? null }, this.#deps.redact);
    /** What nobody waits for of the question that is open. */
    let left: string | null = null;
    let allowed: Pick<AskedApproval, 'id' | 'digest'> | null = null;
    return {
      asks,
      ask: async (request) => {
        left = allowed = null;
        const verdict = await this.#judged(
          { task, place: `${call.place}/request`, ask },
          {
            what: 'request',
            isLeft: () => left === effectOf(request).digest,
            ruling: () => {
              const ruling = requests.of(request.origin)?.(request) ?? null;
              const isAsked = ruling !== null && (ruling.verdict === 'deny' || asks(ruling.rule));
              return isAsked ? { ...ruling, argv: null, isOpaque: false, programs } : null;
            },
            effectOf: () => effectOf(request),
          },
        );
        if (verdict.kind === 'proceed') allowed = this.#held.latest;
        return verdict;
      },
      open: (request) => {
        const { digest } = effectOf(request);
        return this.list().find((open) => open.taskId === task.id && open.digest === digest)?.id ?? null;
      },
      left: (request) => {
        left = effectOf(request).digest;
        if (allowed?.digest === left) this.#missed.set(`${task.id} ${left}`, allowed.id);
      },
    };
  }

  /** The same for the programs that a call starts. Returns null for a manifest without `approvals`. */
  programsOf({ task, call, ask }: HeldCall): ProgramQuestions | null {
    const [calls, rules] = [this.#rules, this.#programs];
    if (calls === null || rules === null) return null;
    const argv = calls.of(call)?.argv ?? null;
    const judged = async (about: Judged): Promise<CallVerdict> =>
      await this.#judged({ task, place: `${call.place}/program`, ask }, about);
    return programQuestions(call, { rules, argv, redact: this.#deps.redact, judged });
  }

  async #judged({ task, place, ask }: Asking, judged: Judged): Promise<CallVerdict> {
    const { recorder, unattended } = this.#deps;
    const ruled = recorder.find(`${place}/approval`, () => this.#ruled(judged, task.id));
    if (ruled === null || ruled.isRemembered) return { kind: 'proceed' };
    if (ruled.verdict === 'deny') return denied(`the rules of the operator deny this ${judged.what} (${ruled.rule})`);
    // A person has typed it: they need not be asked.
    if (task.command !== null) return { kind: 'proceed' };
    const why = await recorder.settle(`${place}/answerers`, unattended);
    if (why !== null) return denied(`a person has to approve this ${judged.what} (${ruled.rule}), and ${why}`);
    task.signal.throwIfAborted();
    const { isLeft = () => false } = judged;
    return await this.#asked({ task, place, ask }, { ...ruled, effect: judged.effectOf(ruled), isLeft });
  }

  /** What the person at the terminal may grant to the calls of a task. What it asks rejects as `judge` does; a grant is on the disk before it counts. */
  wideningOf(of: Pick<Asking, 'task' | 'ask'>): TaskWidening {
    return this.#widenings.of(async (place, effect) => {
      const about = { rule: 'what it was not granted', isOpaque: false, effect };
      const verdict = await this.#asked({ ...of, place }, about);
      if (verdict.kind === 'deny') return { option: null, reason: verdict.reason };
      return { option: this.#remembered.get(effect.digest) === undefined ? 'once' : 'session' };
    });
  }

  #ruled({ ruling: rulingOf, effectOf }: Judged, taskId: string): Ruled | null {
    const ruling = rulingOf();
    if (ruling === null || ruling.verdict === 'allow') return null;
    if (ruling.verdict === 'deny') return { ...ruling, argv: null, isRemembered: false };
    const effect = effectOf(ruling);
    const { digest } = effect;
    const about = { ...ruling, effect };
    const kept = isRepeatable(about) ? this.#deps.kept?.find(repeatable(about)) : null;
    const id = this.#remembered.get(digest) ?? kept ?? this.#missed.take(`${taskId} ${digest}`) ?? null;
    if (id !== null) this.#start({ id, digest });
    return { ...ruling, isRemembered: id !== null };
  }

  async #asked({ task, place, ask }: Asking, about: AskedAbout): Promise<CallVerdict> {
    const { timeoutMs, recorder, up } = this.#deps;
    const settled = new AbortController();
    const make = (name: QuestionName): MadeQuestion => {
      const asked = this.#question(name, about, place);
      return { asked, prompt: promptOf(asked, about.effect), shown: () => up?.(asked, settled.signal) };
    };
    try {
      const { asked, end } = await this.#held.wait({ task, ask, timeoutMs }, make);
      let isRemembered = end.kind === 'decided' && end.option === 'session';
      if (end.kind === 'decided' && end.decision === 'allow' && end.option === 'manifest') {
        // A call that is on the disk is looked up there, so that a person can have it forgotten.
        isRemembered = (await recorder.settle(`${place}/kept`, async () => await this.#unkept(asked, about))) !== null;
        task.signal.throwIfAborted();
      }
      return this.#verdict(asked, end, { isRemembered, task, isLeft: about.isLeft?.() === true });
    } finally {
      settled.abort();
    }
  }

  #question(name: QuestionName, about: AskedAbout, place: string): AskedApproval {
    const { rule, effect } = about;
    const { recorder, clock, log, timeoutMs, capsule, kept } = this.#deps;
    const id = idOf(name);
    const found = recorder.find(`${place}/asked`, () => {
      const at = clock.now();
      const { digest } = effect;
      const expiresAtMs = at + timeoutMs;
      log.write({ k: 'asked', at, id, digest, rule, effect: effect.effect, expires_at: expiresAtMs });
      const most = kept?.mayKeep(repeatable(about)) === true ? 3 : 2;
      const options = approvalOptions.slice(0, isRepeatable(about) ? most : 1);
      return { digest, expiresAtMs, effect: effect.effect, options };
    });
    return {
      id,
      // A recording of before has none: nobody is asked in a replay.
      options: [],
      ...(found ?? { digest: '', expiresAtMs: 0, effect: {} }),
      capsule: [capsule],
      rule,
    };
  }

  #verdict(
    asked: AskedApproval,
    end: QuestionEnd,
    { isRemembered, isLeft, task }: { readonly isRemembered: boolean; readonly isLeft: boolean; readonly task: Task },
  ): CallVerdict {
    const what = whatIs(asked.effect);
    if (end.kind === 'timed-out') {
      return { ...denied(`nobody approved this ${what} in time, so it ${didNot[what]}`), isShown: true };
    }
    const { decision, note, option } = end;
    if (decision === 'deny') {
      const how = task.answeredBy === noPerson ? 'nobody could approve' : 'a person denied';
      return denied(`${how} this ${what}${note === null ? '' : `: ${note}`}`);
    }
    if (isRemembered) this.#remembered.set(asked.digest, asked.id);
    // What nobody waits for is written as started once it is made again.
    if (!isLeft) this.#start(asked);
    else if (option === 'once') this.#missed.set(`${task.id} ${asked.digest}`, asked.id);
    return { kind: 'proceed' };
  }

  /** Returns null once it is kept; what cannot be kept is allowed for this session. */
  async #unkept(asked: AskedApproval, about: AskedAbout): Promise<true | null> {
    const settled = this.#held.settled(asked.id);
    if (settled === undefined) return null;
    const { id, by, atMs: at } = settled;
    const isKept = await this.#deps.kept?.keep({ ...repeatable(about), summary: about.effect.summary }, { id, by, at });
    return isKept === true ? null : true;
  }

  #start({ id, digest }: Pick<AskedApproval, 'id' | 'digest'>): void {
    this.#deps.log.write({ k: 'started', at: this.#deps.clock.now(), id, digest });
  }
}

function isRepeatable({ isOpaque, effect }: AskedAbout): boolean {
  return effect.isWhole && !isOpaque;
}

function repeatable({ effect: { digest }, programs = [] }: AskedAbout): RepeatableCall {
  return { digest, programs };
}

function denied(reason: string): Extract<CallVerdict, { kind: 'deny' }> {
  return { kind: 'deny', reason, by: 'approvals' };
}

const didNot = { call: 'did not run', change: 'did not happen', program: 'did not run', request: 'was not sent' };
