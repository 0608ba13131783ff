import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { Component } from '../src/component.ts';
import type { ComponentHost } from '../src/component-host.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { fixtureComponent } from './support/fixture-component.ts';
import { compileTimeoutMs, noGrants, order, testHost } from './support/hosted-tool.ts';
import { fixtureCache } from '../../../test/support/warm-home.ts';

const key = 'sk-live-0123456789abcdefghij';
const stars = '*'.repeat(key.length);
let host: ComponentHost;
let server: Server;
let tool: Component;
let authority: string;
let answer: (request: IncomingMessage, response: ServerResponse) => void;

beforeAll(async () => {
  host = testHost(fixtureCache);
  server = createServer((request, response) => answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  authority = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  tool = host.open(await fixtureComponent('http-tool'), {
    ...noGrants,
    mayReach: (url) => url.host === authority,
    credential: { origin: `http://${authority}`, placeholder: 'PLACE', secret: new Secret(key) },
  });
  await order(tool, { authority: '' });
}, compileTimeoutMs);

afterAll(async () => {
  await host.close();
  server.closeAllConnections();
  server.close();
});

async function echoed(): Promise<string> {
  return await order(tool, {
    authority,
    headers: [
      ['authorization', 'Bearer PLACE'],
      ['accept-encoding', 'gzip'],
    ],
  });
}

describe('an endpoint that repeats what it was sent', () => {
  it('does not hand the key to the component, in a header or in a body', async () => {
    answer = ({ headers }, response) => {
      expect(headers.authorization).toBe(`Bearer ${key}`);
      response.setHeader('x-echo', String(headers.authorization));
      response.end(JSON.stringify(headers));
    };
    const seen = await echoed();
    expect(seen).toContain(`Bearer ${stars}`);
    expect(seen).not.toContain(key);
  });

  it('does not in pieces of one byte either', async () => {
    answer = ({ headers }, response) => {
      response.socket?.setNoDelay();
      // Each has left before the next is written.
      const writeFrom = (text: string): void => {
        if (text === '') response.end('.');
        else response.write(text.slice(0, 1), () => writeFrom(text.slice(1)));
      };
      writeFrom(String(headers.authorization));
    };
    expect(await echoed()).toContain(`Bearer ${stars}.`);
  });

  it('gets no request for a compressed answer, and the component gets none', async () => {
    answer = ({ headers }, response) => {
      expect(headers['accept-encoding']).toBe('identity');
      response.setHeader('content-encoding', 'gzip');
      response.end(gzipSync(String(headers.authorization)));
    };
    expect(await echoed()).toContain('HTTP-response-content-coding');
  });
});
