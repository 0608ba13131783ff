import { describe, expect, it } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { fakeTool, passed } from '../../../../test/support/session-fixture.ts';
import { withAskedChanges } from '../../src/approvals/asked-changes.ts';
import { CallRules } from '../../src/approvals/call-rules.ts';
import type { FileOperation } from '../../src/tools/tool.ts';
import { askedInCalls } from './asked-in-calls.ts';

const rules = [{ ask: { tool: 'editor', path: 'config/**' } }, { deny: { tool: 'editor', path: 'keys/**' } }];
const settings = { default: 'allow', opaque: 'ask', rules } as const;
const plain = { operation: 'write', to: null, isTree: false, isLinked: false } as const;

/** A session whose model makes one call for each of these, in each of which the editor is about to make these changes. */
function editing(
  changes: readonly (readonly (Partial<FileOperation> & { readonly path: string })[])[],
  options: { readonly failsAt?: string; readonly replaces?: boolean; readonly args?: object } = {},
) {
  const done: string[] = [];
  const left = [...changes];
  const editor = fakeTool('editor', async (_args, { judgeChange }) => {
    for (const change of left.shift() ?? []) {
      const verdict = await judgeChange?.({ ...plain, ...change });
      if (verdict?.kind === 'proceed') done.push(`${change.operation ?? 'write'} ${change.path}`);
    }
    return passed('edited');
  });
  const session = askedInCalls({
    tool: withAskedChanges(editor, new CallRules(settings), { replaces: options.replaces === true }),
    made: changes.map(() => options.args ?? {}),
    settings,
    failsAt: options.failsAt,
  });
  return { ...session, done };
}

describe('a file that a person is asked about', () => {
  it('changes once that is allowed, by its own path and in the middle of the call, with each step written before it', async () => {
    const { running, log, done, history, open, answer } = editing(
      [[{ path: 'src/a' }, { path: 'config/app' }, { path: 'src/b' }]],
      { args: { command: 'write', token: 'hunter2' } },
    );
    const asked = await open();
    expect(asked).toMatchObject({
      rule: 'approvals.rules[0]',
      effect: {
        kind: 'path',
        tool: 'editor',
        operation: 'write',
        path: 'config/app',
        arguments: { command: 'write', token: '[secret]' },
      },
      options: ['once', 'session'],
    });
    expect(asked.prompt).toContain(
      'approve this change? ["editor","write","config/app",{"command":"write","token":"[secret]"}]',
    );
    expect(done).toEqual(['write src/a']);
    expect(await answer('allow')).toBe('settled');
    expect((await running).status).toBe('ok');
    expect(done).toEqual(['write src/a', 'write config/app', 'write src/b']);
    const { id, digest } = asked;
    expect(log).toMatchObject([
      { k: 'asked', id, digest },
      { k: 'settled', id, digest, decision: 'allow', by: 'person' },
      { k: 'started', id, digest },
    ]);
    const crossed = history.filter(({ kind }) => kind === 'ask');
    expect(crossed).toMatchObject([{ what: 'change', value: { operation: 'write', path: 'config/app' } }]);
  });

  it('stays as it is where a person or a rule says so, and the model reads why behind what the tool says', async () => {
    const { running, log, done, answer, told } = editing([[{ path: 'config/app' }, { path: 'keys/a"\u202e' }]]);
    await answer('deny');
    expect((await running).status).toBe('ok');
    expect([done, log.map(({ k }) => k)]).toEqual([[], ['asked', 'settled']]);
    expect(told()[0]?.split('\n').slice(-2)).toEqual([
      '["config/app" stays as it is: a person denied this change]',
      '["keys/a\\"\\u{202e}" stays as it is: the rules of the operator deny this change (approvals.rules[1])]',
    ]);
  });

  it('needs another answer in another call, unless the first was for the session', async () => {
    const twice = [[{ path: 'config/app' }], [{ path: 'config/app' }], [{ path: 'config/other' }]];
    const { running, done, log, answer } = editing(twice);
    await answer('allow', 'session');
    await answer('deny', 'once', 2);
    expect((await running).status).toBe('ok');
    expect(done).toEqual(['write config/app', 'write config/app']);
    expect(log.map(({ k }) => k)).toEqual(['asked', 'settled', 'started', 'started', 'asked', 'settled']);
  });

  it('stays as it is once its time has run out, or its task was canceled', async () => {
    const late = editing([[{ path: 'config/app' }]]);
    await late.open();
    late.fixture.clock.advance(60_000);
    expect((await late.running).status).toBe('ok');
    expect([late.done, late.log.at(-1)]).toMatchObject([[], { k: 'settled', decision: 'expired' }]);
    expect(late.told()[0]).toContain('nobody approved this change in time, so it did not happen]');
    const canceled = editing([[{ path: 'config/app' }]]);
    await canceled.open();
    void canceled.fixture.session.board.cancelAll();
    await canceled.running;
    expect([canceled.done, canceled.log.at(-1)]).toMatchObject([[], { k: 'settled', decision: 'canceled' }]);
  });

  it.each(['asked', 'settled', 'started'])('stays as it is where the line %s cannot be written', async (failsAt) => {
    const { running, done, answer } = editing([[{ path: 'config/app' }]], { failsAt });
    const answered = failsAt === 'asked' ? null : await answer('allow').catch((error: unknown) => error);
    if (answered instanceof Diagnostic) return expect(done).toEqual([]);
    expect((await running).status).toBe('trapped');
    expect(done).toEqual([]);
  });

  it('gets 64 answers in one call, and no more', async () => {
    const { running, done, history } = editing([Array.from({ length: 200 }, () => ({ path: 'keys/a' }))]);
    expect((await running).status).toBe('ok');
    expect(done).toEqual([]);
    expect(history.filter(({ kind }) => kind === 'ask')).toHaveLength(64);
  });

  it('makes one question where the editor replaces it by a file beside it, and two for anybody else', async () => {
    const temporary = 'config/.svc-edit-mabc1-1';
    const changes = [
      [
        { path: temporary },
        { operation: 'rename', path: temporary, to: 'config/app' },
        { operation: 'rename', path: 'config/.svc-edit-x-2', to: 'config/app' },
        { operation: 'rename', path: temporary, to: 'config/other' },
      ],
    ] as const;
    const own = editing(changes, { replaces: true, args: { command: 'write', path: './config/app' } });
    expect((await own.open()).effect).toMatchObject({ operation: 'write', path: 'config/app' });
    await own.answer('allow');
    expect((await own.open(2)).effect).toMatchObject({ operation: 'rename', path: 'config/.svc-edit-x-2' });
    await own.answer('deny', 'once', 2);
    expect((await own.open(3)).effect).toMatchObject({ operation: 'rename', path: temporary, to: 'config/other' });
    await own.answer('deny', 'once', 3);
    await own.running;
    expect(own.done).toEqual([`write ${temporary}`, `rename ${temporary}`]);
    const other = editing(changes, { args: { command: 'write', path: 'config/app' } });
    expect((await other.open()).effect).toMatchObject({ operation: 'write', path: temporary });
    await other.answer('allow');
    expect((await other.open(2)).effect).toMatchObject({ operation: 'rename', path: temporary, to: 'config/app' });
    for (const number of [2, 3, 4]) await other.answer('deny', 'once', number);
    await other.running;
    expect(other.done).toEqual([`write ${temporary}`]);
  });
});
