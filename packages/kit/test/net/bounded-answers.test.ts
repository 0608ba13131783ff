import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterAll, beforeAll, describe } from 'vitest';

import { boundedReadContract } from '../../../../test/support/bounded-read-contract.ts';
import { HttpClient } from '../../src/net/http-client.ts';
import { postJson } from '../../src/net/post-json.ts';

let server: Server;
let url: URL;
let answer: readonly Buffer[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume();
    for (const piece of answer) response.write(piece);
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

describe('the answer of a server', () => {
  boundedReadContract('the client of registries', {
    maxBytes: 100_000,
    read: async (pieces) => {
      answer = pieces;
      const head = await new HttpClient().send({ label: 'the server', url, key: null });
      return await head.text(100_000);
    },
  });

  boundedReadContract('a post of JSON', {
    maxBytes: 16 * 1024 * 1024,
    content: (bytes) => JSON.stringify('x'.repeat(bytes - 2)),
    read: async (pieces) => {
      answer = pieces;
      const outcome = await postJson({ url, body: '{}', timeoutMs: 30_000 });
      if (outcome.kind === 'answered') return JSON.stringify(outcome.body);
      return outcome.reason === 'the answer is larger than 16 MiB' ? null : outcome.reason;
    },
  });
});
