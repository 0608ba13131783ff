import { PassThrough, Writable } from 'node:stream';

import { expect, it } from 'vitest';

import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { Output } from '@svc/terminal/screen/output.ts';
import { McpWire } from './mcp-wire.ts';

/** A client that takes nothing before `take` is called. */
class SlowClient extends Writable {
  readonly written: string[] = [];
  take = (): void => {};

  override _write(bytes: Buffer, _: unknown, done: () => void): void {
    this.written.push(bytes.toString());
    this.take = done;
  }
}

it('McpWire leaves notifications out for a client that does not read, and nothing that it waits for', async () => {
  const [client, stderr] = [new SlowClient(), new PassThrough({ encoding: 'utf8' })];
  const outputs = { stdout: new Output(() => client), stderr: new Output(() => stderr) };
  const wire = new McpWire(new PassThrough(), outputs as CommandContext);
  const data = 'x'.repeat(1024 * 1024);
  for (let sent = 0; sent < 40; sent += 1) {
    await wire.send({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data } });
  }
  await wire.send({ jsonrpc: '2.0', id: 7, result: {} });
  expect(client.writableLength).toBeGreaterThan(16 * 1024 * 1024);
  expect(client.writableLength).toBeLessThan(18 * 1024 * 1024);
  expect(stderr.read()).toBe('svc: notifications are left out: the client does not read\n');
  while (client.writableLength > 0) {
    client.take();
    await new Promise(setImmediate);
  }
  expect(client.written.at(-1)).toBe('{"jsonrpc":"2.0","id":7,"result":{}}\n');
  expect(client.written).toHaveLength(17);
});
