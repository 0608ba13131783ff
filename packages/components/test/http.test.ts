import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';

import type { Component, ComponentGrants } from '../src/component.ts';
import { type ComponentHost, createComponentHost } from '../src/component-host.ts';
import { OutboundHttp } from '../src/outbound/outbound-http.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { closedPort } from '../../../test/support/closed-port.ts';
import { fixtureComponent } from './support/fixture-component.ts';
import { compileTimeoutMs, faultOf, noGrants, order, packageRoot, testHost } from './support/hosted-tool.ts';
import { fixtureCache } from '../../../test/support/warm-home.ts';

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

let host: ComponentHost;
let server: Server;
let authority: string;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let seen: Seen[];
let tool: Component;

beforeAll(async () => {
  host = testHost(fixtureCache);
  server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const { method, url, headers } = request;
      seen.push({ method, url, headers, body: Buffer.concat(pieces).toString() });
      answer(request, response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  authority = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  tool = host.open(await fixtureComponent('http-tool'), noGrants);
  await order(tool, { authority: '' });
}, compileTimeoutMs);

afterAll(async () => {
  await host.close();
  server.closeAllConnections();
  server.close();
});

beforeEach(() => {
  seen = [];
  answer = (_, response) => response.end('fine');
});

afterEach(async () => tool.close());

async function openTool(grants: Partial<ComponentGrants> = {}): Promise<void> {
  tool = host.open(await fixtureComponent('http-tool'), {
    ...noGrants,
    mayReach: (url) => url.host === authority,
    ...grants,
  });
}

async function request(what: Record<string, unknown>, call: Parameters<typeof order>[2] = {}): Promise<unknown> {
  return JSON.parse(await order(tool, { authority, ...what }, call));
}

describe('a request of a component', () => {
  it('reaches its server and gets the answer', async () => {
    await openTool();
    const headers = [
      ['x-more', 'a'],
      ['x-more', 'b'],
    ];
    const sent = await request({ method: { tag: 'post' }, path: '/a?b=c', headers, body: 'text' });
    expect(sent).toEqual({ status: 200, body: 'fine' });
    const [{ headers: arrived, ...rest }] = seen as [Seen];
    expect(rest).toEqual({ method: 'POST', url: '/a?b=c', body: 'text' });
    expect([arrived.host, arrived['content-length'], arrived['x-more']]).toEqual([authority, '4', 'a, b']);
  });

  it('brings its head and the first of its body back in one message', async () => {
    await openTool();
    const asked = vi.spyOn(OutboundHttp.prototype, 'answer');
    try {
      for (let round = 0; round < 2; round += 1) expect(await request({})).toEqual({ status: 200, body: 'fine' });
      const operations = asked.mock.calls.map(([{ operation }]) => operation);
      expect(operations.slice(4)).toEqual(['open', 'wait', 'read', 'close']);
    } finally {
      asked.mockRestore();
    }
  });

  it('sends a body in pieces after its head', async () => {
    await openTool();
    await request({ method: { tag: 'put' }, pieces: ['one ', 'two ', 'three'] });
    expect([seen[0]?.body, seen[0]?.headers['transfer-encoding']]).toEqual(['one two three', 'chunked']);
  });

  it('sends a large body without losing any', async () => {
    await openTool();
    await request({ method: { tag: 'post' }, pieces: Array.from({ length: 8 }, () => 'x'.repeat(256 * 1024)) });
    expect(seen[0]?.body.length).toBe(2 * 1024 * 1024);
  });

  it('frames a body even where none is expected', async () => {
    await openTool();
    await request({ method: { tag: 'delete' }, body: 'GET / HTTP/1.1\r\nhost: x\r\n\r\n' });
    await request({ method: { tag: 'get' }, pieces: ['GET / HTTP/1.1\r\nhost: x\r\n\r\n'] });
    expect(seen.map(({ method }) => method)).toEqual(['DELETE', 'GET']);
  });

  it('reads a long response whole', async () => {
    await openTool();
    answer = (_, response) => response.end('z'.repeat(3_000_000));
    const { body } = (await request({})) as { readonly body: string };
    expect(body.length).toBe(3_000_000);
  });

  it('reads pieces as they come', async () => {
    await openTool();
    const heard: string[] = [];
    let next = (): void => {};
    answer = (_, response) => {
      const pieces = ['a', 'b', 'c'];
      next = () => {
        const piece = pieces.shift();
        if (piece === undefined) response.end();
        else response.write(piece);
      };
      next();
    };
    // The next piece is written only once the one before was heard.
    const host = {
      'svc:text/chunks@0.1.0#emit-chunk': (text: string) => {
        heard.push(text);
        next();
      },
    };
    expect(await request({ stream: true }, { host })).toEqual({ status: 200, body: 'abc' });
    expect(heard).toEqual(['a', 'b', 'c']);
  });

  it('does not follow a redirect, and asks again before it goes there itself', async () => {
    await openTool();
    answer = (_, response) => response.writeHead(302, { location: 'http://elsewhere.test/' }).end();
    expect(await request({})).toEqual({ status: 302, location: 'http://elsewhere.test/', body: '' });
    expect(await request({ authority: 'elsewhere.test' })).toEqual({ error: 'HTTP-request-denied' });
    expect(seen.length).toBe(1);
  });

  it.each([
    ['a host that is not allowed', { authority: 'other.test' }, 'HTTP-request-denied'],
    ['the same host on another port', { authority: '127.0.0.1:1' }, 'HTTP-request-denied'],
    ['a user before the host', { authority: 'user@127.0.0.1' }, undefined],
    ['a tunnel', { method: { tag: 'connect' } }, 'HTTP-request-method-invalid'],
    ['an echo', { method: { tag: 'trace' } }, 'HTTP-request-method-invalid'],
    ['a server that does not speak TLS', { scheme: { tag: 'HTTPS' } }, 'TLS-protocol-error'],
    ['another scheme', { scheme: { tag: 'other', val: 'ftp' } }, 'HTTP-request-URI-invalid'],
  ])('fails for %s', async (_, what, error) => {
    await openTool();
    const outcome = (await request(what)) as { readonly error?: string };
    expect(outcome.error).toBe(error);
    expect(seen).toEqual([]);
  });

  it.each(['host', 'connection', 'transfer-encoding', 'Upgrade', 'expect', 'bad name', 'x\r\ny'])(
    'does not carry the header %j',
    async (name) => {
      await openTool();
      const outcome = (await request({ headers: [[name, 'v']] })) as { readonly thrown?: string };
      expect(['forbidden', 'invalid-syntax']).toContain(outcome.thrown);
      expect(seen).toEqual([]);
    },
  );

  it('does not carry a header value that ends the header', async () => {
    await openTool();
    expect(await request({ headers: [['x', 'a\r\ny: b']] })).toEqual({ thrown: 'invalid-syntax' });
  });

  it.each([
    ['longer', '9'],
    ['shorter', '2'],
    ['not a number', 'two'],
  ])('fails when its announced length is %s', async (_, length) => {
    await openTool();
    const headers = [['content-length', length]];
    expect(await request({ method: { tag: 'post' }, headers, body: 'text' })).toEqual({
      error: 'HTTP-request-body-size',
    });
    expect(seen).toEqual([]);
  });

  it('distinguishes a server that refuses the connection from one that breaks it', async () => {
    await openTool({ mayReach: () => true });
    expect(await request({ authority: `127.0.0.1:${await closedPort()}` })).toEqual({ error: 'connection-refused' });
    answer = (_, response) => response.socket?.destroy();
    expect(await request({})).toEqual({ error: 'connection-terminated' });
    answer = (_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('part');
      response.once('drain', () => {});
      setImmediate(() => response.socket?.destroy());
    };
    const broken = (await request({})) as { readonly thrown?: string };
    expect(broken.thrown).toContain('HTTP-response-incomplete');
  });

  it('ends with the call', async () => {
    await openTool();
    const controller = new AbortController();
    let closed: Promise<unknown> = Promise.resolve();
    answer = (_, response) => {
      closed = once(response, 'close');
      controller.abort();
    };
    expect((await faultOf(request({}, { signal: controller.signal }))).kind).toBe('canceled');
    await closed;
  });
});

describe('a name in a request of a component', () => {
  it('goes to the resolver of its host, and a forbidden one is an error that the component survives', async () => {
    const { port } = server.address() as AddressInfo;
    const asked: string[] = [];
    const addresses: Readonly<Record<string, readonly string[]>> = {
      'inner.test': ['127.0.0.1'],
      'metadata.test': ['127.0.0.1', '169.254.169.254'],
    };
    const resolving = createComponentHost({
      cacheDir: fixtureCache,
      packageRoot,
      resolver: {
        resolve: async (name) => {
          asked.push(name);
          return { kind: 'addresses', addresses: addresses[name] ?? [] };
        },
      },
    });
    const permitted = new Set(['inner.test', 'metadata.test', 'nowhere.test', '127.0.0.1']);
    tool = resolving.open(await fixtureComponent('http-tool'), {
      ...noGrants,
      mayReach: ({ hostname }) => permitted.has(hostname),
    });
    expect(await request({ authority: `metadata.test:${port}` })).toEqual({ error: 'destination-IP-prohibited' });
    expect(await request({ authority: `nowhere.test:${port}` })).toEqual({ error: 'DNS-error' });
    expect(await request({ authority: `other.test:${port}` })).toEqual({ error: 'HTTP-request-denied' });
    expect(seen).toEqual([]);
    expect(await request({ authority: `inner.test:${port}` })).toEqual({ status: 200, body: 'fine' });
    expect(asked).toEqual(['metadata.test', 'nowhere.test', 'inner.test']);
    await resolving.close();
  });
});

describe('the credential', () => {
  const placeholder = 'svc-placeholder-3f9a';
  const secret = new Secret('sk-real');

  function credential(origin = `http://${authority}`): Pick<ComponentGrants, 'credential' | 'mayReach'> {
    return { credential: { origin, placeholder, secret }, mayReach: () => true };
  }

  it('takes the place of its placeholder in a header to its origin', async () => {
    await openTool(credential());
    await request({ headers: [['authorization', `Bearer ${placeholder}`]] });
    expect(seen[0]?.headers.authorization).toBe('Bearer sk-real');
  });

  it('stands in headers only', async () => {
    await openTool(credential());
    await request({ method: { tag: 'post' }, path: `/?key=${placeholder}`, body: `key ${placeholder}` });
    expect([seen[0]?.url, seen[0]?.body]).toEqual([`/?key=${placeholder}`, `key ${placeholder}`]);
  });

  it.each([
    ['a header', { headers: [['x-api-key', placeholder]] }],
    ['the address', { path: `/${placeholder}` }],
    ['the address, hidden', { path: `/${placeholder.replace('-', '%2D')}` }],
    ['the body', { method: { tag: 'post' }, body: `a ${placeholder}` }],
  ])('stays away from another origin: no placeholder in %s', async (_, what) => {
    await openTool(credential('https://api.test'));
    expect(await request(what)).toEqual({ error: 'HTTP-request-denied' });
    expect(seen).toEqual([]);
  });

  it('stays away from another origin: no placeholder in a body that comes in pieces', async () => {
    await openTool(credential('https://api.test'));
    const pieces = ['before ', placeholder.slice(0, 5), placeholder.slice(5), ' after'];
    const outcome = (await request({ method: { tag: 'post' }, pieces })) as { readonly thrown?: string };
    expect(outcome.thrown).toBe('last-operation-failed');
    expect(seen).toEqual([]);
  });
});
