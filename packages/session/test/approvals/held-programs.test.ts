import { describe, expect, it } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { StartedProgram } from '@svc/sandbox/launcher.ts';
import { fakeTool, passed } from '../../../../test/support/session-fixture.ts';
import '../../src/tools/asked-programs.ts';
import { askingLaunch } from '../../src/tools/asking-launch.ts';
import { askedInCalls } from './asked-in-calls.ts';

const rules = [
  { ask: { command: ['git', 'push', '**'] } },
  { deny: { command: ['git', 'push', '**', '--force', '**'] } },
  { allow: { command: ['git', 'push', 'origin', 'free'] } },
];

function started(...argv: readonly string[]): StartedProgram {
  return { file: `/usr/bin/${argv[0]?.split('/').at(-1)}`, argv, state: 'whole', isText: true };
}

interface Made {
  readonly command: string;
  readonly programs: readonly StartedProgram[];
  /** It starts them when its call is over. */
  readonly isLate?: true;
}

/** A session whose model makes one call of bash for each of these, which starts these programs one after another. */
function starting(made: readonly Made[], { failsAt }: { readonly failsAt?: string } = {}) {
  const ran: string[] = [];
  const left = [...made];
  const bash = fakeTool('bash', async (_args, context) => {
    const { turns, asking, killed } = askingLaunch(context, { asksPrograms: true });
    const { programs = [], isLate } = left.shift() ?? {};
    if (isLate === true) await turns.over();
    for (const program of programs)
      if ((await asking.programs?.judge(program)) === true) ran.push(program.argv.join(' '));
    await turns.over();
    return passed(['called', ...killed()].join('\n'));
  });
  const session = askedInCalls({
    tool: { ...bash, kind: 'shell' },
    made: made.map(({ command }) => ({ command })),
    settings: { default: 'allow', opaque: 'ask', rules },
    failsAt,
  });
  return { ...session, ran };
}

const push = started('git', 'push', 'origin', 'main');

describe('a program that a command has started', () => {
  it('runs once a person allows it, in the middle of its call, with each step written before it', async () => {
    const { running, log, ran, history, open, answer } = starting([
      { command: 'make hunter2', programs: [started('git', 'status'), started('git', 'push', 'hunter2')] },
    ]);
    const asked = await open();
    expect(asked).toMatchObject({
      rule: 'approvals.rules[0]',
      effect: {
        kind: 'command',
        argv: ['git', 'push', '[secret]'],
        program: '/usr/bin/git',
        called_by: { argv: ['bash', '-c', 'make [secret]'] },
      },
      options: ['once', 'session'],
    });
    expect(asked.prompt).toContain('approve this program? ["git","push","[secret]"] - svc approve');
    expect(ran).toEqual(['git status']);
    expect(await answer('allow')).toBe('settled');
    expect((await running).status).toBe('ok');
    expect(ran).toEqual(['git status', 'git push hunter2']);
    const { id, digest } = asked;
    expect(log).toMatchObject([
      { k: 'asked', id, digest },
      { k: 'settled', id, digest, decision: 'allow', by: 'person' },
      { k: 'started', id, digest },
    ]);
    expect(history.filter(({ kind }) => kind === 'ask')).toMatchObject([
      { what: 'program', value: { argv: ['git', 'push', 'hunter2'], file: '/usr/bin/git' } },
    ]);
  });

  it('ends where a person says so, and needs no other answer in that call, whose result says which it was', async () => {
    const { running, log, ran, answer, told } = starting([{ command: 'make', programs: [push, push] }]);
    await answer('deny');
    expect((await running).status).toBe('ok');
    expect([ran, log.map(({ k }) => k)]).toEqual([[], ['asked', 'settled']]);
    expect(told()[0]?.split('\n').at(-1)).toBe(
      '["git push origin main" was killed before it began: a person denied this program]',
    );
  });

  it('ends by a rule that denies it, and nobody hears a question', async () => {
    const forced = started('/usr/bin/git', 'push', '--force');
    const { running, log, ran, told } = starting([{ command: 'make', programs: [forced] }]);
    expect((await running).status).toBe('ok');
    expect([ran, log]).toEqual([[], []]);
    expect(told()[0]?.split('\n').at(-1)).toBe(
      '["/usr/bin/git push --force" was killed before it began: the rules of the operator deny this program (approvals.rules[1])]',
    );
  });

  it('passes once for each command of a line that a person has let through, word for word', async () => {
    const { running, log, ran, answer } = starting([
      {
        command: 'git push origin main && git push origin main',
        programs: [push, push, started('git', 'push', 'origin', 'other'), push],
      },
    ]);
    await answer('allow');
    await answer('deny', 'once', 2);
    await answer('deny', 'once', 3);
    await running;
    expect(ran).toEqual(['git push origin main', 'git push origin main']);
    expect(log.map(({ k }) => k)).toEqual(['asked', 'settled', 'started', 'asked', 'settled', 'asked', 'settled']);
  });

  it('passes as a script of the line too, and not as another program that has taken the name of one', async () => {
    const script = { ...started('git', 'push', 'a'), argv: ['/usr/bin/env', 'sh', '/usr/bin/git', 'push', 'a'] };
    const other = { ...started('git', 'push', 'b'), file: './other' };
    const { running, ran, answer } = starting([
      { command: 'git push a && git push b && git push /usr/bin/git', programs: [script, other, script] },
      { command: 'git push /usr/bin/git', programs: [started('git', 'push', '/usr/bin/git')] },
    ]);
    await answer('allow');
    await answer('deny', 'once', 2);
    await answer('deny', 'once', 3);
    await answer('allow', 'once', 4);
    await running;
    expect(ran).toEqual(['/usr/bin/env sh /usr/bin/git push a', 'git push /usr/bin/git']);
  });

  it('needs no other answer for the rest of the session in the same line, and one in another', async () => {
    const { running, log, ran, answer } = starting([
      { command: 'make', programs: [push] },
      { command: 'make', programs: [push] },
      { command: 'make other', programs: [push] },
    ]);
    await answer('allow', 'session');
    await answer('deny', 'once', 2);
    await running;
    expect(ran).toEqual(['git push origin main', 'git push origin main']);
    expect(log.map(({ k }) => k)).toEqual(['asked', 'settled', 'started', 'started', 'asked', 'settled']);
  });

  it('passes by no rule that allows, and needs none by the default', async () => {
    const { running, log, ran, answer } = starting([
      { command: 'make', programs: [started('ls'), started('git', 'push', 'origin', 'free')] },
    ]);
    await answer('allow');
    await running;
    expect([ran, log.length]).toEqual([['ls', 'git push origin free'], 3]);
  });

  it('ends once its call is over, and after 64 that were asked about or denied', async () => {
    const many = Array.from({ length: 70 }, (_, at) => started('git', 'push', '--force', `${at}`));
    const { running, ran, log, told } = starting([
      { command: 'make', programs: [push], isLate: true },
      { command: 'make', programs: many },
    ]);
    await running;
    expect([ran, log]).toEqual([[], []]);
    const [late = '', often = ''] = told();
    expect(late).toContain(
      '"git push origin main" was killed before it began: approvals decide about it, and its call is over',
    );
    expect(often).toContain('"git push --force 64" was killed before it began: it is one of more than 64 of its call');
    expect(often).toContain('so it is with 1 more\n');
    expect(often).toContain('[so it is with 59 more]');
  });

  it('ends once its time has run out, or its task was canceled', async () => {
    const late = starting([{ command: 'make', programs: [push] }]);
    await late.open();
    late.fixture.clock.advance(60_000);
    expect((await late.running).status).toBe('ok');
    expect([late.ran, late.log.at(-1)]).toMatchObject([[], { k: 'settled', decision: 'expired' }]);
    expect(late.told()[0]).toContain('nobody approved this program in time, so it did not run]');
    const canceled = starting([{ command: 'make', programs: [push] }]);
    await canceled.open();
    void canceled.fixture.session.board.cancelAll();
    await canceled.running;
    expect([canceled.ran, canceled.log.at(-1)]).toMatchObject([[], { k: 'settled', decision: 'canceled' }]);
  });

  it.each(['asked', 'settled', 'started'])('ends where the line %s cannot be written', async (failsAt) => {
    const { running, ran, answer } = starting([{ command: 'make', programs: [push] }], { failsAt });
    const answered = failsAt === 'asked' ? null : await answer('allow').catch((error: unknown) => error);
    if (answered instanceof Diagnostic) return expect(ran).toEqual([]);
    expect((await running).status).toBe('trapped');
    expect(ran).toEqual([]);
  });
});
