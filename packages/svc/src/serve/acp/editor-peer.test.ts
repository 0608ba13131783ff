import { expect, it } from 'vitest';

import { EditorPeer } from './editor-peer.ts';

const request = (id: number, bytes: number): Buffer =>
  Buffer.from(
    `${JSON.stringify({ jsonrpc: '2.0', id, method: 'session/prompt', params: { text: 'x'.repeat(bytes) } })}\n`,
  );

it('EditorPeer holds requests of 64 MiB at the most, refuses the next, and takes others once one is answered', async () => {
  const written: unknown[] = [];
  const answers: (() => void)[] = [];
  const peer = new EditorPeer((message) => written.push(message), {
    onRequest: () => new Promise((resolve) => answers.push(() => resolve(null))),
    onNotification: () => {},
    onBug: (bug) => {
      throw bug;
    },
  });
  for (let id = 1; id <= 7; id += 1) peer.read(request(id, 10_000_000));
  expect(answers).toHaveLength(6);
  const error = { code: -32_600, message: 'the requests that wait may have 67108864 bytes together' };
  expect(written).toEqual([{ jsonrpc: '2.0', id: 7, error }]);
  peer.read(request(8, 1000));
  expect(answers).toHaveLength(7);
  answers[0]?.();
  await new Promise(setImmediate);
  peer.read(request(9, 10_000_000));
  expect(answers).toHaveLength(8);
  expect(written.slice(1)).toEqual([{ jsonrpc: '2.0', id: 1, result: null }]);
});
