import { describe, expect, it } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { HeaderLine } from '@svc/kit/keys/bound-host.ts';
import { heldRequest } from '@svc/kit/keys/held-request.ts';
import { fakeTool, passed } from '../../../../test/support/session-fixture.ts';
import { askingLaunch } from '../../src/tools/asking-launch.ts';
import '../../src/tools/asked-requests.ts';
import { askedInCalls } from './asked-in-calls.ts';

const origin = 'https://api.test';
const rules = [{ ask: { request: `POST ${origin}/**` } }, { allow: { tool: 'caller' } }];

interface Sent {
  readonly target: string;
  readonly body?: string;
  /** Nobody waits for an answer once the question was put. */
  readonly leaves?: true;
  readonly method?: string;
  readonly headers?: readonly HeaderLine[];
}

/** A session whose model makes one call for each of these, in each of which a tool is about to send these requests. */
function sending(
  requests: readonly (readonly Sent[])[],
  { failsAt, otherwise = 'allow' }: { readonly failsAt?: string; readonly otherwise?: 'allow' | 'ask' } = {},
) {
  const sent: string[] = [];
  const reasons: string[] = [];
  const left = [...requests];
  const caller = fakeTool('caller', async (_args, context) => {
    const { turns, asking } = askingLaunch(context, { asksRequests: true });
    for (const { target, body = '', leaves, method = 'POST', headers = [] } of left.shift() ?? []) {
      const gone = new AbortController();
      const held = heldRequest({ origin, method, target, headers }, Buffer.from(body));
      const judged = asking.requests?.judge(held, gone.signal);
      if (leaves === true) {
        await session.fixture.frame(() => session.list().length > 0);
        gone.abort();
      }
      const verdict = await judged;
      if (verdict?.kind === 'refused') reasons.push(verdict.reason);
      if (verdict?.kind === 'proceed') sent.push(`${target} ${body}`.trim());
    }
    await turns.over();
    return passed('called');
  });
  const session: ReturnType<typeof askedInCalls> = askedInCalls({
    tool: caller,
    made: requests.map(() => ({ secret: 'hunter2' })),
    settings: { default: otherwise, opaque: 'ask', rules },
    failsAt,
  });
  return { ...session, sent, reasons };
}

describe('a request that a person is asked about', () => {
  it('goes out once that is allowed, in the middle of its call, with each step written before it', async () => {
    const { running, log, sent, history, open, answer } = sending([
      [
        { target: '/a?key=hunter2', body: 'say "hunter2"' },
        { target: '/b', method: 'GET' },
      ],
    ]);
    const asked = await open();
    expect(asked).toMatchObject({
      rule: 'approvals.rules[0]',
      effect: {
        kind: 'request',
        method: 'POST',
        origin,
        path: '/a?key=[secret]',
        tool: 'caller',
        body: { bytes: 13, text: 'say "[secret]"' },
        called_by: { arguments: { secret: '[secret]' } },
      },
      options: ['once', 'session'],
    });
    expect(asked.prompt).toContain(
      'approve this request? ["POST","https://api.test/a?key=[secret]","say \\"[secret]\\""',
    );
    expect(sent).toEqual([]);
    expect(await answer('allow')).toBe('settled');
    expect((await running).status).toBe('ok');
    expect(sent).toEqual(['/a?key=hunter2 say "hunter2"', '/b']);
    const { id, digest } = asked;
    expect(log).toMatchObject([
      { k: 'asked', id, digest },
      { k: 'settled', id, digest, decision: 'allow', by: 'person' },
      { k: 'started', id, digest },
    ]);
    expect(history.filter(({ kind }) => kind === 'ask')).toMatchObject([
      { what: 'request', value: { method: 'POST', target: '/a?key=hunter2' } },
      { what: 'request', value: { method: 'GET' } },
    ]);
  });

  it('stays unsent where a person says so, and the model reads why behind what the tool says', async () => {
    const { running, log, sent, answer, told } = sending([[{ target: '/a' }, { target: '/a' }]]);
    await answer('deny');
    expect((await running).status).toBe('ok');
    expect([sent, log.map(({ k }) => k)]).toEqual([[], ['asked', 'settled']]);
    expect(told()[0]?.split('\n').at(-1)).toBe(
      '["POST https://api.test/a" was not sent: a person denied this request]',
    );
  });

  it('needs another answer with another body, and in another call unless the first was for the session', async () => {
    const { running, log, sent, answer } = sending([
      [{ target: '/a', body: '1' }],
      [
        { target: '/a', body: '1' },
        { target: '/a', body: '2' },
      ],
    ]);
    await answer('allow', 'session');
    await answer('deny', 'once', 2);
    expect((await running).status).toBe('ok');
    expect(sent).toEqual(['/a 1', '/a 1']);
    expect(log.map(({ k }) => k)).toEqual(['asked', 'settled', 'started', 'started', 'asked', 'settled']);
  });

  it('finds the answer that came when nobody waited any more, once and in its task', async () => {
    const { running, log, sent, answer } = sending([
      [{ target: '/a', body: '1', leaves: true }],
      [
        { target: '/a', body: '1' },
        { target: '/a', body: '1' },
      ],
    ]);
    await answer('allow');
    await answer('deny', 'once', 2);
    expect((await running).status).toBe('ok');
    expect(sent).toEqual(['/a 1']);
    expect(log.map(({ k }) => k)).toEqual(['asked', 'settled', 'started', 'asked', 'settled']);
  });

  it('needs another answer with another header that tells the service what to do', async () => {
    const told = (what: string): Sent => ({ target: '/', body: '{}', headers: [['X-Amz-Target', `Store.${what}`]] });
    const { running, sent, open, answer } = sending([[told('Describe')], [told('Describe')], [told('Delete')]]);
    expect(await open()).toMatchObject({ effect: { headers: ['x-amz-target: Store.Describe'] } });
    await answer('allow', 'session');
    expect(await open(2)).toMatchObject({ effect: { headers: ['x-amz-target: Store.Delete'] } });
    await answer('deny', 'once', 2);
    await running;
    expect(sent).toEqual(['/ {}', '/ {}']);
  });

  it('needs another answer with the key of another account, which nobody is shown', async () => {
    const withKey = (key: string): Sent => ({ target: '/a', headers: [['Authorization', `Bearer ${key}`]] });
    const [own, foreign] = [withKey('key-of-one-account'), withKey('key-of-another-one')];
    const { running, log, sent, open, answer } = sending([[own], [own, foreign], [{ target: '/a' }]]);
    const shown = [await open()];
    await answer('allow', 'session');
    shown.push(await open(2));
    await answer('deny', 'once', 2);
    shown.push(await open(3));
    await answer('deny', 'once', 3);
    await running;
    expect(sent).toEqual(['/a', '/a']);
    expect(shown[1]?.effect).toEqual(shown[0]?.effect);
    expect(new Set(shown.map(({ digest }) => digest)).size).toBe(3);
    const { keys = 'none' } = heldRequest(
      { origin, method: 'POST', ...own, headers: own.headers ?? [] },
      Buffer.alloc(0),
    );
    const text = JSON.stringify([shown, log]);
    for (const secret of ['key-of', keys]) expect(text).not.toContain(secret);
  });

  it('names the question that is open only if that is about itself', async () => {
    const { running, reasons, open, answer } = sending([
      [
        { target: '/a', leaves: true },
        { target: '/b', leaves: true },
        { target: '/a', leaves: true },
      ],
    ]);
    const { id } = await open();
    await expect.poll(() => reasons.length).toBe(3);
    await answer('deny');
    await running;
    const waits = 'waits for a person to approve it';
    const again = ': make it again, unchanged, to have the answer';
    expect(reasons).toEqual([`${waits} (${id})${again}`, `${waits}${again}`, `${waits} (${id})${again}`]);
  });

  it('can be allowed once alone where its body cannot be read', async () => {
    const { running, open, answer } = sending([[{ target: '/a', body: '\0' }]]);
    expect(await open()).toMatchObject({ options: ['once'], effect: { body: { bytes: 1 } } });
    expect(await answer('allow', 'session')).toBe('not-offered');
    await answer('deny');
    await running;
  });

  it('follows the default where no rule matches it, unless the default has decided about the call', async () => {
    const { running, sent, open, answer } = sending([[{ target: '/a', method: 'GET' }]], { otherwise: 'ask' });
    expect(await open()).toMatchObject({ rule: 'approvals.default', effect: { kind: 'request' } });
    await answer('allow');
    await running;
    expect(sent).toEqual(['/a']);
  });

  it('stays unsent once its time has run out, or its task was canceled', async () => {
    const late = sending([[{ target: '/a' }]]);
    await late.open();
    late.fixture.clock.advance(60_000);
    expect((await late.running).status).toBe('ok');
    expect([late.sent, late.log.at(-1)]).toMatchObject([[], { k: 'settled', decision: 'expired' }]);
    expect(late.told()[0]).toContain('nobody approved this request in time, so it was not sent]');
    const canceled = sending([[{ target: '/a' }]]);
    await canceled.open();
    void canceled.fixture.session.board.cancelAll();
    await canceled.running;
    expect([canceled.sent, canceled.log.at(-1)]).toMatchObject([[], { k: 'settled', decision: 'canceled' }]);
  });

  it.each(['asked', 'settled', 'started'])('stays unsent where the line %s cannot be written', async (failsAt) => {
    const { running, sent, answer } = sending([[{ target: '/a' }]], { failsAt });
    const answered = failsAt === 'asked' ? null : await answer('allow').catch((error: unknown) => error);
    if (answered instanceof Diagnostic) return expect(sent).toEqual([]);
    expect((await running).status).toBe('trapped');
    expect(sent).toEqual([]);
  });
});
