import { chmodSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { AgentCard, canonicalizeAgentCard, verifyAgentCardSignature } from '@a2a-js/sdk';
import { ClientFactory } from '@a2a-js/sdk/client';
import { flattenedVerify, importJWK, type JWK } from 'jose';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { signedText } from '@svc/doors/core/card-signature.ts';
import { runProgram } from './run-program.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { says, script } from '../support/scripted-turns.ts';
import { staysUp, useStreamedCapsules } from '../support/streamed-capsule.ts';
import { startCapsule, svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsules = useStreamedCapsules();
const manual = fileURLToPath(new URL('../../docs/doors.md', import.meta.url));

let workspace: Workspace;

beforeEach(() => {
  workspace = scriptCapsule({ manifest: staysUp, script: script(says('ok')) });
});

afterEach(() => {
  vi.restoreAllMocks();
  workspace.remove();
});

type Card = Record<string, unknown> & { readonly signatures: readonly { protected: string; signature: string }[] };

async function keyOf(): Promise<{ readonly kid: string; readonly jwk: JWK; readonly path: string }> {
  const { code, stdout } = await svc(workspace, ['key', 'card', '--json']);
  expect(code).toBe(0);
  return JSON.parse(stdout) as { kid: string; jwk: JWK; path: string };
}

async function cardOf(env: Record<string, string> = {}): Promise<{ readonly card: Card; readonly url: string }> {
  const capsule = await capsules.from(workspace, env);
  const url = `http://${capsule.line.url}`;
  return { card: (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as Card, url };
}

function verifier({ kid, jwk }: { readonly kid: string; readonly jwk: JWK }): (card: unknown) => Promise<void> {
  const verify = verifyAgentCardSignature(async (named) => {
    expect(named).toBe(kid);
    return (await importJWK(jwk, 'EdDSA')) as never;
  });
  return async (card) => await verify(card as AgentCard);
}

describe('svc key card', () => {
  it('makes a key for this user alone, once', async () => {
    const first = await svc(workspace, ['key', 'card']);
    expect(first.stderr).toMatch(/card\.jwk: made: /);
    const { path, kid, jwk } = await keyOf();
    expect([statSync(path).mode & 0o777, statSync(join(path, '..')).mode & 0o777]).toEqual([0o600, 0o700]);
    expect(jwk).toEqual({ kty: 'OKP', crv: 'Ed25519', x: expect.any(String), kid, alg: 'EdDSA', use: 'sig' });
    const again = await svc(workspace, ['key', 'card']);
    expect(again.stderr).toMatch(/card\.jwk: there already\n/);
    expect(again.stdout).toContain(kid);
    expect(`${first.stdout}${again.stdout}`).not.toContain((JSON.parse(readFileSync(path, 'utf8')) as JWK).d);
  });

  it.each([
    ['is no private Ed25519 key as a JSON Web Key', (path: string) => writeFileSync(path, '{}')],
    ['may be read or written by others', (path: string) => chmodSync(path, 0o640)],
    ['is longer than a key', (path: string) => writeFileSync(path, ' '.repeat(5000))],
  ])('refuses a file that %s, and so does a capsule that would sign with it', async (why, spoil) => {
    const { path } = await keyOf();
    spoil(path);
    for (const args of [['key', 'card'], ['run']]) {
      const { code, stderr } = await svc(workspace, args);
      expect([code, stderr.includes('error[E-RUN-160]'), stderr.includes(why)]).toEqual([1, true, true]);
    }
    rmSync(path);
    const { process: running } = await startCapsule(workspace, []);
    running.child.kill('SIGTERM');
    await running.ended;
  });
});

describe('a card', () => {
  it('has no signature without a key', async () => {
    expect((await cardOf()).card).not.toHaveProperty('signatures');
  });

  it.each([{}, { SVC_LISTENER_TOKEN: 'open-sesame-4711' }])(
    'passes the official library, as fetched, with %j',
    async (env) => {
      const key = await keyOf();
      const { card } = await cardOf(env);
      expect(signedText(card)).toBe(canonicalizeAgentCard(card as never));
      await verifier(key)(card);
      vi.spyOn(console, 'debug').mockImplementation(() => {});
      for (const changed of [
        { ...card, description: 'Another.' },
        { ...card, supportedInterfaces: [] },
        { ...card, capabilities: { ...(card['capabilities'] as object), pushNotifications: true } },
        { ...card, signatures: [{ ...card.signatures[0], signature: 'AAAA' }] },
      ]) {
        await expect(verifier(key)(changed)).rejects.toThrow('No valid signatures');
      }
      // What is not A2A's is not covered.
      await verifier(key)({ ...card, session_id: 'ses_other' });
    },
  );

  it('passes a library for JWS that knows nothing of A2A', async () => {
    const { jwk, kid } = await keyOf();
    const { card } = await cardOf();
    const [signature] = card.signatures;
    if (signature === undefined) throw new Error('no signature');
    const payload = Buffer.from(signedText(card)).toString('base64url');
    const verified = await flattenedVerify({ ...signature, payload }, await importJWK(jwk, 'EdDSA'));
    expect(verified.protectedHeader).toEqual({ alg: 'EdDSA', typ: 'JOSE', kid });
  });

  it('loses its security schemes in the official client before that verifies it, which is a fault of version 1.3.0', async () => {
    const key = await keyOf();
    vi.spyOn(console, 'debug').mockImplementation(() => {});
    const { card, url } = await cardOf({ SVC_LISTENER_TOKEN: 'open-sesame-4711' });
    const parsed = AgentCard.fromJSON(card);
    await expect(verifier(key)(parsed)).rejects.toThrow('No valid signatures');
    const client = await new ClientFactory().createFromUrl(url);
    const bearer = { serviceParameters: { authorization: 'Bearer open-sesame-4711' } };
    await expect(client.getAgentCard(bearer, verifier(key))).rejects.toThrow('No valid signatures');
  });

  it('passes the program that docs/doors.md shows', async () => {
    const { jwk, kid } = await keyOf();
    const { url } = await cardOf();
    const program = [...readFileSync(manual, 'utf8').matchAll(/```js\n([^]*?)```/g)].map(([, text]) => text).at(-1);
    const { stdout } = await runProgram(program ?? '', url, JSON.stringify(jwk));
    expect(stdout).toMatch(new RegExp(`^\\S+ \\S+ is signed with ${kid}\n$`));
  });
});
