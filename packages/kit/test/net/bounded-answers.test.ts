import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterAll, beforeAll, describe } from 'vitest';

import { ClientError } from '@svc/client/client-error.ts';
import { HttpDoor } from '@svc/client/http-door.ts';
import { boundedReadContract } from '../../../../test/support/bounded-read-contract.ts';
import { HttpClient } from '../../src/net/http-client.ts';
import { ownConnection } from '../../src/net/connections.ts';

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

  boundedReadContract('a client on connections of their own', {
    maxBytes: 16 * 1024 * 1024,
    content: (bytes) => JSON.stringify('x'.repeat(bytes - 2)),
    read: async (pieces) => {
      answer = pieces;
      const door = new HttpDoor({ url: url.href, fetch: ownConnection });
      try {
        return JSON.stringify(await door.json({ method: 'POST', target: '/', body: '{}' }));
      } catch (error) {
        return error instanceof ClientError && error.code === 'too-large' ? null : String(error);
      }
    },
  });
});
