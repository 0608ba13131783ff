import { createServer, type Server } from 'node:http';
import { once } from 'node:events';

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { exchange, parseResponse } from '../../kit/test/http/raw-client.ts';
import type { MayReach } from '../src/launcher.ts';
import { connectBytes, EgressFixture, getBytes, portOf, type EgressSetting } from './egress-fixture.ts';

let server: Server;
let port = 0;
let fixture: EgressFixture | undefined;

beforeAll(async () => {
  server = createServer((request, response) => response.end(`${request.headers.host} ${request.url}`));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = portOf(server);
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

afterEach(async () => {
  await fixture?.close();
  fixture = undefined;
});

const somewhere = '93.184.216.34';

/** Opens a proxy that takes every usual port of `address` to the server of this test. */
async function open(setting: EgressSetting, addresses: readonly string[] = [somewhere]): Promise<EgressFixture> {
  const places = addresses.flatMap((address) => [80, 443, 8080].map((number) => [`${address}:${number}`, port]));
  fixture = await EgressFixture.open({ routes: Object.fromEntries(places), ...setting });
  return fixture;
}

async function status(text: string, to: EgressFixture): Promise<number> {
  return parseResponse(await exchange({ port: to.port, bytes: [text], halfClose: true })).status;
}

const names = { 'a.example': [somewhere], 'b.example': [somewhere] };

describe('the proxy', () => {
  it.each([
    ['a.example', getBytes('http://a.example/'), 200],
    ['a.example', getBytes('http://a.example:8080/'), 200],
    ['a.example', connectBytes('a.example:443'), 200],
    ['a.example', connectBytes('a.example:80'), 200],
    ['a.example', getBytes('http://b.example/'), 403],
    ['a.example', getBytes('http://sub.a.example/'), 403],
    ['a.example', getBytes('http://a.example.evil.example/'), 403],
    ['a.example', connectBytes('b.example:443'), 403],
    ['a.example:8080', getBytes('http://a.example:8080/'), 200],
    ['a.example:8080', connectBytes('a.example:8080'), 200],
    ['a.example:8080', getBytes('http://a.example/'), 403],
    ['a.example:8080', connectBytes('a.example:443'), 403],
    ['http://a.example', getBytes('http://a.example/'), 200],
    ['http://a.example', getBytes('http://a.example:80/'), 200],
    ['http://a.example', getBytes('http://a.example:8080/'), 403],
    ['http://a.example', connectBytes('a.example:80'), 403],
    ['http://a.example', connectBytes('a.example:443'), 403],
    ['https://a.example', connectBytes('a.example:443'), 200],
    ['https://a.example', connectBytes('a.example:8080'), 403],
    ['https://a.example', getBytes('http://a.example/'), 403],
    ['https://a.example', getBytes('http://a.example:443/'), 403],
    ['https://a.example:8080', connectBytes('a.example:8080'), 200],
  ])('under %s answers %j with %i', async (allow, text, expected) => {
    const proxy = await open({ allow: [allow], names });
    expect(await status(text, proxy)).toBe(expected);
    expect(proxy.decisions.map(({ verdict }) => verdict)).toEqual([expected === 200 ? 'allowed' : 'refused']);
    expect(proxy.connects.length).toBe(expected === 200 ? 1 : 0);
    expect(proxy.asked.length).toBe(expected === 200 ? 1 : 0);
  });

  it('lets nothing out without an entry', async () => {
    const proxy = await open({ allow: [], names });
    expect(await status(getBytes('http://a.example/'), proxy)).toBe(403);
    expect(await status(getBytes('http://127.0.0.1/'), proxy)).toBe(403);
    expect([proxy.connects, proxy.asked]).toEqual([[], []]);
  });

  it('says in a refusal what was asked for, and which key does not name it', async () => {
    const proxy = await open({ allow: ['b.example'] });
    const bytes = [getBytes('http://A.example:8080/path?secret', ['Cookie: secret'])];
    const { status, headers, body } = parseResponse(await exchange({ port: proxy.port, bytes }));
    expect([status, headers['content-type'], headers.connection]).toEqual([403, 'text/plain; charset=utf-8', 'close']);
    const reason =
      'http://a.example:8080 is refused: capabilities.network.allow does not name it. ' +
      'A request without a tunnel counts as http://.';
    expect(body).toBe(`${reason}\n`);
    expect(proxy.decisions).toEqual([{ destination: 'http://a.example:8080', verdict: 'refused', reason }]);
  });

  it('reports a tunnel that an http:// entry does not cover', async () => {
    const proxy = await open({ allow: ['http://a.example'], names });
    const { body } = parseResponse(await exchange({ port: proxy.port, bytes: [connectBytes('a.example:80')] }));
    expect(body).toBe(
      'https://a.example:80 is refused: capabilities.network.allow does not name it. A tunnel counts as https://.\n',
    );
  });

  it('reports what was allowed by its destination alone', async () => {
    const proxy = await open({ allow: ['a.example'], names });
    await status(getBytes('http://a.example/path?secret', ['Authorization: secret']), proxy);
    await status(connectBytes('a.example:8080'), proxy);
    expect(proxy.decisions).toEqual([
      { destination: 'http://a.example', verdict: 'allowed', reason: null },
      { destination: 'https://a.example:8080', verdict: 'allowed', reason: null },
    ]);
  });
});

describe('the spelling of a host', () => {
  it.each([
    ['a.example', 'A.EXAMPLE', 'a.example'],
    ['a.example', 'a.example.', 'a.example'],
    ['xn--bcher-kva.example', 'XN--BCHER-KVA.example', 'xn--bcher-kva.example'],
    ['bücher.example', 'xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['my_service', 'my_service', 'my_service'],
  ])('under %s, %s becomes %s', async (allow, host, asked) => {
    const proxy = await open({ allow: [allow], names: { [asked]: [somewhere] } });
    const bytes = [getBytes(`http://${host}/x`)];
    const { body } = parseResponse(await exchange({ port: proxy.port, bytes, halfClose: true }));
    expect([body, proxy.asked]).toEqual([`${asked} /x`, [asked]]);
    expect(await status(connectBytes(`${host}:443`), proxy)).toBe(200);
    expect(proxy.asked).toEqual([asked, asked]);
  });

  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['127.1', '127.0.0.1'],
    ['127.0.1', '127.0.0.1'],
    ['0x7f000001', '127.0.0.1'],
    ['0x7f.1', '127.0.0.1'],
    ['0177.0.0.1', '127.0.0.1'],
    ['2130706433', '127.0.0.1'],
    ['017700000001', '127.0.0.1'],
    ['127.0.0.1.', '127.0.0.1'],
    ['[::1]', '[::1]'],
    ['[0:0:0:0:0:0:0:1]', '[::1]'],
    ['[0000::0001]', '[::1]'],
    ['[::0.0.0.1]', '[::1]'],
    ['[::ffff:127.0.0.1]', '[::ffff:7f00:1]'],
    ['[::FFFF:7f00:1]', '[::ffff:7f00:1]'],
    ['[0:0:0:0:0:ffff:127.0.0.1]', '[::ffff:7f00:1]'],
    ['[64:ff9b::127.0.0.1]', '[64:ff9b::7f00:1]'],
    ['169.254.169.254', '169.254.169.254'],
    ['0xa9fea9fe', '169.254.169.254'],
    ['2852039166', '169.254.169.254'],
    ['0', '0.0.0.0'],
    ['0.0.0.0', '0.0.0.0'],
    ['[::]', '[::]'],
  ])('%s is the address %s: refused, unless exactly that is granted', async (written, address) => {
    const other = address === '127.0.0.1' ? '127.0.0.2' : '127.0.0.1';
    const plain = address.replace(/^\[(.*)\]$/, '$1');
    const refusing = await open({ allow: ['a.example', other, 'localhost'], names });
    expect(await status(getBytes(`http://${written}/`), refusing)).toBe(403);
    expect(await status(connectBytes(`${written}:443`), refusing)).toBe(403);
    expect(refusing.decisions.map((decision) => decision.destination)).toEqual([
      `http://${address}`,
      `https://${address}`,
    ]);
    expect([refusing.connects, refusing.asked]).toEqual([[], []]);
    await refusing.close();

    const granting = await open({ allow: [address], names }, [plain]);
    expect(await status(getBytes(`http://${written}/`), granting)).toBe(200);
    expect(await status(connectBytes(`${written}:443`), granting)).toBe(200);
    expect([granting.connects, granting.asked]).toEqual([[`${plain}:80`, `${plain}:443`], []]);
  });

  it.each([
    'a.example..',
    '.a.example',
    'a..example',
    'bücher.example',
    'a%2eexample',
    '%61.example',
    'user@a.example',
    'user:pw@a.example',
    'a.example@b.example',
    'a.example\\@b.example',
    '[fe80::1%eth0]',
    '[fe80::1%25eth0]',
    '[::1',
    '::1',
    '[127.0.0.1]',
    '[v1.a]',
    '[::1].',
    '256.1.1.1',
    '1.2.3.4.5',
    '0x1ffffffff',
    '4294967296',
    'a.example:0',
    'a.example:080',
    'a.example:65536',
    'a.example:',
    'a.example:http',
    '-a.example',
    'a*example',
    '*',
    '',
  ])('%j is no host: 400, and nothing is asked or connected to', async (host) => {
    const proxy = await open({ allow: ['a.example', 'b.example', '127.0.0.1', '[::1]'], names });
    expect(await status(getBytes(`http://${host}/`), proxy)).toBe(400);
    expect(await status(connectBytes(/:\w*$/.test(host) && host !== '::1' ? host : `${host}:443`), proxy)).toBe(400);
    expect([proxy.connects, proxy.asked]).toEqual([[], []]);
    expect(proxy.decisions.map((decision) => [decision.destination, decision.verdict])).toEqual([
      [null, 'refused'],
      [null, 'refused'],
    ]);
  });

  it.each([
    ['GET / HTTP/1.1\r\nHost: a.example\r\n\r\n', 'This is a proxy: ask with CONNECT or for a whole http:// address.'],
    [
      'OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n',
      'This is a proxy: ask with CONNECT or for a whole http:// address.',
    ],
    [
      'GET a.example HTTP/1.1\r\nHost: a.example\r\n\r\n',
      'This is a proxy: ask with CONNECT or for a whole http:// address.',
    ],
    [getBytes('https://a.example/'), 'An https:// address is reached through CONNECT.'],
    [getBytes('HTTPS://a.example/'), 'An https:// address is reached through CONNECT.'],
    [getBytes('ftp://a.example/'), 'Only http:// addresses are passed on.'],
    [getBytes('file:///etc/passwd'), 'Only http:// addresses are passed on.'],
    [getBytes('http://a.example/#part'), 'A fragment is no part of a request.'],
    ['CONNECT a.example HTTP/1.1\r\nHost: a\r\n\r\n', 'CONNECT needs a host and a port.'],
    ['CONNECT http://a.example:80 HTTP/1.1\r\nHost: a\r\n\r\n', 'The destination has a path.'],
    ['CONNECT /a.example:80 HTTP/1.1\r\nHost: a\r\n\r\n', 'The destination has a path.'],
  ])('%j is refused with a clear text', async (bytes, text) => {
    const proxy = await open({ allow: ['a.example'], names });
    const answer = parseResponse(await exchange({ port: proxy.port, bytes: [bytes] }));
    expect([answer.status, answer.body]).toEqual([400, `${text}\n`]);
    expect(proxy.connects).toEqual([]);
  });
});

describe('the addresses of a name', () => {
  it.each([
    ['127.0.0.1', 'loopback'],
    ['127.8.8.8', 'loopback'],
    ['::1', 'loopback'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['64:ff9b::7f00:1', 'loopback'],
    ['2002:7f00:1::1', 'loopback'],
    ['169.254.169.254', 'metadata'],
    ['fd00:ec2::254', 'metadata'],
    ['fd20:ce::254', 'metadata'],
    ['100.100.100.200', 'metadata'],
    ['192.0.0.192', 'metadata'],
    ['168.63.129.16', 'metadata'],
    ['169.254.1.1', 'link-local'],
    ['fe80::1', 'link-local'],
    ['fe80::1%lo', 'link-local'],
    ['0.0.0.0', 'unspecified'],
    ['::', 'unspecified'],
    ['224.0.0.1', 'multicast'],
    ['ff02::1', 'multicast'],
    ['255.255.255.255', 'reserved'],
    ['203.0.113.9', 'documentation'],
  ])('fail when one is %s (%s), wherever it stands in the answer', async (address, addressClass) => {
    for (const addresses of [[address], [somewhere, address], [address, somewhere]]) {
      const proxy = await open({ allow: ['a.example'], names: { 'a.example': addresses } });
      expect(await status(connectBytes('a.example:443'), proxy)).toBe(403);
      expect(await status(getBytes('http://a.example/'), proxy)).toBe(403);
      expect(proxy.connects).toEqual([]);
      expect(proxy.decisions[0]).toMatchObject({ destination: 'https://a.example', verdict: 'refused' });
      expect(proxy.decisions[0]?.reason).toContain(`(${addressClass}), which capabilities.network.allow reaches only`);
      await proxy.close();
    }
  });

  it.each(['10.1.2.3', '172.16.0.1', '192.168.7.7', '100.64.3.3', 'fd12:3456::1'])(
    'may be private: a host that the operator named is reached at %s',
    async (address) => {
      const proxy = await open({ allow: ['a.example'], names: { 'a.example': [address] } }, [address]);
      expect(await status(getBytes('http://a.example/'), proxy)).toBe(200);
      expect(proxy.connects).toEqual([`${address}:80`]);
    },
  );

  it('come from one look-up for each request, and the proxy connects to what it checked', async () => {
    const answers = [[somewhere], ['127.0.0.1'], [somewhere]];
    const proxy = await open({
      allow: ['a.example'],
      resolver: { resolve: async () => ({ kind: 'addresses', addresses: answers.shift() ?? [] }) },
    });
    const statuses = [];
    for (let asked = 0; asked < 4; asked += 1) statuses.push(await status(getBytes('http://a.example/'), proxy));
    expect(statuses).toEqual([200, 403, 200, 502]);
    expect(proxy.connects).toEqual([`${somewhere}:80`, `${somewhere}:80`]);
    expect(proxy.asked).toEqual(['a.example', 'a.example', 'a.example', 'a.example']);
  });

  it('may be loopback where the grants name it, by that address or as localhost', async () => {
    const aliases = { 'a.example': ['127.0.0.1'] };
    const byAddress = await open({ allow: ['a.example', `127.0.0.1:${port}`], names: aliases });
    expect(await status(getBytes(`http://a.example:${port}/`), byAddress)).toBe(200);
    expect(await status(getBytes('http://a.example/'), byAddress)).toBe(403);
    await byAddress.close();
    const byName = await open({ allow: ['a.example', `localhost:${port}`], names: aliases });
    expect(await status(getBytes(`http://a.example:${port}/`), byName)).toBe(200);
  });

  it('lie on this machine for localhost, and no name server gets a question', async () => {
    const proxy = await open({ allow: [`localhost:${port}`], names: { localhost: [somewhere] } });
    expect(await status(getBytes(`http://LOCALHOST.:${port}/`), proxy)).toBe(200);
    expect([proxy.asked, proxy.connects]).toEqual([[], [`127.0.0.1:${port}`]]);
    expect(await status(getBytes(`http://127.0.0.1:${port}/`), proxy)).toBe(403);
    expect(await status(getBytes(`http://sub.localhost:${port}/`), proxy)).toBe(403);
  });

  it('get one attempt after another until one answers', async () => {
    const addresses = ['2606:4700::1', '93.184.216.33', somewhere];
    const proxy = await open({ allow: ['a.example'], names: { 'a.example': addresses } });
    expect(await status(getBytes('http://a.example/'), proxy)).toBe(200);
    expect(proxy.connects).toEqual(['2606:4700::1:80', '93.184.216.33:80', `${somewhere}:80`]);
  });
});

describe('a host that is granted and cannot be reached', () => {
  it('has no address: 502', async () => {
    const proxy = await open({ allow: ['a.example'] });
    const { status, body } = parseResponse(
      await exchange({ port: proxy.port, bytes: [getBytes('http://a.example/')] }),
    );
    expect([status, body]).toEqual([502, 'a.example cannot be reached: no host has that name.\n']);
    expect(proxy.decisions).toEqual([
      {
        destination: 'http://a.example',
        verdict: 'failed',
        reason: 'a.example cannot be reached: no host has that name.',
      },
    ]);
  });

  it('refuses the connection: 502', async () => {
    const proxy = await open({ allow: ['a.example'], names: { 'a.example': ['93.184.216.35'] } });
    const { status, body } = parseResponse(
      await exchange({ port: proxy.port, bytes: [connectBytes('a.example:443')] }),
    );
    const reason = 'https://a.example cannot be reached: nothing listens there.';
    expect([status, body]).toEqual([502, `${reason}\n`]);
    expect(proxy.decisions).toEqual([{ destination: 'https://a.example', verdict: 'failed', reason }]);
  });

  it('has a name server that never answers: 504', async () => {
    const never: EgressSetting['resolver'] = { resolve: () => new Promise(() => {}) };
    const proxy = await open({ allow: ['a.example'], resolver: never, limits: { connectMs: 20 } });
    const { status, body } = parseResponse(
      await exchange({ port: proxy.port, bytes: [getBytes('http://a.example/')] }),
    );
    expect([status, body]).toEqual([504, 'http://a.example did not answer in time.\n']);
    expect(proxy.decisions).toEqual([
      {
        destination: 'http://a.example',
        verdict: 'failed',
        reason: 'a.example cannot be reached: its name could not be looked up in time.',
      },
    ]);
  });
});

describe('a host that a person is asked about', () => {
  it('answers the request that waits once it is granted, under the name that the proxy has read', async () => {
    const asked: unknown[] = [];
    const mayReach: MayReach = async (to) => {
      asked.push(to);
      await new Promise((resolve) => setTimeout(resolve, 20));
      return to.host === 'a.example';
    };
    const proxy = await open({ allow: [], names, mayReach });
    expect(await status(getBytes('http://A.example.:8080/'), proxy)).toBe(200);
    expect(await status(connectBytes('b.example:443'), proxy)).toBe(403);
    expect(await status(getBytes('http://a.example@b.example/'), proxy)).toBe(400);
    expect(asked).toEqual([
      { scheme: 'http', host: 'a.example', port: 8080 },
      { scheme: 'https', host: 'b.example', port: 443 },
    ]);
    // No name server hears of what was not granted.
    expect(proxy.asked).toEqual(['a.example']);
    expect(proxy.decisions.map(({ verdict }) => verdict)).toEqual(['allowed', 'refused', 'refused']);
  });

  it('gets no connection from an answer that comes after the request was given up, which says why', async () => {
    let answer: (isGranted: boolean) => void = () => {};
    let isHeld: AbortSignal | undefined;
    const mayReach: MayReach = async (_to, held) => {
      isHeld = held;
      return await new Promise((resolve) => (answer = resolve));
    };
    const proxy = await open({ allow: [], names, mayReach, limits: { askMs: 30 } });
    const said = parseResponse(await exchange({ port: proxy.port, bytes: [getBytes('http://a.example/')] }));
    expect(said.status).toBe(403);
    expect(said.body).toContain('a person has not answered yet whether it is granted');
    expect(isHeld?.aborted).toBe(true);
    answer(true);
    expect(proxy.connects).toEqual([]);
  });

  it('stays refused where its name leads to this machine, into a private network or to where clouds give keys away', async () => {
    const led = {
      'a.example': ['127.0.0.1'],
      'b.example': ['169.254.169.254'],
      'c.example': ['::ffff:169.254.169.254'],
      '10.0.0.1.example': ['10.0.0.1'],
      'd.example': ['93.184.216.34', 'fd12::1'],
    };
    const proxy = await open({ allow: [], names: led, mayReach: async () => true });
    for (const name of Object.keys(led)) expect(await status(getBytes(`http://${name}/`), proxy)).toBe(403);
    expect(proxy.connects).toEqual([]);
    expect(proxy.decisions.map(({ isMetadata }) => isMetadata)).toEqual([undefined, true, true, undefined, undefined]);
  });
});
