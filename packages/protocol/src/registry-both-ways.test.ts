import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { bothWays, optional, text } from '../test/both-ways.ts';
import {
  decodeArchivePath,
  decodeIndex,
  decodeQuery,
  decodeReceipt,
  encodeArchiveTarget,
  encodeIndex,
  encodePublishQuery,
  encodeReceipt,
  packagings,
  roles,
} from './registry-messages.ts';

describe('what a registry is asked and answers', () => {
  it('has the way to an archive', () => {
    bothWays(
      fc.record({
        name: text.filter((each) => each.isWellFormed()),
        version: text.filter((each) => each.isWellFormed()),
      }),
      ({ name, version }) => decodeArchivePath(encodeArchiveTarget(name, version, null)),
    );
    expect(encodeArchiveTarget('a', '1.0.0+b', 'linux-x86_64')).toBe('/v1/artifacts/a/1.0.0%2Bb?platform=linux-x86_64');
    for (const odd of [
      '/v1/artifacts',
      '/v1/artifacts/a',
      '/v1/artifacts/a/b/c',
      '/v1/artifacts/%/b',
      '/v2/artifacts/a/b',
    ]) {
      expect(decodeArchivePath(odd)).toBeNull();
    }
  });

  it('has what a publish says of its archive', () => {
    const plain = fc.stringMatching(/^[0-9A-Za-z.+_-]+$/);
    bothWays(fc.record({ name: plain, version: plain, runtime: plain, platforms: fc.array(plain) }), (query) => {
      const decoded = decodeQuery(encodePublishQuery(query), ['name', 'version', 'runtime', 'platform']);
      const values = decoded.kind === 'query' ? decoded.values : new Map<string, readonly string[]>();
      const [name, version, runtime] = ['name', 'version', 'runtime'].map((key) => values.get(key)?.[0]);
      return { name, version, runtime, platforms: values.get('platform') ?? [] };
    });
    expect(decodeQuery('a=%', ['a'])).toEqual({ kind: 'malformed-escape' });
    expect(decodeQuery('b=1', ['a'])).toEqual({ kind: 'unknown-parameter' });
  });

  it('has a receipt', () => {
    expect(JSON.stringify(encodeReceipt('a', '1.0.0', 'h'))).toBe('{"artifact_id":"a@1.0.0","sha256":"h"}');
    expect(decodeReceipt(encodeReceipt('a', '1.0.0', 'h'))).toBe('h');
    expect(decodeReceipt({ sha256: 1 })).toBeNull();
  });

  it('has an index', () => {
    const tool = { runtime: 'wasm', artifact_runtime: 'tool', description: null, tags: ['t'] } as const;
    expect(encodeIndex([{ name: 'a', version: '1', ...tool, platforms: [['linux', 'x86_64']] }])).toBe(
      '[{"name":"a","version":"1","runtime":"wasm","artifact_runtime":"tool","description":null,"tags":["t"],"platforms":[["linux","x86_64"]]}]',
    );
    const object = fc.record({
      name: text,
      version: text,
      runtime: fc.constantFrom(...packagings),
      artifact_runtime: fc.constantFrom(...roles),
      platforms: fc.array(fc.tuple(text, text)),
      description: optional,
      tags: fc.array(text),
    });
    bothWays(fc.array(object), (objects) => {
      const reading = decodeIndex(encodeIndex(objects));
      return reading.kind === 'index' ? reading.objects : reading;
    });
  });
});
