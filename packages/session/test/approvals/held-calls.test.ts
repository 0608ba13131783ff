import { describe, expect, it } from 'vitest';

import type { Approvals as Settings } from '@svc/artifacts/manifest/approvals.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { ApprovalRecord } from '@svc/record/sessions/approval-log.ts';
import { calls, says } from '../../../../test/support/fake-driver.ts';
import { fakeTool, passed, SessionFixture } from '../../../../test/support/session-fixture.ts';
import { Approvals, type KeptCalls } from '../../src/approvals/approvals.ts';

const userTask = { text: 'Push it.', origin: 'user', trust: 'trusted' } as const;
const askAll: Settings = { default: 'ask', opaque: 'ask', timeout: 60, answer: ['terminal', 'door'], rules: [] };

interface Held {
  readonly fixture: SessionFixture;
  readonly log: ApprovalRecord[];
  readonly ran: string[];
  readonly approvals: Approvals;
}

/** A session whose model makes these calls of the tool `push`, and then is done. */
function held(
  texts: readonly string[],
  options: {
    readonly settings?: Partial<Settings>;
    readonly unattended?: string;
    readonly failsAt?: string;
    readonly kept?: KeptCalls;
  } = {},
): Held {
  const log: ApprovalRecord[] = [];
  const ran: string[] = [];
  let approvals: Approvals | null = null;
  const fixture = new SessionFixture({
    turns: [calls(...texts.map((to): [string, object] => ['push', { to }])), says('Done.')],
    tools: [
      fakeTool('push', async ({ to }) => {
        ran.push(String(to));
        return passed('pushed');
      }),
    ],
    approvals: (recorder, clock) =>
      (approvals = new Approvals({
        rules: { ...askAll, ...options.settings },
        ways: options.settings?.answer ?? askAll.answer,
        timeoutMs: askAll.timeout * 1000,
        recorder,
        clock,
        log: {
          write: (record) => {
            if (record.k === options.failsAt) throw new Diagnostic('E-IO-002', 'no space left');
            log.push(record);
          },
          close: () => {},
        },
        unattended: async () => options.unattended ?? null,
        capsule: 'deployer',
        redact: (text) => text.replaceAll('hunter2', '[secret]'),
        ...(options.kept === undefined ? {} : { kept: options.kept }),
      })),
  });
  if (approvals === null) throw new Error('the fixture makes them');
  return { fixture, log, ran, approvals };
}

async function asked({ fixture, approvals }: Held, number = 1) {
  await fixture.frame(() => approvals.list()[0]?.id.endsWith(`_q${number}`) === true);
  const [open] = approvals.list();
  if (open === undefined) throw new Error('nothing waits');
  return open;
}

const allow = { decision: 'allow', option: 'once', note: null } as const;

function toolMessages({ fixture }: Held): readonly string[] {
  const messages = fixture.driver.requests.at(-1)?.messages ?? [];
  return messages.flatMap((message) =>
    message.role === 'tool' ? message.content.map((block) => (block.type === 'text' ? block.text : '')) : [],
  );
}

describe('a call that a person has to approve', () => {
  it('waits as a question does, and runs once it is allowed, with each step written before it [D1-STATE-03, D1-STATE-04, D1-STATE-05]', async () => {
    const session = held(['main']);
    const { fixture, approvals, log, ran } = session;
    const { task } = fixture.session.board.submit(userTask);
    const running = fixture.session.run();
    const open = await asked(session);
    expect(open).toMatchObject({
      id: `apr_${task.id.slice(4)}_q1`,
      taskId: task.id,
      capsule: ['deployer'],
      rule: 'approvals.default',
      effect: { kind: 'tool', tool: 'push', arguments: { to: 'main' } },
      options: ['once', 'session'],
      prompt: `approve this call? ["push",{"to":"main"}] - svc approve apr_${task.id.slice(4)}_q1 answers; a message does not`,
    });
    expect(open.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(ran).toEqual([]);
    expect(approvals.answer({ ...allow, ...open }, { principal: 'token:anna', way: 'door' })).toMatchObject({
      kind: 'settled',
    });
    expect((await running).status).toBe('ok');
    expect(ran).toEqual(['main']);
    const { id, digest } = open;
    expect(log).toMatchObject([
      { k: 'asked', id, digest, rule: 'approvals.default' },
      { k: 'settled', id, digest, decision: 'allow', option: 'once', by: 'token:anna' },
      { k: 'started', id, digest },
    ]);
    expect(fixture.lines).toEqual([
      '0 status working "inference turn 1"',
      `9223372036854775807 status input-required "${open.prompt}"`,
      '9223372036854775808 status working "resumed"',
      '1 artifact push ok',
      '2 status working "inference turn 2"',
      '3 text "Done." true',
      '4 status completed "session ended"',
    ]);
    expect(fixture.traced.find((event) => event.event_type === 'task_input_required')).toMatchObject({
      outcome: 'answered',
      principal: 'token:anna',
    });
  });

  it('outlasts its session where it is allowed in every session, and runs in the next one without a question', async () => {
    const kept = new Map<string, string>();
    const order: string[] = [];
    const options = {
      kept: {
        mayKeep: () => true,
        find: ({ digest }) => kept.get(digest) ?? null,
        keep: async ({ digest }, { id, by }) => {
          order.push(`${by} ${session.ran.length}`);
          kept.set(digest, id);
          return true;
        },
      } satisfies KeptCalls,
    };
    const session = held(['main'], options);
    session.fixture.session.board.submit(userTask);
    const running = session.fixture.session.run();
    const open = await asked(session);
    expect(open.options).toEqual(['once', 'session', 'manifest']);
    session.approvals.answer({ ...allow, ...open, option: 'manifest' }, { principal: 'person', way: 'terminal' });
    expect((await running).status).toBe('ok');
    expect([order, session.ran]).toEqual([['person 0'], ['main']]);
    const next = held(['main'], { ...options, unattended: 'nobody is there' });
    next.fixture.session.board.submit(userTask);
    expect((await next.fixture.session.run()).status).toBe('ok');
    expect([next.ran, next.log.map(({ k, id }) => [k, id])]).toEqual([['main'], [['started', open.id]]]);
    const denied = held(['main'], { ...options, settings: { rules: [{ deny: { tool: 'push' } }] } });
    denied.fixture.session.board.submit(userTask);
    expect((await denied.fixture.session.run()).status).toBe('ok');
    expect(denied.ran).toEqual([]);
  });

  /** A session that makes the same call twice, where the first is allowed in every session. */
  async function allowedInEvery(isKept: boolean): Promise<{ session: Held; running: Promise<unknown> }> {
    const session = held(['main', 'main'], {
      kept: { mayKeep: () => true, find: () => null, keep: async () => isKept },
    });
    session.fixture.session.board.submit(userTask);
    const running = session.fixture.session.run();
    const open = await asked(session);
    session.approvals.answer({ ...allow, ...open, option: 'manifest' }, { principal: 'person', way: 'terminal' });
    return { session, running };
  }

  it('needs a person again in the session that allowed it in every one, once it was forgotten', async () => {
    const { session, running } = await allowedInEvery(true);
    const again = await asked(session, 2);
    session.approvals.answer(
      { ...again, decision: 'deny', option: 'once', note: null },
      { principal: 'person', way: 'terminal' },
    );
    await running;
    expect(session.ran).toEqual(['main']);
  });

  it('runs again without a question in the session that allowed it in every one, where it could not be kept', async () => {
    const { session, running } = await allowedInEvery(false);
    await running;
    expect(session.ran).toEqual(['main', 'main']);
  });

  it('does not run where it is denied, and the model reads why', async () => {
    const session = held(['main']);
    session.fixture.session.board.submit(userTask);
    const running = session.fixture.session.run();
    const open = await asked(session);
    const note = 'not on a Friday';
    session.approvals.answer(
      { ...open, decision: 'deny', option: 'once', note },
      { principal: 'person', way: 'terminal' },
    );
    expect((await running).status).toBe('ok');
    expect(session.ran).toEqual([]);
    expect(toolMessages(session)).toEqual(['a person denied this call: not on a Friday']);
    expect(session.log.map(({ k }) => k)).toEqual(['asked', 'settled']);
    expect(session.fixture.lines.join('\n')).not.toContain('artifact');
  });

  it('ends as denied when its time is over, and clients see its tool fail [D1-STATE-06, D1-STATE-07, D1-STATE-08]', async () => {
    const session = held(['main']);
    session.fixture.session.board.submit(userTask);
    const running = session.fixture.session.run();
    const open = await asked(session);
    session.fixture.clock.advance(60_000);
    expect(session.approvals.answer({ ...allow, ...open }, { principal: 'person', way: 'terminal' })).toMatchObject({
      kind: 'already',
      settled: { decision: 'expired', by: 'clock' },
    });
    expect((await running).status).toBe('ok');
    expect(session.ran).toEqual([]);
    expect(session.log.at(-1)).toMatchObject({ k: 'settled', decision: 'expired', by: 'clock' });
    expect(session.fixture.lines.slice(2, 4)).toEqual([
      '9223372036854775808 status failed "input-timeout"',
      '1 artifact push error',
    ]);
  });

  it('takes the first answer alone, and none that is for another call', async () => {
    const session = held(['main']);
    session.fixture.session.board.submit(userTask);
    const running = session.fixture.session.run();
    const open = await asked(session);
    const { approvals } = session;
    expect(approvals.answer({ ...allow, ...open, digest: 'sha256:0' }, { principal: 'a', way: 'door' })).toEqual({
      kind: 'other-digest',
    });
    expect(approvals.answer({ ...allow, ...open, id: 'apr_1' }, { principal: 'a', way: 'door' })).toEqual({
      kind: 'unknown',
    });
    expect(
      approvals.answer({ ...open, decision: 'deny', option: 'once', note: null }, { principal: 'a', way: 'door' }),
    ).toMatchObject({
      kind: 'settled',
    });
    expect(approvals.answer({ ...allow, ...open }, { principal: 'b', way: 'door' })).toMatchObject({
      kind: 'already',
      settled: { decision: 'deny', by: 'a' },
    });
    await running;
    expect(session.ran).toEqual([]);
    expect(approvals.answer({ ...allow, ...open }, { principal: 'b', way: 'door' })).toMatchObject({ kind: 'already' });
  });

  it.each(['terminal', 'door', 'acp', 'mcp'] as const)(
    'takes the answer that comes by %s where approvals.answer names it, and nothing changes by any other way',
    async (way) => {
      const others = (['terminal', 'door', 'acp', 'mcp', 'parent'] as const).filter((each) => each !== way);
      const session = held(['main'], { settings: { answer: [way] } });
      session.fixture.session.board.submit(userTask);
      const running = session.fixture.session.run();
      const open = await asked(session);
      const { approvals, log } = session;
      for (const other of others) {
        expect(approvals.answer({ ...allow, ...open }, { principal: 'a', way: other })).toEqual({
          kind: 'elsewhere',
          ways: [way],
          why: `approvals.answer of its manifest names ${way}`,
        });
        expect(approvals.takes(other)).toBe(false);
      }
      expect([session.ran, approvals.list(), log.map(({ k }) => k)]).toEqual([[], [open], ['asked']]);
      expect(approvals.answer({ ...allow, ...open }, { principal: 'a', way })).toMatchObject({ kind: 'settled' });
      await running;
      expect(session.ran).toEqual(['main']);
    },
  );

  it('takes no message for an answer, whatever that says', async () => {
    const session = held(['main']);
    const { board } = session.fixture.session;
    const { task } = board.submit(userTask);
    const running = session.fixture.session.run();
    const open = await asked(session);
    const sender = { principal: 'token:peer', tags: {} };
    for (const text of ['yes', 'allow', open.id, JSON.stringify({ ...allow, ...open })]) {
      expect(board.answerInput({ text, sender })).toBeNull();
      expect(board.answer({ taskId: task.id, waitId: 'q1' }, { text, sender })).toBe(false);
    }
    expect(task.state).toBe('input-required');
    await board.cancel(task);
    await running;
    expect(session.ran).toEqual([]);
    expect(session.log.at(-1)).toMatchObject({ k: 'settled', decision: 'canceled', by: 'task' });
    expect(session.approvals.answer({ ...allow, ...open }, { principal: 'b', way: 'door' })).toMatchObject({
      kind: 'already',
      settled: { decision: 'canceled' },
    });
  });

  it('runs again without a question in a session that allows it, and another call does not', async () => {
    const session = held(['main', 'main', 'prod']);
    session.fixture.session.board.submit(userTask);
    const running = session.fixture.session.run();
    const first = await asked(session);
    session.approvals.answer({ ...allow, ...first, option: 'session' }, { principal: 'person', way: 'terminal' });
    const second = await asked(session, 2);
    expect(second.effect).toMatchObject({ arguments: { to: 'prod' } });
    expect(session.ran).toEqual(['main', 'main']);
    session.approvals.answer(
      { ...second, decision: 'deny', option: 'once', note: null },
      { principal: 'person', way: 'terminal' },
    );
    await running;
    expect(session.ran).toEqual(['main', 'main']);
    expect(session.log.filter(({ k }) => k === 'started')).toMatchObject([{ id: first.id }, { id: first.id }]);
  });

  it('ends at once where nobody can be asked, and says why', async () => {
    const session = held(['main'], { unattended: 'nobody can be asked' });
    session.fixture.session.board.submit(userTask);
    const running = session.fixture.session.run();
    // Whichever comes first: nobody would end a wait.
    await Promise.race([running, session.fixture.frame(() => session.approvals.list().length > 0)]);
    expect(session.approvals.list()).toEqual([]);
    await running;
    expect(session.ran).toEqual([]);
    expect(session.log).toEqual([]);
    expect(toolMessages(session)).toEqual([
      'a person has to approve this call (approvals.default), and nobody can be asked',
    ]);
  });

  it('shows nothing of a secret, and is for the call as it would run', async () => {
    const [one, other] = [held(['hunter2']), held(['[secret]'])];
    const digests: string[] = [];
    for (const session of [one, other]) {
      session.fixture.session.board.submit(userTask);
      const running = session.fixture.session.run();
      const open = await asked(session);
      digests.push(open.digest);
      expect(JSON.stringify([open, session.log])).not.toContain('hunter2');
      session.approvals.answer(
        { ...open, decision: 'deny', option: 'once', note: null },
        { principal: 'person', way: 'terminal' },
      );
      await running;
    }
    expect(new Set(digests).size).toBe(2);
  });

  it.each(['asked', 'settled', 'started'])(
    'does not run where "%s" cannot be written, and the session ends',
    async (failsAt) => {
      const session = held(['main'], { failsAt });
      session.fixture.session.board.submit(userTask);
      const running = session.fixture.session.run();
      if (failsAt !== 'asked') {
        const open = await asked(session);
        const answer = (): unknown =>
          session.approvals.answer({ ...allow, ...open }, { principal: 'person', way: 'terminal' });
        if (failsAt === 'settled') {
          expect(answer).toThrow('no space left');
          session.fixture.session.trap(new Diagnostic('E-IO-002', 'no space left'));
        } else answer();
      }
      expect((await running).status).toBe('trapped');
      expect(session.ran).toEqual([]);
    },
  );

  it('shows its beginning where it is too long, and then takes no answer for the session', async () => {
    const session = held(['m'.repeat(70_000)]);
    session.fixture.session.board.submit(userTask);
    const running = session.fixture.session.run();
    const open = await asked(session);
    expect(open.options).toEqual(['once']);
    expect(JSON.stringify(open).length).toBeLessThan(6000);
    expect(open.effect).toMatchObject({ kind: 'tool', tool: 'push', bytes: 70_051 });
    expect(
      session.approvals.answer({ ...allow, ...open, option: 'session' }, { principal: 'person', way: 'terminal' }),
    ).toEqual({
      kind: 'not-offered',
    });
    session.approvals.answer({ ...allow, ...open }, { principal: 'person', way: 'terminal' });
    await running;
    expect(session.ran).toHaveLength(1);
  });
});

it('a call that rules deny does not run, and nobody is asked', async () => {
  const session = held(['main', 'prod'], {
    settings: { default: 'allow', rules: [{ deny: { tool: 'push', args: { to: 'prod' } } }] },
  });
  session.fixture.session.board.submit(userTask);
  await session.fixture.session.run();
  expect(session.ran).toEqual(['main']);
  expect(session.log).toEqual([]);
  expect(toolMessages(session)[1]).toBe('the rules of the operator deny this call (approvals.rules[0])');
});
