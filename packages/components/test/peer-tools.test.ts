import { expect, it } from 'vitest';

import { Mailbox } from '../src/guest/mailbox.ts';
import { runtimeImports } from '../src/guest/runtime-imports.ts';

it('imports of the runtime share and fetch no files: that is for the model alone [D3-TOOL-13]', () => {
  const offered = runtimeImports(new Mailbox());
  expect(Object.entries(offered).map(([name, functions]) => [name, Object.keys(functions)])).toEqual([
    ['svc:text/chunks', ['emitChunk', 'emitThinkingChunk']],
    ['svc:task/task', ['requestInput']],
    ['svc:runtime/inference', ['complete']],
  ]);
});
