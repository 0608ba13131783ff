import { expect, it } from 'vitest';

import { parseIndex } from './index-object.ts';

it('an artifact with hundreds of thousands of tags makes an index that cannot be understood', () => {
  const tags = Array.from({ length: 300_000 }, () => 0);
  const artifact = { name: 'a', version: '1.0.0', runtime: 'wasm', artifact_runtime: 'tool', tags };
  expect(parseIndex(JSON.stringify([artifact]))).toEqual({
    kind: 'unparsable',
    reason: '0.tags is missing, or not what it should be',
  });
});
