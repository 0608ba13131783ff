import { createServer, type Server } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

import { describe, expect, it } from 'vitest';

import { startFakeOllama, type FakeModel } from '@svc/testing/fake-ollama.ts';
import { closedPort } from '../../../../../test/support/closed-port.ts';
import { askOllama } from './ask-ollama.ts';

const embeds = { name: 'nomic-embed-text:latest', capabilities: ['embedding'] };
const talks = { name: 'gemma3:4b', capabilities: ['completion'] };
const calls = { name: 'qwen3:8b', capabilities: ['completion', 'tools'] };

async function answering(models: readonly FakeModel[]): Promise<string | null> {
  await using ollama = await startFakeOllama(models, []);
  // No test of how fast it is.
  return await askOllama(ollama.endpoint, 20_000);
}

/** Answers each connection with these bytes, and keeps it open. */
async function listening(bytes: string): Promise<{ address: string; server: Server }> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.write(bytes);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

describe('the model of an Ollama that answers', () => {
  it.each<[what: string, models: readonly FakeModel[], chosen: string | null]>([
    ['the newest that can call tools', [embeds, talks, calls], 'qwen3:8b'],
    ['the newest that talks, where none can', [embeds, talks], 'gemma3:4b'],
    ['none, where there is none', [], null],
    ['none, where all of them only embed', [embeds], null],
  ])('can be %s', async (_, models, chosen) => {
    expect(await answering(models)).toBe(chosen);
  });

  it.each([
    ['nothing', ''],
    ['no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['half an answer', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"mod'],
    ['no JSON', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi'],
    ['something else', 'HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\n{"models":[1]}'],
    ['a redirect', 'HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n'],
    ['far too much', `HTTP/1.1 200 OK\r\ncontent-length: 9999999\r\n\r\n"${'x'.repeat(1_100_000)}`],
  ])('counts as missing where the server answers %s', async (_, bytes) => {
    const { address, server } = await listening(bytes);
    expect(await askOllama(address)).toBeNull();
    server.close();
  });

  it('counts as missing where nobody listens', async () => {
    expect(await askOllama(`http://127.0.0.1:${await closedPort()}`)).toBeNull();
  });
});
