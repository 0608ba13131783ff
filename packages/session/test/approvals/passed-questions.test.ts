import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import type { ContextId, DelegationId, SessionId } from '@svc/protocol/ids.ts';
import type { ParentReply, PassedQuestion } from '@svc/protocol/passed-question.ts';
import type { ApprovalRecord } from '@svc/record/sessions/approval-log.ts';
import { calls, says, type Turn } from '../../../../test/support/fake-driver.ts';
import { fakeTool, passed, SessionFixture } from '../../../../test/support/session-fixture.ts';
import { Approvals, type ApprovalsDeps } from '../../src/approvals/approvals.ts';
import { offersOf } from '../../src/approvals/shown-offers.ts';
import { PassedQuestions, type PassedQuestionsDeps } from '../../src/approvals/passed-questions.ts';
import { ChildKey, hashOf } from '../../src/delegation/child-key.ts';
import type { AskingChild } from '../../src/delegation/delegations-deps.ts';
import { ParentLine } from '../../src/delegation/parent-line.ts';

const digest = `sha256:${'a'.repeat(64)}`;
const startMs = 1_760_000_000_000;

function questionOf(id: string, more: Partial<PassedQuestion> = {}): PassedQuestion {
  return {
    id,
    digest,
    expiresAtMs: startMs + 60_000,
    rule: 'approvals.rules[0]',
    effect: { kind: 'command', argv: ['git', 'push', '\u202Eevil'], cwd: '.' },
    options: ['once', 'session', 'manifest'],
    below: [],
    ...more,
  };
}

interface Child extends AskingChild {
  readonly die: () => void;
}

function childOf(name: string): Child {
  let die = (): void => {};
  const over = new Promise<void>((resolve) => (die = resolve));
  return {
    delegationId: `dlg_${name}` as DelegationId,
    sessionId: `ses_${name}` as SessionId,
    capsule: name,
    taskId: 'tsk_delegating',
    contextId: 'ctx_1' as ContextId,
    conversation: 'ctx_1' as ContextId,
    key: ChildKey.mint(systemClock),
    over,
    die,
  };
}

function pending(): { readonly over: Promise<void>; readonly end: () => void } {
  let end = (): void => {};
  const over = new Promise<void>((resolve) => (end = resolve));
  return { over, end: () => end() };
}

/** A tool that asks the sender of its task. */
const asking = fakeTool('ask', async (_args, { requestInput }) => {
  const { kind } = await requestInput('Which colour?');
  return passed(kind);
});

/** The session of a person, whose children ask it. */
function asked(
  changes: Partial<PassedQuestionsDeps> = {},
  failsAt?: ApprovalRecord['k'],
  turns: readonly Turn[] = [],
  ways: ApprovalsDeps['ways'] = ['terminal', 'door'],
) {
  const records: ApprovalRecord[] = [];
  const log = {
    write: (record: ApprovalRecord) => {
      if (record.k === failsAt) throw new Diagnostic('E-IO-002', 'no space left');
      records.push(record);
    },
    close: () => {},
  };
  const made: Approvals[] = [];
  const fixture = new SessionFixture({
    turns,
    tools: [asking],
    acceptance: { afterTask: 'sleep' },
    approvals: (recorder, clock) => {
      const unattended = async (): Promise<null> => null;
      const parts = { rules: null, ways, timeoutMs: 1000, recorder, clock, log, unattended, capsule: 'lead' };
      const approvals = new Approvals({ ...parts, redact: (text) => text });
      made.push(approvals);
      return approvals;
    },
  });
  const [approvals] = made;
  if (approvals === undefined) throw new Error('the fixture makes them');
  const { board } = fixture.session;
  const lost: unknown[] = [];
  const questions = new PassedQuestions({
    up: null,
    whyUnattended: async () => null,
    submit: ({ contextId, conversation }, passed) => {
      const source = { text: 'asks', origin: 'peer', trust: 'untrusted', command: 'passed' } as const;
      const { kind, task } = board.deliver({ ...source, contextId, conversation, passed });
      return kind === 'accepted' ? task : null;
    },
    offer: offersOf(fixture.session),
    cancel: (task) => void board.cancel(task),
    log,
    clock: fixture.clock,
    redact: (text) => text.replaceAll('hunter2', '[secret]'),
    onLost: (error) => lost.push(error),
    ...changes,
  });
  const running = fixture.session.run();
  const ask = async (child: Child, question: PassedQuestion): Promise<ParentReply> =>
    await questions.hear(child, { kind: 'ask', question });
  const shown = async (count = 1) => {
    await expect.poll(() => fixture.lines.filter((line) => line.includes('input-required')).length).toBe(count);
    const [open] = approvals.list();
    if (open === undefined) throw new Error('nothing waits');
    return open;
  };
  return { fixture, approvals, questions, records, lost, running, ask, shown };
}

const allow = { decision: 'allow', option: 'once', note: null } as const;

describe('the question of a child', () => {
  it('has the names that its parents gave, shows nothing that turns text, and is answered with a seal for that child and call alone', async () => {
    const { fixture, approvals, records, ask, shown } = asked();
    const child = childOf('deployer');
    const question = questionOf('apr_c_q1', { below: ['helper'] });
    const heard = ask(child, question);
    const open = await shown();
    expect(open).toMatchObject({ capsule: ['lead', 'deployer', 'helper'], digest, options: ['once', 'session'] });
    expect(open.prompt).toMatch(
      /^deployer > helper: approve this call\? \["git","push","\\u\{202e\}evil"\] - svc approve apr_/,
    );
    expect(
      approvals.answer({ id: open.id, digest: 'sha256:0', ...allow }, { principal: 'person', way: 'terminal' }).kind,
    ).toBe('other-digest');
    expect(
      approvals.answer({ id: open.id, digest, ...allow, option: 'manifest' }, { principal: 'person', way: 'terminal' })
        .kind,
    ).toBe('not-offered');
    expect(approvals.answer({ id: open.id, digest, ...allow }, { principal: 'token:anna', way: 'door' }).kind).toBe(
      'settled',
    );
    const reply = await heard;
    if (reply.kind !== 'answered') throw new Error(`it is ${reply.kind}`);
    expect(reply).toMatchObject({ ...allow, by: 'token:anna' });
    expect(child.key.holds(question, reply)).toBe(true);
    expect(childOf('deployer').key.holds(question, reply)).toBe(false);
    expect(child.key.holds({ ...question, digest: `sha256:${'b'.repeat(64)}` }, reply)).toBe(false);
    expect(child.key.holds(question, { ...reply, option: 'session' })).toBe(false);
    expect(records.map(({ k }) => k)).toEqual(['passed', 'settled']);
    // A reply that was lost comes again, and asks nobody again.
    expect(await ask(child, question)).toEqual(reply);
    expect(await ask(child, { ...question, digest: `sha256:${'b'.repeat(64)}` })).toMatchObject({ kind: 'refused' });
    expect([fixture.driver.requests, fixture.results]).toEqual([[], []]);
  });

  it('takes the answers that the session of that person takes, in its turn and before it', async () => {
    const turns = [calls(['ask', {}]), says('Done.')];
    const { fixture, approvals, ask, shown } = asked({}, undefined, turns, ['terminal']);
    const first = ask(childOf('a'), questionOf('apr_1'));
    const open = await shown();
    const second = ask(childOf('b'), questionOf('apr_2'));
    await expect.poll(() => approvals.list().length).toBe(2);
    for (const { id } of approvals.list()) {
      for (const way of ['door', 'acp', 'mcp', 'parent'] as const) {
        const why = 'approvals.answer of its manifest names terminal';
        const elsewhere = { kind: 'elsewhere', ways: ['terminal'], why };
        expect(approvals.answer({ id, digest, ...allow }, { principal: 'a', way })).toEqual(elsewhere);
      }
    }
    expect([approvals.list().length, fixture.session.board.find(open.taskId)?.state]).toEqual([2, 'input-required']);
    for (const { id } of approvals.list()) {
      const person = { principal: 'person', way: 'terminal' } as const;
      expect(approvals.answer({ id, digest, ...allow }, person).kind).toBe('settled');
    }
    expect([(await first).kind, (await second).kind]).toEqual(['answered', 'answered']);
  });

  it('never takes the place of the task that runs, or has run last', async () => {
    const { fixture, approvals, ask, shown } = asked();
    const { board } = fixture.session;
    const { task } = board.submit({ text: '/nothing', origin: 'user', trust: 'trusted', command: 'shown' });
    await task.whenEnded;
    expect(board.current()).toBe(task);
    const heard = ask(childOf('c'), questionOf('apr_1'));
    const { id, taskId } = await shown();
    expect([board.find(taskId)?.state, board.current()]).toEqual(['input-required', task]);
    approvals.answer({ id, digest, ...allow }, { principal: 'person', way: 'terminal' });
    await heard;
    expect([board.find(taskId)?.state, board.current()]).toEqual(['completed', task]);
  });

  it('takes an answer while a task of the session runs, which hears nothing of it', async () => {
    const work = pending();
    const working: Turn = async () => {
      await work.over;
      return says('Done.');
    };
    const { fixture, approvals, records, questions, ask } = asked({}, undefined, [working]);
    const { board, activity } = fixture.session;
    const told: string[] = [];
    activity.subscribe((each) => {
      if (each.kind === 'question-offered') told.push(`offered ${each.question.approval?.capsule.at(-1)}`);
      if (each.kind === 'offer-over') told.push(`over ${each.answer}`);
      if (each.kind === 'question') told.push('question');
    });
    const { task } = board.submit({ text: 'Work.', origin: 'user', trust: 'trusted' });
    await expect.poll(() => fixture.lines.some((line) => line.includes('working'))).toBe(true);
    const [one, two] = [childOf('one'), childOf('two')];
    const heard = ask(one, questionOf('apr_1'));
    const taken = ask(two, questionOf('apr_2'));
    await expect.poll(() => approvals.list().map(({ capsule }) => capsule.at(-1))).toEqual(['one', 'two']);
    const [first, second] = approvals.list();
    if (first === undefined || second === undefined) throw new Error('both wait');
    expect(board.find(first.taskId)?.state).toBe('submitted');
    expect(
      approvals.answer({ id: first.id, digest: 'sha256:0', ...allow }, { principal: 'person', way: 'terminal' }).kind,
    ).toBe('other-digest');
    expect(approvals.answer({ id: first.id, digest, ...allow }, { principal: 'token:anna', way: 'door' }).kind).toBe(
      'settled',
    );
    expect(approvals.answer({ id: first.id, digest, ...allow }, { principal: 'late', way: 'door' }).kind).toBe(
      'already',
    );
    expect(await heard).toMatchObject({ kind: 'answered', ...allow, by: 'token:anna' });
    // The other one is taken back by its child.
    await questions.hear(two, { kind: 'withdraw', id: 'apr_2' });
    expect(await taken).toMatchObject({ decision: 'deny' });
    expect(approvals.list()).toEqual([]);
    expect([task.state, told]).toEqual(['working', ['offered one', 'over allow', 'offered two', 'over null']]);
    work.end();
    await board.find(first.taskId)?.whenEnded;
    expect(board.find(first.taskId)).toMatchObject({ state: 'completed', result: 'allow by token:anna' });
    expect(records.map((record) => (record.k === 'settled' ? record.decision : record.k))).toEqual([
      'passed',
      'passed',
      'allow',
      'canceled',
    ]);
    const traced = fixture.traced.filter((event) => event.event_type === 'task_input_required');
    expect(traced).toMatchObject([{ task_id: first.taskId, outcome: 'answered', principal: 'token:anna' }]);
  });

  it('ends the session where its end cannot be written before its turn', async () => {
    const work = pending();
    const working: Turn = async () => {
      await work.over;
      return says('Done.');
    };
    const { fixture, approvals, questions, lost, ask } = asked({}, 'settled', [working]);
    fixture.session.board.submit({ text: 'Work.', origin: 'user', trust: 'trusted' });
    await expect.poll(() => fixture.lines.some((line) => line.includes('working'))).toBe(true);
    const child = childOf('c');
    const heard = ask(child, questionOf('apr_1'));
    await expect.poll(() => approvals.list().length).toBe(1);
    await questions.hear(child, { kind: 'withdraw', id: 'apr_1' });
    expect(await heard).toMatchObject({ kind: 'refused' });
    expect(lost).toMatchObject([{ code: 'E-IO-002' }]);
    work.end();
  });

  it('ends with its time, though its child says nothing, so that the next one is shown', async () => {
    const work = pending();
    const working: Turn = async () => {
      await work.over;
      return says('Done.');
    };
    const { fixture, approvals, records, ask } = asked({}, undefined, [working]);
    const { board } = fixture.session;
    const shown = (): readonly string[] =>
      board.live().flatMap(({ offered }) => offered?.approval?.capsule.at(-1) ?? []);
    board.submit({ text: 'Work.', origin: 'user', trust: 'trusted' });
    await expect.poll(() => fixture.lines.some((line) => line.includes('working'))).toBe(true);
    const heard = ask(childOf('stopped'), questionOf('apr_1', { expiresAtMs: startMs + 10_000 }));
    void ask(childOf('other'), questionOf('apr_2'));
    await expect.poll(() => approvals.list().length).toBe(2);
    expect(shown()).toEqual(['stopped']);
    fixture.clock.advance(10_000);
    await expect.poll(shown).toEqual(['other']);
    expect(await heard).toMatchObject({ decision: 'deny' });
    expect(records.at(-1)).toMatchObject({ k: 'settled', decision: 'expired', by: 'clock' });
    work.end();
  });

  it('gives way to a question of the task that runs, and is shown again after it and in its own turn', async () => {
    const work = pending();
    const working: Turn = async () => {
      await work.over;
      return calls(['ask', {}]);
    };
    const { fixture, approvals, ask } = asked({}, undefined, [working, says('Done.')]);
    const { board, activity } = fixture.session;
    const told: string[] = [];
    activity.subscribe((each) => {
      if (each.kind === 'question-offered') told.push(each.isAgain ? 'offered again' : 'offered');
      if (each.kind === 'question' || each.kind === 'question-settled') told.push(`${each.kind} ${each.task.command}`);
    });
    board.submit({ text: 'Work.', origin: 'user', trust: 'trusted' });
    await expect.poll(() => fixture.lines.some((line) => line.includes('working'))).toBe(true);
    const heard = ask(childOf('c'), questionOf('apr_1'));
    await expect.poll(() => told).toEqual(['offered']);
    work.end();
    await expect.poll(() => told.at(-1)).toBe('question null');
    expect(board.answerInput({ text: 'red' })).not.toBe(null);
    await expect.poll(() => told.at(-1)).toBe('question passed');
    expect(told).toEqual(['offered', 'question null', 'question-settled null', 'offered again', 'question passed']);
    const [open, ...more] = approvals.list();
    expect(more).toEqual([]);
    approvals.answer({ id: open?.id ?? '', digest, ...allow }, { principal: 'person', way: 'terminal' });
    expect(await heard).toMatchObject({ ...allow, by: 'person' });
  });

  it('waits with 15 others at most, and comes a hundred times at most from one child', async () => {
    const { questions, ask, shown, fixture } = asked();
    const child = childOf('flood');
    const first = Array.from({ length: 1000 }, (_, at) => ask(child, questionOf(`apr_c_q${at}`)));
    const refused = await Promise.all(first.slice(16));
    expect(new Set(refused.map(({ kind }) => kind))).toEqual(new Set(['refused']));
    await shown();
    expect(fixture.session.board.live()).toHaveLength(16);
    // Another child finds no room, until one of them is taken back.
    expect(await ask(childOf('other'), questionOf('apr_o_q1'))).toMatchObject({ kind: 'refused' });
    for (let at = 0; at < 16; at += 1) await questions.hear(child, { kind: 'withdraw', id: `apr_c_q${at}` });
    await Promise.all(first.slice(0, 16));
    for (let at = 16; at < 150; at += 1) {
      const again = ask(child, questionOf(`apr_d_q${at}`));
      await questions.hear(child, { kind: 'withdraw', id: `apr_d_q${at}` });
      expect((await again).kind === 'refused').toBe(at >= 100);
    }
    expect(fixture.session.board.live()).toHaveLength(0);
  });

  it('ends with its child, with a cancel and with its time, and takes no answer then', async () => {
    const { fixture, approvals, records, ask, shown } = asked();
    const dying = childOf('dying');
    const lost = ask(dying, questionOf('apr_1'));
    const first = await shown(1);
    dying.die();
    expect((await lost).kind).toBe('answered');
    expect(
      approvals.answer({ id: first.id, digest, ...allow }, { principal: 'person', way: 'terminal' }),
    ).toMatchObject({
      kind: 'already',
      settled: { decision: 'canceled', by: 'task' },
    });
    const canceled = ask(childOf('canceled'), questionOf('apr_2'));
    const { taskId } = await shown(2);
    const task = fixture.session.board.find(taskId);
    if (task === undefined) throw new Error('it waits');
    await fixture.session.board.cancel(task, 'operator');
    expect(await canceled).toMatchObject({ decision: 'deny', by: 'operator', note: 'the question was canceled' });
    const late = ask(childOf('late'), questionOf('apr_3'));
    const third = await shown(3);
    fixture.clock.advance(60_000);
    // Its own session knows that its time is over.
    expect(await late).toEqual({ kind: 'waits' });
    expect(approvals.answer({ id: third.id, digest, ...allow }, { principal: 'person', way: 'terminal' }).kind).toBe(
      'already',
    );
    const ends = records.flatMap((record) => (record.k === 'settled' ? [`${record.decision} ${record.by}`] : []));
    expect(ends).toEqual(['canceled task', 'canceled task', 'expired clock']);
  });

  it('reaches nobody where nobody is there, and ends the session whose record cannot be written', async () => {
    const alone = asked({ whyUnattended: async () => 'nobody can be asked' });
    const reason = 'nobody can be asked';
    expect(await alone.ask(childOf('c'), questionOf('apr_1'))).toEqual({ kind: 'refused', reason });
    expect(await alone.questions.hear(childOf('c'), { kind: 'look' })).toEqual({ kind: 'refused', reason });
    const full = asked({}, 'passed');
    const heard = full.ask(childOf('c'), questionOf('apr_1'));
    expect(await full.running).toMatchObject({ status: 'trapped', trap: { code: 'E-IO-002' } });
    expect(await heard).toMatchObject({ decision: 'deny' });
  });

  it('goes on to the parent of this session under an id of its own, and the answer down with the seal of the child', async () => {
    const up: PassedQuestion[] = [];
    const { records, ask } = asked({
      up: {
        ask: async (question) => {
          up.push(question);
          return { ...allow, by: 'terminal' };
        },
      },
    });
    const [one, other] = [childOf('one'), childOf('other')];
    const question = questionOf('apr_same', {
      below: ['last'],
      effect: { kind: 'tool', tool: 'send', arguments: 'hunter2' },
    });
    const replies = [await ask(one, question), await ask(other, question)];
    expect(up).toMatchObject([
      { below: ['one', 'last'], digest, effect: { arguments: '[secret]' } },
      { below: ['other', 'last'], digest },
    ]);
    expect(up[0]?.id).not.toBe(up[1]?.id);
    for (const [at, { key }] of [one, other].entries()) {
      const reply = replies[at];
      if (reply?.kind !== 'answered') throw new Error('it is not answered');
      expect(key.holds(question, reply)).toBe(true);
    }
    expect(records.map(({ k }) => k)).toEqual(['passed', 'settled', 'passed', 'settled']);
  });
});

/** A server at the address of a parent that says these, one for each request; and what it was shown. */
async function parent(
  key: ChildKey,
  replies: readonly (ParentReply | null)[],
): Promise<{ line: ParentLine; seen: string[]; pauses: number[]; end: () => void }> {
  const seen: string[] = [];
  const pauses: number[] = [];
  const clock = {
    after: (ms: number, then: () => void) => {
      pauses.push(ms);
      return systemClock.after(1, then);
    },
  };
  let isThere = true;
  let count = 0;
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const { id, params } = JSON.parse(body) as { id: unknown; params: { kind: string } };
      seen.push(`${params.kind} ${request.headers.authorization ?? ''}`);
      const reply = replies[count];
      count += 1;
      if (reply === null || reply === undefined) return void request.socket.destroy();
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: reply }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const line = new ParentLine({ url, key, isParentThere: () => isThere, clock });
  return { line, seen, pauses, end: () => (isThere = false) };
}

describe('a child', () => {
  const question = questionOf('apr_1');
  const never = new AbortController().signal;

  it('believes its parent alone, and never the one that it has shown its token', async () => {
    const key = ChildKey.mint(systemClock);
    const said = { ...allow, by: 'person' };
    const real = { kind: 'answered', ...said, seal: key.seal(question, said) } as const;
    const honest = await parent(key, [{ kind: 'waits' }, null, real]);
    expect(await honest.line.ask(question, never)).toEqual(said);
    expect(new Set(honest.seen)).toEqual(new Set([`ask Bearer ${key.token.reveal()}`]));
    expect(hashOf(key.token.reveal())).toBe(key.tokenHash);
    const forgeries = [
      { ...real, seal: key.token.reveal() },
      { ...real, seal: '' },
      { ...real, by: 'token:anna' },
      { ...real, option: 'session' },
      { ...real, seal: key.seal({ ...question, id: 'apr_2' }, said) },
      { kind: 'open' },
    ] as const;
    for (const forgery of forgeries) {
      const impostor = await parent(key, [forgery]);
      expect(await impostor.line.ask(question, never)).toMatchObject({ decision: 'deny', by: 'parent' });
    }
  });

  it('takes its question back when that is settled, and is denied by a parent that has ended or refuses', async () => {
    const key = ChildKey.mint(systemClock);
    const refusing = await parent(key, [{ kind: 'refused', reason: 'nobody is there' }]);
    expect(await refusing.line.ask(question, never)).toMatchObject({ decision: 'deny', note: 'nobody is there' });
    const ended = await parent(key, []);
    ended.end();
    expect(await ended.line.ask(question, never)).toMatchObject({ decision: 'deny', by: 'parent' });
    expect(await ended.line.whyUnattended()).toBe('the capsule that started it cannot be asked: it has ended');
    expect(ended.seen).toEqual([]);
    const waits = await parent(
      key,
      Array.from({ length: 1000 }, () => ({ kind: 'waits' }) as const),
    );
    const settled = new AbortController();
    const asking = waits.line.ask(question, settled.signal);
    await expect.poll(() => waits.seen.length).toBeGreaterThan(1);
    settled.abort();
    expect(await asking).toBeNull();
    expect(waits.seen.at(-1)).toMatch(/^withdraw /);
    // A parent that answers at once is not asked without a pause.
    expect(waits.pauses.filter((ms) => ms < 100)).toEqual([]);
  });
});
