import { describe, expect, it } from 'vitest';

import { DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { loadCapsuleManifest } from './load.ts';
import { type LoadedManifest, notifiedAddress } from './loaded-manifest.ts';

function load(notify: string, env = {}, purpose: 'launch' | 'inspect' = 'launch'): LoadedManifest {
  const text = `name: demo
version: 1.0.0
inference: { driver: { artifact: svc-driver-openai }, model: m, endpoint: "https://model.example" }
notify: ${notify}
`;
  return loadCapsuleManifest({ file: '/project/svc.yaml', text, env, purpose });
}

/** Each problem with its place. */
function problems(notify: string, env = {}): readonly string[] {
  try {
    load(notify, env);
    return [];
  } catch (error) {
    if (!(error instanceof DiagnosticList)) throw error;
    return error.diagnostics.map(
      ({ code, message, location }) => `${code} ${location?.line}:${location?.column} ${message}`,
    );
  }
}

describe('notify', () => {
  it('names one address, and its secret is in no manifest', () => {
    const hook = load('{ webhook: "https://hooks.example/x?of=1", secret: "${S}" }', { S: 'abcdefgh' });
    expect(hook.manifest.notify).toEqual({ webhook: 'https://hooks.example/x?of=1' });
    expect([notifiedAddress(hook.manifest)?.host, hook.notifySecret?.reveal()]).toEqual(['hooks.example', 'abcdefgh']);
    const topic = load('{ ntfy: "https://ntfy.sh/svc_Alerts-1", token: "${T}" }', { T: 'tk_0123456789' });
    expect(topic.manifest.notify).toEqual({ ntfy: 'https://ntfy.sh/svc_Alerts-1' });
    expect([notifiedAddress(topic.manifest)?.host, topic.notifySecret?.reveal()]).toEqual(['ntfy.sh', 'tk_0123456789']);
    expect(topic.secretVariables).toEqual(['T']);
    const inspected = load('{ ntfy: "http://127.0.0.1:80/a", token: "${T}" }', {}, 'inspect');
    expect([inspected.notifySecret, notifiedAddress(inspected.manifest)?.pathname]).toEqual([undefined, '/a']);
  });

  it.each([
    ['{}', 'E-MAN-001 4:9 notify needs webhook or ntfy'],
    [
      '{ webhook: "https://a.example/", ntfy: "https://ntfy.sh/a" }',
      'E-MAN-003 4:42 notify.ntfy cannot stand beside notify.webhook: a capsule has one target',
    ],
    ['{ ntfy: "https://ntfy.sh/a", secret: s }', 'E-MAN-003 4:38 notify.secret does not go with notify.ntfy'],
    ['{ webhook: "https://a.example/", token: t }', 'E-MAN-003 4:42 notify.token does not go with notify.webhook'],
    ['{ ntfy: "https://ntfy.sh/a", token: "a\\r\\nb: c" }', 'must be a token of letters, digits and -._~+/'],
    ['{ ntfy: "https://ntfy.sh/a?title=b" }', 'must not have a query or fragment'],
    ['{ ntfy: "http://ntfy.sh/a" }', 'must be https, or http to a loopback address'],
    ['{ command: [notify-send, svc] }', 'E-MAN-006'],
    ...['', '/', '/a/b', '/a,b', '/%61', `/${'a'.repeat(65)}`].map((path) => [
      `{ ntfy: "https://ntfy.sh${path}" }`,
      'must have a topic alone as its path: 1 to 64 letters, digits, hyphens and underscores',
    ]),
  ])('%s is refused: %s', (written, problem) => {
    expect(problems(written).join('\n')).toContain(problem);
  });

  it('never repeats a token that is refused', () => {
    const shown = problems('{ ntfy: "https://ntfy.sh/a", token: "${T}" }', { T: 'canary 0123456789' }).join('\n');
    expect(shown).toContain('must be a token');
    expect(shown).not.toContain('canary');
  });
});
