import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';

import { KeptOutput } from './child-group.ts';

it('the output of a child that is over is there for who reads it later', async () => {
  const child = spawn('sh', ['-c', 'echo said'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const kept = new KeptOutput(child.stdout);
  await once(child, 'close');
  expect(await text(kept)).toBe('said\n');
});

it('an output that is closed by force ends', async () => {
  const child = spawn('sh', ['-c', 'echo said; exec sleep 1000'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const kept = new KeptOutput(child.stdout);
  await once(child.stdout, 'data');
  child.stdout.destroy();
  expect(await text(kept)).toBe('said\n');
  child.kill('SIGKILL');
  await once(child, 'exit');
});

it('a reader that closes its end closes the output', async () => {
  const child = spawn('yes', { stdio: ['ignore', 'pipe', 'ignore'] });
  const kept = new KeptOutput(child.stdout);
  await once(kept, 'readable');
  kept.destroy();
  // It would go on for ever with a reader.
  const [code, signal] = (await once(child, 'exit')) as [unknown, unknown];
  expect([code, signal]).not.toEqual([0, null]);
});
