/** Drives a session and its child, whose questions it passes on, by answers at both ends, cancels, clocks and a crash of either in any order. */

import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import fc from 'fast-check';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import type { ContextId, DelegationId, SessionId } from '@svc/protocol/ids.ts';
import type { AskedApproval } from '@svc/protocol/approval.ts';
import { noPerson, type ParentReply, type PassedAnswer, type PassedQuestion } from '@svc/protocol/passed-question.ts';
import { type ApprovalLog, type ApprovalRecord, openApprovalLog } from '@svc/record/sessions/approval-log.ts';
import { calls, says } from '../../../../test/support/fake-driver.ts';
import { fakeTool, passed, SessionFixture } from '../../../../test/support/session-fixture.ts';
import { Approvals, type ApprovalsDeps } from '../../src/approvals/approvals.ts';
import { offersOf } from '../../src/approvals/shown-offers.ts';
import { PassedQuestions } from '../../src/approvals/passed-questions.ts';
import { ChildKey } from '../../src/delegation/child-key.ts';
import { linesOf, settledOnce, unapproved } from './interleavings.ts';

const ends = ['child', 'parent'] as const;
type End = (typeof ends)[number];

const step = fc.record({
  at: fc.constantFrom(...ends),
  does: fc.constantFrom('allow', 'allow', 'allow', 'deny', 'forge', 'cancel', 'expire', 'stop', 'kill'),
  far: fc.constantFrom('once', 'session'),
  /** Turns of the event loop before it: the question is on its way up, is shown, or its answer on its way down. */
  after: fc.nat(12),
});
type Step = typeof step extends fc.Arbitrary<infer Each> ? Each : never;

const plan = fc.record({
  texts: fc.array(fc.constantFrom('main', 'prod'), { minLength: 1, maxLength: 2 }),
  steps: fc.array(fc.array(step, { minLength: 1, maxLength: 3 }), { minLength: 2, maxLength: 2 }),
  dies: fc.option(fc.record({ at: fc.constantFrom(...ends), write: fc.nat(5), isWritten: fc.boolean() }), {
    nil: null,
  }),
});
type Plan = typeof plan extends fc.Arbitrary<infer Each> ? Each : never;

// Nothing here is about what a disk does.
const inMemory = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

const turn = async (): Promise<void> => await new Promise((resolve) => setImmediate(resolve));

/** A record on the disk, and the end of its process. */
class Side {
  isDead = false;
  readonly #file: ApprovalLog;
  readonly folder: string;
  #writes = 0;

  constructor(parent: string, name: End) {
    this.folder = join(parent, name);
    mkdirSync(this.folder);
    this.#file = openApprovalLog(this.folder);
  }

  get records(): readonly ApprovalRecord[] {
    return linesOf(this.folder);
  }

  log(dies: { readonly write: number; readonly isWritten: boolean } | null): ApprovalLog {
    return {
      write: (record) => {
        if (this.isDead) throw new Diagnostic('E-IO-002', 'the process is gone');
        const isEnd = this.#writes === dies?.write;
        this.#writes += 1;
        if (!isEnd || dies.isWritten) this.#file.write(record);
        if (!isEnd) return;
        this.isDead = true;
        throw new Diagnostic('E-IO-002', 'the process ends here');
      },
      close: () => {},
    };
  }

  close(): void {
    this.#file.close();
  }
}

export interface PassedOutcome {
  readonly faults: readonly string[];
  /** Calls that ran. */
  readonly ran: number;
  /** Calls that ran by an answer at the parent. */
  readonly ranFromAbove: number;
}

/** Sentences on what went wrong in so many pairs of sessions. */
export async function faultsInPairs(count: number): Promise<PassedOutcome> {
  const faults: string[] = [];
  let [ran, ranFromAbove] = [0, 0];
  for (const each of fc.sample(plan, { numRuns: count, seed: 20_262 })) {
    const folder = mkdtempSync(join(inMemory, 'passed-'));
    try {
      const outcome = await played(each, folder);
      ran += outcome.ran;
      ranFromAbove += outcome.ranFromAbove;
      faults.push(...outcome.faults.map((fault) => `${fault}: ${JSON.stringify(each)}`));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return { faults, ran, ranFromAbove };
}

async function played({ texts, steps, dies }: Plan, folder: string): Promise<PassedOutcome> {
  const faults: string[] = [];
  const sides = { child: new Side(folder, 'child'), parent: new Side(folder, 'parent') };
  const logs = { child: sides.child.log(diesAt('child')), parent: sides.parent.log(diesAt('parent')) };
  const made = new Map<End, Approvals>();
  const ways: ApprovalsDeps['ways'] = ['door', 'parent'];
  const common = { ways, timeoutMs: 60_000, unattended: async () => null, redact: (text: string) => text };
  let [ran, ranFromAbove] = [0, 0];
  /** Whether something else than an answer or a clock may end the call. */
  let isInterrupted = dies?.at === 'child';

  const parent = new SessionFixture({
    turns: [],
    acceptance: { afterTask: 'sleep' },
    approvals: (recorder, clock) => {
      const parts = { ...common, rules: null, recorder, clock, log: logs.parent, capsule: 'lead' };
      return made.set('parent', new Approvals(parts)).get('parent') as Approvals;
    },
  });
  const child = new SessionFixture({
    turns: [calls(...texts.map((to): [string, object] => ['push', { to }])), says('Done.')],
    tools: [
      fakeTool('push', async () => {
        happens();
        return passed('pushed');
      }),
    ],
    approvals: (recorder, clock) => {
      const rules: ApprovalsDeps['rules'] = { default: 'ask', opaque: 'ask', rules: [] };
      const parts = { ...common, rules, recorder, clock, log: logs.child, capsule: 'c' };
      const up = (asked: AskedApproval, settled: AbortSignal): void => void passUp(asked, settled);
      return made.set('child', new Approvals({ ...parts, up })).get('child') as Approvals;
    },
  });
  const fixtures = { child, parent };
  let die = (): void => {};
  const asking = {
    delegationId: 'dlg_c' as DelegationId,
    sessionId: 'ses_c' as SessionId,
    capsule: 'c',
    taskId: 'tsk_delegating',
    contextId: 'ctx_1' as ContextId,
    conversation: 'ctx_1' as ContextId,
    key: ChildKey.mint(systemClock),
    over: new Promise<void>((resolve) => (die = resolve)),
  };
  const questions = new PassedQuestions({
    up: null,
    whyUnattended: common.unattended,
    submit: ({ contextId, conversation }, call) => {
      const source = { text: 'asks', origin: 'peer', trust: 'untrusted', command: 'passed' } as const;
      const { kind, task } = parent.session.board.deliver({ ...source, contextId, conversation, passed: call });
      return kind === 'accepted' ? task : null;
    },
    offer: offersOf(parent.session),
    cancel: (task) => void parent.session.board.cancel(task).catch((error: unknown) => endOf(parent, error)),
    log: logs.parent,
    clock: parent.clock,
    redact: common.redact,
    onLost: (error) => endOf(parent, error),
  });

  const { task } = child.session.board.submit({ text: 'Push.', origin: 'user', trust: 'trusted' });
  const over = { is: false };
  const runs = [parent, child].map(async (each) => {
    try {
      await each.session.run();
    } catch (error) {
      if (!(error instanceof Diagnostic)) throw error;
    }
    if (each !== child) return;
    over.is = true;
    die();
  });
  const seen = new Set<string>();
  let turns = 0;
  while (!over.is) {
    const [open] = approvalsOf('child').list();
    if (open !== undefined && !seen.has(open.id)) {
      seen.add(open.id);
      for (const each of steps[seen.size - 1] ?? []) {
        for (let left = each.after; left > 0; left -= 1) await turn();
        doStep(each);
      }
      for (let left = 12; left > 0; left -= 1) await turn();
      // Whatever was done, the time of the question ends.
      for (const end of ends) fixtures[end].clock.advance(60_000);
    }
    await turn();
    turns += 1;
    // A stop or a cancel waits by this clock for what it ends.
    if (turns % 500 === 0) for (const end of ends) fixtures[end].clock.advance(60_000);
  }
  if (sides.parent.isDead) kill('parent');
  else void parent.session.shutDown().catch((error: unknown) => endOf(parent, error));
  await Promise.all(runs);
  for (const side of Object.values(sides)) side.close();
  faults.push(...settledOnce(sides.child.records), ...settledOnce(sides.parent.records), ...lost());
  return { faults, ran, ranFromAbove };

  function diesAt(end: End): Plan['dies'] {
    return dies?.at === end ? dies : null;
  }

  function approvalsOf(end: End): Approvals {
    const approvals = made.get(end);
    if (approvals === undefined) throw new Error('the fixture makes them');
    return approvals;
  }

  /** As the door ends a session whose record cannot be written. */
  function endOf(fixture: SessionFixture, error: unknown): void {
    if (!(error instanceof Diagnostic)) throw error;
    fixture.session.trap(error);
  }

  function kill(end: End): void {
    sides[end].isDead = true;
    fixtures[end].session.trap(new Diagnostic('E-IO-002', 'the process is gone'));
  }

  function happens(): void {
    if (sides.child.isDead) return;
    ran += 1;
    const records = sides.child.records;
    faults.push(...unapproved(records, ran));
    const started = records.filter(({ k }) => k === 'started')[ran - 1];
    const settled = records.find((record) => record.k === 'settled' && record.id === started?.id);
    if (settled?.k !== 'settled' || settled.by === 'person') return;
    ranFromAbove += 1;
    const isAllowed = sides.parent.records.some(
      (record) =>
        record.k === 'settled' &&
        record.decision === 'allow' &&
        record.by === settled.by &&
        record.digest === settled.digest,
    );
    if (!isAllowed) faults.push('a call ran by an answer that its parent has not written');
  }

  /** As a session passes its questions on, without the wire between the two. */
  async function passUp(asked: AskedApproval, settled: AbortSignal): Promise<void> {
    const answer = await answerFromAbove({ ...asked, below: [] }, settled);
    if (answer === null || sides.child.isDead) return;
    const { by, ...given } = answer;
    try {
      approvalsOf('child').answer({ id: asked.id, digest: asked.digest, ...given }, { principal: by, way: 'parent' });
    } catch (error) {
      endOf(child, error);
    }
  }

  async function answerFromAbove(question: PassedQuestion, settled: AbortSignal): Promise<PassedAnswer | null> {
    const gone: PassedAnswer = { decision: 'deny', option: 'once', note: 'it has ended', by: noPerson };
    for (;;) {
      const heard: { reply: ParentReply | null } = { reply: null };
      questions.hear(asking, { kind: 'ask', question }).then(
        (reply) => (heard.reply = reply),
        (error: unknown) => endOf(parent, error),
      );
      while (heard.reply === null && !settled.aborted && !sides.parent.isDead) await turn();
      if (settled.aborted) {
        if (!sides.parent.isDead) await questions.hear(asking, { kind: 'withdraw', id: question.id });
        return null;
      }
      const { reply } = heard;
      if (sides.parent.isDead || reply === null || reply.kind === 'refused') return gone;
      if (reply.kind === 'answered') {
        if (!asking.key.holds(question, reply)) faults.push('an answer came without its seal');
        return reply;
      }
      await turn();
    }
  }

  function doStep({ at, does, far }: Step): void {
    const { session, clock } = fixtures[at];
    const [open] = approvalsOf(at).list();
    const own = at === 'child' ? task : session.board.live()[0];
    if (sides[at].isDead) return;
    if (at === 'child' && ['cancel', 'stop', 'kill'].includes(does)) isInterrupted = true;
    try {
      if (does === 'expire') clock.advance(60_000);
      if (does === 'stop') void session.shutDown().catch((error: unknown) => endOf(fixtures[at], error));
      if (does === 'kill') kill(at);
      if (does === 'cancel' && own !== undefined)
        void session.board.cancel(own).catch((error: unknown) => endOf(fixtures[at], error));
      if (open === undefined) return;
      const answer = { id: open.id, digest: open.digest, option: far, note: null } as const;
      const by = at === 'child' ? 'person' : 'token:above';
      if (does === 'allow' || does === 'deny')
        approvalsOf(at).answer({ ...answer, decision: does }, { principal: by, way: 'door' });
      const forged = { ...answer, digest: 'sha256:0', decision: 'allow' } as const;
      if (does === 'forge' && approvalsOf(at).answer(forged, { principal: 'forger', way: 'door' }).kind === 'settled')
        faults.push('an answer for another call counted');
    } catch (error) {
      endOf(fixtures[at], error);
    }
  }

  /** What a session that did not die owes to those who asked and those who answered. */
  function lost(): readonly string[] {
    if (sides.child.isDead) return [];
    const records = sides.child.records;
    const settled = records.filter((record) => record.k === 'settled');
    const isSettled = (id: string): boolean => settled.some((record) => record.id === id);
    const open = records.filter(({ k, id }) => k === 'asked' && !isSettled(id));
    const allowed = settled.filter(({ decision }) => decision === 'allow');
    const idle = allowed.filter(({ id }) => !records.some((record) => record.k === 'started' && record.id === id));
    const anonymous = settled.filter(({ by }) => by === '');
    return [
      ...open.map(() => 'a question was never settled'),
      ...anonymous.map(() => 'an answer has no principal'),
      ...(isInterrupted ? [] : idle.map(() => 'a call that was allowed did not run')),
    ];
  }
}
