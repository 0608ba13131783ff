import { MessageChannel } from 'node:worker_threads';

import { expect, it } from 'vitest';

import { Mailbox } from '../../src/components/guest/mailbox.ts';
import { runtimeImports } from '../../src/components/guest/runtime-imports.ts';

it('imports of the runtime share and fetch no files: that is for the model alone [D3-TOOL-13]', () => {
  const { port1, port2 } = new MessageChannel();
  const offered = runtimeImports(new Mailbox(port1, new Int32Array(new SharedArrayBuffer(64))));
  expect(Object.entries(offered).map(([name, functions]) => [name, Object.keys(functions)])).toEqual([
    ['svc:text/chunks', ['emitChunk', 'emitThinkingChunk']],
    ['svc:task/task', ['requestInput']],
    ['svc:runtime/inference', ['complete']],
  ]);
  port1.close();
  port2.close();
});
