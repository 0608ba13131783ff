/** Drives sessions that ask for approvals by answers, cancels, the clock and a crash in any order, and looks for calls that ran without a written answer. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import fc from 'fast-check';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { HeldRequest } from '@svc/kit/keys/bound-host.ts';
import { heldRequest } from '@svc/kit/keys/held-request.ts';
import { approvalFile, type ApprovalRecord, openApprovalLog } from '@svc/record/sessions/approval-log.ts';
import { calls, says } from '../../../../test/support/fake-driver.ts';
import { fakeTool, passed, SessionFixture } from '../../../../test/support/session-fixture.ts';
import { Approvals } from '../../src/approvals/approvals.ts';
import { askingLaunch } from '../../src/tools/asking-launch.ts';

type Step =
  | { readonly does: 'allow' | 'deny'; readonly by: string; readonly far: 'once' | 'session' | 'manifest' }
  | { readonly does: 'forge' | 'late' | 'message' | 'cancel' | 'expire' | 'stop' | 'leave' };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    does: fc.constantFrom('allow', 'deny'),
    by: fc.constantFrom('token:a', 'person'),
    far: fc.constantFrom('once', 'session', 'manifest'),
  }),
  fc.record({ does: fc.constantFrom('forge', 'late', 'message', 'cancel', 'expire', 'stop', 'leave') }),
);

/** What is done while the n-th question waits, one after the other in one turn of the event loop; and the write at which the process ends. */
const plan = fc.record({
  /** `file` and `sends` are calls that are asked about in their middle: `sends` makes two requests, each again if nobody waited for its answer. */
  texts: fc.array(fc.constantFrom('main', 'prod', 'file', 'sends'), { minLength: 1, maxLength: 3 }),
  steps: fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { minLength: 5, maxLength: 5 }),
  /** Whether a call that is allowed in every session can be written there. */
  keeps: fc.boolean(),
  dies: fc.option(fc.record({ at: fc.nat(8), isWritten: fc.boolean() }), { nil: null }),
});

type Plan = typeof plan extends fc.Arbitrary<infer Each> ? Each : never;

const origin = 'https://api.test';
const rules = [
  { allow: { tool: 'edit' } },
  { ask: { tool: 'edit', path: 'config/**' } },
  { allow: { tool: 'send' } },
  { ask: { request: `POST ${origin}/**` } },
];
const sent = ['1', '2'].map((body) =>
  heldRequest({ origin, method: 'POST', target: '/x', headers: [] }, Buffer.from(body)),
);
const change = { operation: 'write', path: 'config/app', to: null, isTree: false, isLinked: false } as const;

/** Sentences on what went wrong in so many sessions. */
export async function faultsIn(count: number): Promise<{ readonly faults: readonly string[]; readonly ran: number }> {
  const faults: string[] = [];
  let ran = 0;
  for (const each of fc.sample(plan, { numRuns: count, seed: 20_261 })) {
    const folder = mkdtempSync(join(tmpdir(), 'approvals-'));
    try {
      const outcome = await played(each, folder);
      ran += outcome.ran;
      faults.push(...outcome.faults.map((fault) => `${fault}: ${JSON.stringify(each)}`));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return { faults, ran };
}

async function played({ texts, steps, keeps, dies }: Plan, folder: string): Promise<{ faults: string[]; ran: number }> {
  const faults: string[] = [];
  const file = openApprovalLog(folder);
  let isDead = false;
  let writes = 0;
  let ran = 0;
  let approvals: Approvals | null = null;
  const written = (): readonly ApprovalRecord[] => linesOf(folder);
  /** Requests that were allowed, and started, when nobody waited any more. */
  let unsent = 0;
  let leaves = new AbortController();
  const happens = (request?: HeldRequest): void => {
    if (isDead) return;
    ran += 1;
    faults.push(...unapproved(written(), ran + unsent));
    if (request !== undefined) faults.push(...ofAnother(written(), request));
  };
  const kept = new Map<string, string>();
  const made = texts.map((to): [string, object] =>
    to === 'file' ? ['edit', {}] : to === 'sends' ? ['send', {}] : ['push', { to }],
  );
  const fixture = new SessionFixture({
    turns: [calls(...made), says('Done.')],
    tools: [
      fakeTool('push', async () => {
        happens();
        return passed('pushed');
      }),
      fakeTool('edit', async (_args, { judgeChange }) => {
        const verdict = await judgeChange?.(change);
        if (verdict?.kind === 'proceed') happens();
        return passed('edited');
      }),
      fakeTool('send', async (_args, context) => {
        const { requests } = context;
        if (requests === undefined) throw new Error('nobody judges its requests');
        const left = (request: HeldRequest): void => {
          // It was allowed, and written, a moment before.
          if (written().at(-1)?.k === 'started') unsent += 1;
          requests.left(request);
        };
        const { turns, asking } = askingLaunch({ requests: { ...requests, left } }, { asksRequests: true });
        for (const request of [...sent, ...sent]) {
          leaves = new AbortController();
          const verdict = await asking.requests?.judge(request, leaves.signal);
          if (verdict?.kind === 'proceed') happens(request);
        }
        await turns.over();
        return passed('sent');
      }),
    ],
    approvals: (recorder, clock) =>
      (approvals = new Approvals({
        rules: { default: 'ask', opaque: 'ask', rules },
        ways: ['door'],
        timeoutMs: 60_000,
        recorder,
        clock,
        log: {
          write: (record) => {
            const isEnd = writes === dies?.at;
            writes += 1;
            if (isDead) throw new Diagnostic('E-IO-002', 'the process is gone');
            if (!isEnd || dies.isWritten) file.write(record);
            if (!isEnd) return;
            isDead = true;
            throw new Diagnostic('E-IO-002', 'the process ends here');
          },
          close: () => {},
        },
        unattended: async () => null,
        capsule: 'c',
        redact: (text) => text,
        kept: {
          mayKeep: () => true,
          find: ({ digest }) => kept.get(digest) ?? null,
          keep: async ({ digest }, { id }) => {
            await new Promise((resolve) => setImmediate(resolve));
            if (keeps && !isDead) kept.set(digest, id);
            return keeps;
          },
        },
      })),
  });
  const { board } = fixture.session;
  const { task } = board.submit({ text: 'Push.', origin: 'user', trust: 'trusted' });
  const running = fixture.session.run().catch((error: unknown) => {
    if (!isDead) throw error;
  });
  const over = { is: false };
  void running.then(() => (over.is = true));
  const seen = new Set<string>();
  let last: { id: string; digest: string } | null = null;
  while (!over.is) {
    const [open] = (approvals as Approvals | null)?.list() ?? [];
    if (open !== undefined && !seen.has(open.id)) {
      for (const each of steps[seen.size] ?? []) doStep(each, open);
      // Whatever was done, the time of the question ends.
      fixture.clock.advance(60_000);
      seen.add(open.id);
      last = open;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  await running;
  file.close();
  return { faults: [...faults, ...settledOnce(written())], ran };

  function doStep(each: Step, open: { readonly id: string; readonly digest: string }): void {
    const answers = approvals as unknown as Approvals;
    const allow = { id: open.id, digest: open.digest, decision: 'allow', option: 'once', note: null } as const;
    try {
      switch (each.does) {
        case 'allow':
        case 'deny':
          answers.answer({ ...allow, decision: each.does, option: each.far }, { principal: each.by, way: 'door' });
          return;
        case 'forge':
          if (
            answers.answer({ ...allow, digest: last?.digest ?? 'sha256:0' }, { principal: 'forger', way: 'door' })
              .kind === 'settled'
          ) {
            if (last?.digest !== open.digest) faults.push('an answer for another call counted');
          }
          return;
        case 'late':
          if (
            last !== null &&
            answers.answer({ ...allow, ...last }, { principal: 'late', way: 'door' }).kind === 'settled'
          ) {
            faults.push('an approval was settled twice');
          }
          return;
        case 'message':
          if (board.answerInput({ text: 'allow' }) !== null) faults.push('a message answered');
          return;
        case 'cancel':
          void board.cancel(task);
          return;
        case 'expire':
          fixture.clock.advance(60_000);
          return;
        case 'stop':
          void fixture.session.shutDown();
          return;
        case 'leave':
          leaves.abort();
      }
    } catch (error) {
      if (!(error instanceof Diagnostic)) throw error;
      // The door ends a session whose answers cannot be written.
      fixture.session.trap(error);
    }
  }
}

/** What the record of a session says so far. */
export function linesOf(folder: string): readonly ApprovalRecord[] {
  try {
    const text = readFileSync(join(folder, approvalFile), 'utf8');
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as ApprovalRecord);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

/** What the file has to say when the n-th call runs. */
export function unapproved(records: readonly ApprovalRecord[], number: number): readonly string[] {
  const started = records.filter(({ k }) => k === 'started');
  const own = started[number - 1];
  if (started.length !== number || own === undefined) return ['a call ran that was not written as started'];
  const allowed = records.some(
    (record) =>
      record.k === 'settled' && record.decision === 'allow' && record.digest === own.digest && record.by !== '',
  );
  return allowed ? [] : ['a call ran without a written allow of its digest'];
}

/** The request that just goes out is the one that its line was asked about. */
function ofAnother(records: readonly ApprovalRecord[], { body }: HeldRequest): readonly string[] {
  const started = records.findLast(({ k }) => k === 'started');
  const asked = records.find((record) => record.k === 'asked' && record.digest === started?.digest);
  const is = asked?.k === 'asked' && JSON.stringify(asked.effect).includes(body.sha256);
  return is ? [] : ['a request went out by the answer to another one'];
}

export function settledOnce(records: readonly ApprovalRecord[]): readonly string[] {
  const settled = records.filter(({ k }) => k === 'settled').map(({ id }) => id);
  return new Set(settled).size === settled.length ? [] : ['an approval is settled twice in the file'];
}
