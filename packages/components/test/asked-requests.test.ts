import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import type { HeldRequest, RequestJudge, RequestVerdict } from '@svc/kit/keys/bound-host.ts';
import { boundHost } from '@svc/kit/keys/bound-origin.ts';
import { fixtureCache } from '../../../test/support/warm-home.ts';
import type { Component } from '../src/component.ts';
import type { ComponentHost } from '../src/component-host.ts';
import { OutboundHttp } from '../src/outbound/outbound-http.ts';
import type { RemoteAnswers } from '../src/outbound/remote-messages.ts';
import { fixtureComponent } from './support/fixture-component.ts';
import { compileTimeoutMs, noGrants, order, testHost } from './support/hosted-tool.ts';

let host: ComponentHost;
let server: Server;
let tool: Component;
let authority: string;
let arrived: string[] = [];
let asked: HeldRequest[] = [];
const refused: string[] = [];

function grants() {
  const origin = `http://${authority}`;
  const rulings = ({ target }: { readonly target: string }) =>
    target.startsWith('/asked') ? ({ verdict: 'ask', rule: 'approvals.rules[0]' } as const) : null;
  const bound = boundHost({ origin, rules: null, key: null, rulings });
  return {
    ...noGrants,
    mayReach: (url: URL) => url.host === authority,
    bound: (wanted: string) => (wanted === origin ? bound : null),
    onRefused: (url: URL, rule = '') => void refused.push(`${url.pathname} ${rule}`),
  };
}

beforeAll(async () => {
  host = testHost(fixtureCache);
  server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      arrived.push(`${request.method} ${request.url} ${Buffer.concat(pieces).toString()}`);
      response.end('reached');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  authority = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  tool = host.open(await fixtureComponent('http-tool'), grants());
  await order(tool, { authority: '' });
}, compileTimeoutMs);

beforeEach(() => {
  [arrived, asked] = [[], []];
  refused.length = 0;
});

afterAll(async () => {
  await host.close();
  server.closeAllConnections();
  server.close();
});

function judging(verdict: RequestVerdict, { afterMs = 0, asks = true } = {}): RequestJudge {
  return {
    asks: () => asks,
    judge: async (request) => {
      asked.push(request);
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      return verdict;
    },
  };
}

const denial = { kind: 'refused', reason: 'was not sent: a person denied this request' } as const;

describe('a request of a component that a person is asked about', () => {
  it('goes out once it is allowed, and the time of the call stands still meanwhile', async () => {
    const requests = judging({ kind: 'proceed' }, { afterMs: 1500 });
    const what = { authority, path: '/asked?x=1', method: { tag: 'post' }, body: 'hello' };
    expect(await order(tool, what, { requests, deadlineMs: 1000 })).toContain('reached');
    expect(asked).toMatchObject([{ method: 'POST', target: '/asked?x=1', body: { bytes: 5, text: 'hello' } }]);
    expect(arrived).toEqual(['POST /asked?x=1 hello']);
  });

  it('does not arrive if it is denied, or if no call makes it', async () => {
    const what = { authority, path: '/asked', method: { tag: 'post' }, body: 'hello' };
    expect(await order(tool, what, { requests: judging(denial) })).toMatch(/internal-error/);
    expect(await order(tool, what)).toMatch(/internal-error/);
    expect([arrived, asked.length]).toEqual([[], 1]);
    expect(refused).toEqual(['/asked approvals.rules[0]', '/asked approvals.rules[0]']);
  });

  it('asks nobody and fails if its body is not there whole, or has more than 1 MiB', async () => {
    const http = new OutboundHttp({ grants: grants() });
    const open = async (bytes: Uint8Array, finished: boolean): Promise<string> => {
      const head = {
        method: 'post',
        scheme: 'http',
        authority,
        pathWithQuery: '/asked',
        headers: [['X-Amz-Target', Buffer.from('Store.Put')]] as const,
        ...noTimeouts,
      };
      const answer = await http.answer({ operation: 'open', head, body: { bytes, finished } }, judging(denial));
      const opened = answer as RemoteAnswers['open'];
      return opened.kind === 'refused' && opened.error.tag === 'internal-error' ? String(opened.error.val) : 'opened';
    };
    expect(await open(Buffer.from('a'), false)).toContain('does not give its body whole (approvals.rules[0])');
    expect(await open(Buffer.alloc(1024 * 1024 + 1), true)).toContain('its body has more than 1048576 bytes');
    expect([asked, arrived]).toEqual([[], []]);
    expect(await open(Buffer.from('a'), true)).toContain('a person denied this request');
    expect(asked).toMatchObject([{ method: 'POST', headers: ['x-amz-target: Store.Put'] }]);
    http.close();
  });

  it('goes out unasked in a call that has not to ask', async () => {
    const what = { authority, path: '/asked', method: { tag: 'post' }, body: 'hello' };
    expect(await order(tool, what, { requests: judging(denial, { asks: false }) })).toContain('reached');
    expect([asked, arrived]).toEqual([[], ['POST /asked hello']]);
  });
});

const noTimeouts = { connectTimeoutMs: null, firstByteTimeoutMs: null, betweenBytesTimeoutMs: null };
