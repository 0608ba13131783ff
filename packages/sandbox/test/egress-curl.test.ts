import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { EgressFixture, portOf } from './egress-fixture.ts';

const hasCurl = spawnSync('curl', ['--version']).status === 0;

interface Ran {
  readonly exitCode: number;
  readonly stdout: string;
}

let server: Server;
let fixture: EgressFixture;

beforeAll(async () => {
  server = createServer((request, response) => {
    let length = 0;
    request.on('data', (bytes: Buffer) => (length += bytes.length));
    request.on('end', () => response.end(`${request.method} ${request.headers.host} ${request.url} ${length}`));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

afterEach(() => fixture.close());

async function open(allow: readonly string[]): Promise<void> {
  const port = portOf(server);
  fixture = await EgressFixture.open({
    allow,
    names: { 'a.example': ['93.184.216.34'], 'b.example': ['93.184.216.35'] },
    routes: { '93.184.216.34:80': port, '93.184.216.34:443': port, '93.184.216.35:80': port },
  });
}

/** Runs curl as a contained program would: with the proxy in its environment and nothing else. */
function curl(args: readonly string[], input = ''): Promise<Ran> {
  const proxy = `http://127.0.0.1:${fixture.port}`;
  const env = { PATH: process.env.PATH ?? '', http_proxy: proxy, HTTPS_PROXY: proxy, ALL_PROXY: proxy };
  return new Promise((resolve) => {
    const child = execFile('curl', ['-q', '-sS', ...args], { env }, (error, stdout) => {
      resolve({ exitCode: typeof error?.code === 'number' ? error.code : 0, stdout });
    });
    child.stdin?.end(input);
  });
}

describe.skipIf(!hasCurl)('curl behind the egress proxy (skipped without curl)', () => {
  it('reaches a granted host and no other, over one connection', async () => {
    await open(['http://a.example']);
    const ran = await curl(['-w', ' %{http_code};', 'http://a.example/x?y', 'http://a.example/2', 'http://b.example/']);
    expect(ran.stdout).toBe(
      'GET a.example /x?y 0 200;GET a.example /2 0 200;' +
        'http://b.example is refused: capabilities.network.allow does not name it. ' +
        'A request without a tunnel counts as http://.\n 403;',
    );
    expect(fixture.clients.length).toBe(1);
    expect(fixture.connects).toEqual(['93.184.216.34:80', '93.184.216.34:80']);
  });

  it('opens a tunnel to a granted host and to no other', async () => {
    await open(['https://a.example']);
    expect(await curl(['-p', 'http://a.example:443/x'])).toEqual({ exitCode: 0, stdout: 'GET a.example:443 /x 0' });
    expect((await curl(['-p', 'http://b.example/'])).exitCode).toBe(56);
    expect((await curl(['https://b.example/'])).exitCode).toBe(56);
    expect(fixture.connects).toEqual(['93.184.216.34:443']);
  });

  it('sends a body that it waits to be asked for, and one in chunks', async () => {
    await open(['a.example']);
    const body = 'x'.repeat(2_000_000);
    const expecting = ['-H', 'Expect: 100-continue', '--expect100-timeout', '600', '--data-binary', '@-'];
    expect((await curl([...expecting, 'http://a.example/'], body)).stdout).toBe('POST a.example / 2000000');
    const chunked = ['-H', 'Transfer-Encoding: chunked', '-T', '-'];
    expect((await curl([...chunked, 'http://a.example/'], body)).stdout).toBe('PUT a.example / 2000000');
  });

  it('asks for HEAD, and for an upgrade that it does not get', async () => {
    await open(['a.example']);
    expect((await curl(['-I', '-o', '/dev/null', '-w', '%{http_code}', 'http://a.example/'])).stdout).toBe('200');
    expect((await curl(['--http2', 'http://a.example/'])).stdout).toBe('GET a.example / 0');
  });

  it('does not reach loopback or metadata addresses by any spelling', async () => {
    await open(['a.example']);
    const places = ['127.0.0.1', '0x7f.1', '[::1]', 'localhost', '169.254.169.254', '[::ffff:169.254.169.254]'];
    for (const place of places) {
      const ran = await curl(['--noproxy', '', '-g', '-o', '/dev/null', '-w', '%{http_code}', `http://${place}/`]);
      expect([place, ran.stdout]).toEqual([place, '403']);
    }
    expect(fixture.connects).toEqual([]);
  });
});
