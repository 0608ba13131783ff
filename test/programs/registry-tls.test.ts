import { createServer as createProxy, type IncomingMessage, type Server } from 'node:http';
import { createServer } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';

import { hasProgram } from '../containment/use-capsule.ts';
import { useCapsules } from '../support/capsule-folders.ts';
import { closedPort } from '../support/closed-port.ts';
import { type Authority, certify, shown } from '../support/certify.ts';
import { svc, type SvcEnd } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();

const index = JSON.stringify([{ name: 'echo', version: '1.0.0', runtime: 'wasm', artifact_runtime: 'tool' }]);

async function listening(server: Server | ReturnType<typeof createServer>): Promise<number> {
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** What a proxy is asked, and a server behind it that is reached whatever name is asked for. */
interface Network {
  readonly proxyPort: number;
  readonly connects: string[];
  readonly credentials: (string | undefined)[];
  readonly keys: (string | undefined)[];
}

async function network(authority: Authority, proxyStatus = 200, location?: string): Promise<Network> {
  const keys: (string | undefined)[] = [];
  const secure = createServer(shown(authority), (request, response) => {
    keys.push(request.headers.authorization);
    if (location === undefined) response.writeHead(200).end(index);
    else response.writeHead(307, { location }).end();
  });
  const port = await listening(secure);
  const connects: string[] = [];
  const credentials: (string | undefined)[] = [];
  const proxy = createProxy().on('connect', (request: IncomingMessage, client: Duplex) => {
    connects.push(request.url ?? '');
    credentials.push(request.headers['proxy-authorization']);
    if (proxyStatus !== 200) {
      client.end(`HTTP/1.1 ${proxyStatus} No\r\n\r\n`);
      return;
    }
    const upstream = connect(port, '127.0.0.1', () => client.write('HTTP/1.1 200 Connected\r\n\r\n'));
    for (const socket of [client, upstream]) socket.on('error', () => undefined);
    client.pipe(upstream).pipe(client);
  });
  return { proxyPort: await listening(proxy), connects, credentials, keys };
}

let workspace: Workspace;
beforeEach(() => {
  workspace = capsule();
});

async function search(env: Readonly<Record<string, string>>): Promise<SvcEnd> {
  const registry = { SVC_REGISTRY_URL: 'https://registry.test', REGISTRY_API_KEY: 'a-key' };
  return await svc(workspace, ['search', 'echo', '--json'], { env: { ...registry, ...env } });
}

describe.skipIf(!hasProgram('openssl'))('a registry behind TLS and a proxy (skipped without openssl)', () => {
  it('works through the proxy, which sees neither key nor answer', async () => {
    const authority = certify('registry.test');
    const { proxyPort, connects, credentials, keys } = await network(authority);
    const { code, stdout, stderr } = await search({
      HTTPS_PROXY: `http://me:word@127.0.0.1:${proxyPort}`,
      NODE_EXTRA_CA_CERTS: authority.certificate,
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ name: 'echo', registry: 'https://registry.test' });
    expect(connects).toEqual(['registry.test:443']);
    expect(credentials).toEqual([`Basic ${Buffer.from('me:word').toString('base64')}`]);
    expect(keys).toEqual(['Bearer a-key']);
  });

  it.each([
    ['that nobody vouches for', 'registry.test', false, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['of another host', 'other.test', true, 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ])('with a certificate %s is not shown the key', async (_, name, isKnown, reason) => {
    const authority = certify(name);
    const { proxyPort, keys } = await network(authority);
    const end = await search({
      HTTPS_PROXY: `http://127.0.0.1:${proxyPort}`,
      ...(isKnown ? { NODE_EXTRA_CA_CERTS: authority.certificate } : {}),
    });
    expect(end).toEqual({
      code: 1,
      signal: null,
      stdout: '',
      stderr:
        `error[E-IO-003]: the registry https://registry.test: its certificate cannot be verified (${reason})\n` +
        'hint: name the file of your own certificate authority in NODE_EXTRA_CA_CERTS\n',
    });
    expect(keys).toEqual([]);
  });

  it.each([
    ['http://127.0.0.1:<port>/', 'which is not https'],
    ['http://localhost:<port>/', 'which is not https'],
    ['https://127.0.0.1:<port>/', 'which is 127.0.0.1, a loopback address'],
    ['https://localhost:<port>/', 'which is 127.0.0.1, a loopback address'],
    ['https://[::ffff:127.0.0.1]:<port>/', 'which is ::ffff:7f00:1, a loopback address'],
    ['https://169.254.169.254/latest', 'which is 169.254.169.254, a metadata address'],
    ['https://192.168.1.1/', 'which is 192.168.1.1, a private address'],
  ])('leads nobody to this machine or its networks: %s', async (address, why) => {
    let isAsked = false;
    const port = await listening(
      createProxy((_, response) => {
        isAsked = true;
        response.end(index);
      }).on('connection', () => (isAsked = true)),
    );
    const location = address.replace('<port>', String(port));
    const authority = certify('registry.test');
    const { proxyPort } = await network(authority, 200, location);
    const end = await search({
      HTTPS_PROXY: `http://127.0.0.1:${proxyPort}`,
      NO_PROXY: '127.0.0.1,localhost,::1',
      NODE_EXTRA_CA_CERTS: authority.certificate,
    });
    expect([end.code, end.stderr.split('\n')[0]]).toEqual([
      1,
      `error[E-REG-027]: the registry https://registry.test redirects to ${location}, ${why}`,
    ]);
    expect(isAsked).toBe(false);
  });

  it('stays out of reach through a proxy that refuses', async () => {
    const { proxyPort } = await network(certify('registry.test'), 407);
    expect((await search({ HTTPS_PROXY: `http://127.0.0.1:${proxyPort}` })).stderr).toBe(
      `error[E-IO-003]: the proxy 127.0.0.1:${proxyPort} does not connect to registry.test:443 (407)\n` +
        'hint: put user and password of the proxy into its address\n',
    );
  });

  it('stays out of reach through a missing proxy', async () => {
    const port = await closedPort();
    expect((await search({ HTTPS_PROXY: `http://127.0.0.1:${port}` })).stderr).toBe(
      `error[E-IO-003]: the proxy 127.0.0.1:${port}: nothing listens there\n`,
    );
  });
});
