import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { HttpClient } from '@svc/kit/net/http-client.ts';
import { ociAccessOf, type RegistryChoice } from '../../src/store/sources/registry-in-use.ts';
import { temporaryDirectory } from '../store/artifacts.ts';

/** A command of a user with these lines of `registry.sources`. */
function choiceWith(...sources: readonly string[]): RegistryChoice {
  const home = temporaryDirectory();
  mkdirSync(join(home, '.svc'));
  const rows = sources.map((source) => `    - { type: oci, ${source} }\n`).join('');
  writeFileSync(join(home, '.svc', 'config.yaml'), `registry:\n  sources:\n${rows}`);
  const { signal } = new AbortController();
  return { flag: undefined, env: {}, home, http: new HttpClient(), signal, onWarning: () => {} };
}

const host = 'registry.example.com';
const wide = `name: wide, url: "oci://${host}/acme", mirror: "oci://one.example.com/copies", token: "wide:key"`;
const deep = `name: deep, url: "oci://${host}/acme/deep", mirror: "oci://two.example.com/deeper", token: "deep:key"`;

const pair = (text: string): string => Buffer.from(text).toString('base64');

describe('the configured sources of an OCI registry', () => {
  it.each([[[wide, deep]], [[deep, wide]]])('count by the longest path, in whatever order they stand', async (rows) => {
    const { mirrorOf, login } = ociAccessOf(choiceWith(...rows));
    for (const [repository, mirror, key] of [
      ['acme/deep/echo', { host: 'two.example.com', repository: 'deeper/echo' }, 'deep:key'],
      ['acme/deep', { host: 'two.example.com', repository: 'deeper' }, 'deep:key'],
      ['acme/deeper', { host: 'one.example.com', repository: 'copies/deeper' }, 'wide:key'],
    ] as const) {
      expect(mirrorOf?.({ host, repository })?.at).toEqual(mirror);
      const found = await login({ host, repository });
      expect(found?.kind === 'password' ? found.pair.reveal() : null).toBe(pair(key));
    }
    expect(mirrorOf?.({ host, repository: 'other' })).toBeNull();
  });

  it('know for a whole command which mirrors have failed', () => {
    const choice = choiceWith(wide);
    const failedOf = (each: RegistryChoice): Set<string> | undefined =>
      ociAccessOf(each).mirrorOf?.({ host, repository: 'acme/echo' })?.failed;
    failedOf(choice)?.add('one.example.com');
    expect(failedOf(choice)?.has('one.example.com')).toBe(true);
    expect(failedOf(choiceWith(wide))?.size).toBe(0);
  });
});
