import { describe, expect, it } from 'vitest';

import {
  askChatCompletions as infer,
  driverRequest,
  events,
  ScriptedPorts,
  type ScriptedPost,
} from '../../../../test/artifacts/scripted-ports.ts';
import { RequestFailure } from '../request-failure.ts';

const good = {
  pieces: events({ choices: [{ delta: { content: 'ok' } }] }, { choices: [{ delta: {}, finish_reason: 'stop' }] }),
};
const broken = new RequestFailure('the connection broke: reset', { transient: true });
const refused = new RequestFailure('cannot reach http://127.0.0.1:9: connection refused', { transient: true });

function run(...script: readonly ScriptedPost[]): { readonly said: string; readonly ports: ScriptedPorts } {
  const ports = new ScriptedPorts(...script);
  try {
    const [block] = infer(driverRequest({ apiKey: 'PLACEHOLDER' }), ports).content;
    return { said: block?.tag === 'text' ? block.val : '', ports };
  } catch (error) {
    if (!(error instanceof RequestFailure)) throw error;
    return { said: error.message, ports };
  }
}

describe('a turn at a provider', () => {
  it('is tried again after 429, after a 5xx and after a failed connection', () => {
    const { said, ports } = run({ status: 429, pieces: ['{}'] }, { status: 503, pieces: [] }, refused, good);
    expect(said).toBe('ok');
    expect(ports.requests).toHaveLength(4);
    expect(ports.slept).toEqual([500, 1000, 2000]);
    expect(ports.notes).toEqual([
      { retry: { wait_ms: 500, attempt: 1, of: 3 } },
      { retry: { wait_ms: 1000, attempt: 2, of: 3 } },
      { retry: { wait_ms: 2000, attempt: 3, of: 3 } },
    ]);
    expect(ports.open).toBe(0);
  });

  it('waits as long as a refusal asks', () => {
    const { ports } = run({ status: 429, headers: { 'retry-after': '3' }, pieces: [] }, good);
    expect(ports.slept).toEqual([3000]);
  });

  it('is tried again when the connection breaks before anything was emitted', () => {
    expect(run({ pieces: [broken] }, good).said).toBe('ok');
  });

  it('is never tried again after something was emitted', () => {
    const cut = { pieces: [...events({ choices: [{ delta: { content: 'Hel' } }] }), broken] };
    const { said, ports } = run(cut, good);
    expect(said).toBe('the connection broke: reset');
    expect(ports.emitted).toEqual(['Hel']);
    expect(ports.requests).toHaveLength(1);
    expect(ports.open).toBe(0);
  });

  it('shows nothing of an attempt that broke off in the middle of a character', () => {
    const half = { pieces: [...events({ choices: [{ delta: { content: '\ud83d' } }] }), broken] };
    const { said, ports } = run(half, good);
    expect(said).toBe('ok');
    expect(ports.emitted).toEqual(['ok']);
  });

  it.each([
    ['{"error":{"message":"invalid api key","type":"auth"}}', 'provider answered 401: invalid api key'],
    ['{"error":{"type":"authentication_error"}}', 'provider answered 401: authentication_error'],
    ['{"error":"unauthorized"}', 'provider answered 401: unauthorized'],
    ['{"object":"error","message":"no"}', 'provider answered 401: no'],
    ['{"detail":"Not authenticated"}', 'provider answered 401: Not authenticated'],
    ['{"detail":[{"msg":"Field required"}]}', 'provider answered 401: Field required'],
    ['<html>\n<h1>401</h1>\n</html>', 'provider answered 401: <html> <h1>401</h1> </html>'],
    ['', 'provider answered 401'],
  ])('says in one line what the refusal %s means', (body, message) => {
    expect(run({ status: 401, pieces: [body] }).said).toBe(message);
  });

  it('says so at once, however long the words are that repeat each other', () => {
    const long = 'a'.repeat(4 * 1024 * 1024);
    const failed = { pieces: [JSON.stringify({ error: long, message: `${long}b${long}`, param: long })] };
    expect(run(failed, failed, failed, failed).said).toMatch(/^provider reported an error: a{100}/);
    expect(run({ status: 503, pieces: ['{"error":{"code":{"toString":1},"message":"busy"}}'] }, good).said).toBe('ok');
  });

  it('never repeats the placeholder of the key', () => {
    const { said } = run({ status: 401, pieces: ['{"error":{"message":"bad key Bearer PLACEHOLDER"}}'] });
    expect(said).toBe('provider answered 401: bad key Bearer [key]');
  });

  it('does not follow a redirect', () => {
    expect(run({ status: 307, headers: { location: 'http://elsewhere/' }, pieces: [] }).said).toBe(
      'provider answered 307',
    );
  });

  it('says so when the answer is no event stream', () => {
    const page = { headers: { 'content-type': 'text/html' }, pieces: ['<p>Welcome</p>'] };
    expect(run(page).said).toBe('provider answered without an event stream: <p>Welcome</p>');
  });

  it('reads no more of an error body than it needs', () => {
    const { said } = run({ status: 400, pieces: Array.from({ length: 1000 }, () => 'x'.repeat(1000)) });
    expect(said).toBe(`provider answered 400: ${'x'.repeat(377)}…`);
  });
});

describe('a stream that does not end behind the reason to stop', () => {
  const held = ': keep-alive\n\n';
  const piece = (input: string, finish: string | null): readonly string[] =>
    events({
      choices: [
        {
          delta: { tool_calls: [{ index: 0, id: 'c', function: { name: 'look', arguments: input } }] },
          finish_reason: finish,
        },
      ],
    });

  it('is read for two seconds more', () => {
    const ports = new ScriptedPorts({ pieces: good.pieces, heldBy: held });
    expect(infer(driverRequest(), ports).stopReason).toEqual({ tag: 'end-turn' });
    expect(ports.now()).toBe(Date.UTC(2026, 0, 1) + 2000);
    expect(ports.open).toBe(0);
  });

  it('is read on while pieces of the reply come, with a reason in each', () => {
    const slow = [
      piece('{"a"', 'tool_calls'),
      [held],
      piece(':1', 'tool_calls'),
      [held],
      piece('}', 'tool_calls'),
    ].flat();
    const ports = new ScriptedPorts({ pieces: slow, msBetween: 900, heldBy: held });
    expect(infer(driverRequest(), ports).content).toEqual([
      { tag: 'tool-call', val: { id: 'c', name: 'look', input: '{"a":1}' } },
    ]);
  });
});
