import { expect, it } from 'vitest';

import { decodeIndex } from './registry-messages.ts';

it('an artifact with hundreds of thousands of tags makes an index that cannot be understood', () => {
  const tags = Array.from({ length: 300_000 }, () => 0);
  const artifact = { name: 'a', version: '1.0.0', runtime: 'wasm', artifact_runtime: 'tool', tags };
  expect(decodeIndex(JSON.stringify([artifact]))).toEqual({
    kind: 'unparsable',
    reason: '0.tags is missing, or not what it should be',
  });
});

it('decodeIndex looks at the first alone of millions that are no artifacts', () => {
  expect(decodeIndex(`[${'{},'.repeat(2_000_000)}5]`)).toEqual({
    kind: 'unparsable',
    reason: '0.name is missing, or not what it should be',
  });
});

it('an index of more values than versions have is not made into any', () => {
  const version = '{"name":"a","version":"1.0.0","runtime":"wasm","artifact_runtime":"tool","tags":["b"]}';
  const reading = decodeIndex(`[${`${version},`.repeat(100_000)}${version}]`);
  expect(reading.kind === 'index' && reading.objects.length).toBe(100_001);
  expect(decodeIndex(`[${version},${'{},'.repeat(2 ** 21)}{}]`)).toEqual({
    kind: 'unparsable',
    reason: 'it holds too much',
  });
});

it.each([
  ['{"artifacts":[]}', 'it is no list'],
  ['<html>', 'it is not JSON'],
  ['[5]', '0 is missing, or not what it should be'],
])('the index %s cannot be understood: %s', (text, reason) => {
  expect(decodeIndex(text)).toEqual({ kind: 'unparsable', reason });
});
