import { once } from 'node:events';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { ask, received } from '../../kit/test/http/raw-client.ts';
import { portToName } from '../../../test/support/port-to-name.ts';
import { temporaryDirectory } from '../../artifacts/test/store/artifacts.ts';
import { zipBytes } from '../../artifacts/test/store/zip-bytes.ts';
import { authorized, bareArchive, key } from './registry-kit.ts';
import { runRegistry, startRegistry } from './registry-process.ts';

const query = 'name=a&version=1&runtime=static';

describe('svc-registry does not start', () => {
  it.each<[string, Record<string, string>, string]>([
    ['without a key', {}, 'error[E-REG-020]: REGISTRY_API_KEY is not set'],
    ['with an empty key', { REGISTRY_API_KEY: '' }, 'error[E-REG-020]: REGISTRY_API_KEY is not set'],
    ['with a blank key', { REGISTRY_API_KEY: ' \t ' }, 'error[E-REG-020]: REGISTRY_API_KEY is not set'],
    [
      'with a key that ends a line',
      { REGISTRY_API_KEY: `${key}\n` },
      'error[E-REG-020]: REGISTRY_API_KEY holds a control character, such as a line end',
    ],
    [
      'with a key that ends in a space',
      { REGISTRY_API_KEY: `${key} ` },
      'error[E-REG-020]: REGISTRY_API_KEY begins or ends with a space',
    ],
    [
      'with a key of other letters than ASCII has',
      { REGISTRY_API_KEY: 'clé-of-sixteen-letters' },
      'error[E-REG-020]: REGISTRY_API_KEY holds a character outside printable ASCII',
    ],
    [
      'on no address',
      { REGISTRY_API_KEY: key, REGISTRY_BIND: '::1:7800' },
      'error[E-REG-021]: REGISTRY_BIND is "::1:7800", which is not an address',
    ],
    [
      'with no size',
      { REGISTRY_API_KEY: key, REGISTRY_MAX_BYTES: '5MB' },
      'error[E-REG-021]: the largest archive is "5MB", which is not a size',
    ],
  ])('%s: exit code 2 and a coded error [D3-AUTH-05]', async (_what, env, said) => {
    const { code, stdout, stderr } = await runRegistry(['--data', temporaryDirectory()], env);
    expect([code, stdout, stderr.split('\n')[0]]).toEqual([2, '', said]);
  });

  it('with an option or argument it does not know: exit code 2', async () => {
    for (const args of [['--port', '1'], ['serve'], ['--data']]) {
      expect((await runRegistry(args, { REGISTRY_API_KEY: key })).code).toBe(2);
    }
  });

  it('on a taken port or an unusable directory: exit code 1', async () => {
    const { port } = await startRegistry(temporaryDirectory());
    const env = { REGISTRY_API_KEY: key, REGISTRY_BIND: `127.0.0.1:${port}` };
    const taken = await runRegistry(['--data', temporaryDirectory()], env);
    expect([taken.code, taken.stderr.split('\n')[0]]).toEqual([
      1,
      `error[E-REG-022]: cannot listen on 127.0.0.1:${port}: it is taken`,
    ]);
    const file = join(temporaryDirectory(), 'file');
    writeFileSync(file, '');
    const unusable = await runRegistry([], { ...env, REGISTRY_DATA: file });
    expect([unusable.code, unusable.stderr]).toEqual([
      1,
      expect.stringMatching(/^error\[E-IO-001\]: cannot make the directory /),
    ]);
  });

  it('on another address than 127.0.0.1:7800 where none is named [D3-LIMIT-09]', async () => {
    // Where somebody has the port already, that is what is wanted.
    const holder = createServer();
    holder.on('error', () => {});
    onTestFinished(() => void holder.close());
    holder.listen(7800, '127.0.0.1');
    await Promise.race([once(holder, 'listening'), once(holder, 'error')]);
    const { code, stderr } = await runRegistry(['--data', temporaryDirectory()], { REGISTRY_API_KEY: key });
    expect([code, stderr.split('\n')[0]]).toEqual([
      1,
      'error[E-REG-022]: cannot listen on 127.0.0.1:7800: it is taken',
    ]);
  });

  it('to print its help or version', async () => {
    expect(await runRegistry(['--help'], {})).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('REGISTRY_API_KEY'),
    });
    expect(await runRegistry(['--version'], {})).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
  });
});

describe('a running svc-registry', () => {
  it('asks for the key of its environment, which it never prints [D3-AUTH-05]', async () => {
    const { process: server, port } = await startRegistry(temporaryDirectory(), {
      REGISTRY_API_KEY: 'of-the-environment',
    });
    const status = async (token: string): Promise<number> =>
      (await ask(port, `GET /v1/artifacts?${token} HTTP/1.1`, { headers: [`Authorization: Bearer ${token}`] })).status;
    expect([await status('of-the-environment'), await status('another')]).toEqual([200, 401]);
    await server.printed(/ 401 /);
    server.child.kill('SIGTERM');
    const { stdout, stderr } = await server.ended;
    expect(stdout + stderr).not.toContain('of-the-environment');
    expect(stdout).toContain('GET /v1/artifacts?[secret] 200');
  });

  it('warns of a short key', async () => {
    const { process: server } = await startRegistry(temporaryDirectory(), { REGISTRY_API_KEY: 'fifteen-letters' });
    expect(server.stderr).toMatch(/^warning\[W-REG-001\]: REGISTRY_API_KEY has fewer than 16 characters\nhint: /);
  });

  it('writes one line for each request, with method, target, status, bytes and time', async () => {
    const { process: server, port } = await startRegistry(temporaryDirectory());
    const body = await bareArchive();
    await ask(port, `POST /v1/artifacts?${query} HTTP/1.1`, { headers: [authorized], body });
    const download = await ask(port, 'GET /v1/artifacts/a/1 HTTP/1.1', { headers: [authorized] });
    await ask(port, 'GET /there?key=%00 HTTP/1.1');
    await server.printed(/ 401 .*\n/);
    const lines = server.stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(3);
    const at = String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z `;
    expect(lines[0]).toMatch(
      new RegExp(`${at}POST /v1/artifacts\\?name=a&version=1&runtime=static 201 \\d+ B \\d+ ms$`),
    );
    const bytes = download.head.length + 4 + body.length;
    expect(lines[1]).toMatch(new RegExp(`${at}GET /v1/artifacts/a/1 200 ${bytes} B \\d+ ms$`));
    expect(lines[2]).toContain(' GET /there?key=%00 401 ');
  });

  it('keeps its artifacts in ~/.svc/registry, where neither flag nor variable says otherwise', async () => {
    const home = temporaryDirectory();
    const { process: server, port } = await startRegistryWithout(home);
    await ask(port, `POST /v1/artifacts?${query} HTTP/1.1`, { headers: [authorized], body: await bareArchive() });
    expect(readdirSync(join(home, '.svc', 'registry', 'objects'))).toEqual(['a@1@1']);
    expect(server.stderr).toContain(join(home, '.svc', 'registry'));
  });

  it('has the limit of its flag before that of the variable', async () => {
    const data = temporaryDirectory();
    const { port } = await startRegistryWithout(data, ['--data', data, '--max-bytes', '1Ki'], {
      REGISTRY_MAX_BYTES: '2Ki',
    });
    const headers = [authorized, 'Expect: 100-continue', 'Content-Length: 1025'];
    expect((await ask(port, `POST /v1/artifacts?${query} HTTP/1.1`, { headers })).body).toContain('exceeds 1024 bytes');
  });

  it('takes 512 MiB unless something else is said: an archive of 600 MB is 413', async () => {
    const { port } = await startRegistry(temporaryDirectory());
    const headers = [authorized, 'Expect: 100-continue', 'Content-Length: 600000000'];
    const { head, body } = await ask(port, `POST /v1/artifacts?${query} HTTP/1.1`, { headers });
    expect(head).toMatch(/^HTTP\/1\.1 413 /);
    expect(body).toContain('The request body exceeds 536870912 bytes.');
  });

  const hasIpv6 = Object.values(networkInterfaces()).some(
    (all) => all?.some(({ address }) => address === '::1') === true,
  );
  it.skipIf(!hasIpv6)('listens on IPv6 (skipped without it) [D3-AUTH-06]', async () => {
    const { process: server, port } = await startRegistry(temporaryDirectory(), { REGISTRY_BIND: '[::1]:0' });
    expect(server.stderr).toContain(`listens on http://[::1]:${port}, `);
    const socket = connect(port, '::1');
    socket.write(`GET /healthz HTTP/1.1\r\nHost: x\r\n${authorized}\r\nConnection: close\r\n\r\n`);
    expect(await received(socket, '{"status":"ok"}')).toContain('HTTP/1.1 200 OK');
  });

  it('reports its health without the key on an address of its own, and nothing else there', async () => {
    const { process: server, port } = await startRegistry(temporaryDirectory(), { REGISTRY_HEALTH: '127.0.0.1:0' });
    const [, health] = await server.complained(/, health on http:\/\/127\.0\.0\.1:(\d+)\/healthz\n/);
    expect((await ask(Number(health), 'GET /healthz HTTP/1.1')).body).toBe('{"status":"ok"}');
    for (const path of ['/v1/artifacts', '/v1/artifacts/a/1', '/']) {
      const { status } = await ask(Number(health), `GET ${path} HTTP/1.1`, { headers: [authorized] });
      expect([path, status]).toEqual([path, 404]);
    }
    expect((await ask(port, 'GET /healthz HTTP/1.1')).status).toBe(401);
  });

  it.each(['127.0.0.1', 'nowhere:70000', ':7801', '127.0.0.1:<own>'])(
    'does not start with a health address of %s',
    async (address) => {
      const { port } = await startRegistry(temporaryDirectory());
      const env = { REGISTRY_API_KEY: key, REGISTRY_BIND: '127.0.0.1:0', REGISTRY_DATA: temporaryDirectory() };
      const { code, stderr } = await runRegistry(['--health', address.replace('<own>', String(port))], env);
      expect([code, stderr.split(':')[0]]).toEqual(
        address.includes('<own>') ? [1, 'error[E-REG-022]'] : [2, 'error[E-REG-021]'],
      );
    },
  );

  it('sweeps what it left when it was killed, at its next start', async () => {
    const data = temporaryDirectory();
    const bind = { REGISTRY_BIND: `127.0.0.1:${await portToName()}` };
    const { process: killed, port } = await startRegistry(data, bind);
    const staging = (): string[] => readdirSync(join(data, 'staging'), { recursive: true, encoding: 'utf8' });
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => socket.destroy());
    socket.write(`POST /v1/artifacts?${query} HTTP/1.1\r\nHost: x\r\n${authorized}\r\nContent-Length: 9\r\n\r\nhalf`);
    while (!staging().some((path) => path.endsWith('archive.zip'))) await new Promise(setImmediate);
    mkdirSync(join(data, 'staging', 'another', 'its-work'), { recursive: true });
    killed.child.kill('SIGKILL');
    await killed.ended;
    expect(staging().some((path) => path.endsWith('archive.zip'))).toBe(true);
    await startRegistry(data, bind);
    expect(staging().filter((path) => path.includes('/'))).toEqual(['another/its-work']);
  });
});

describe('a svc-registry that must stop', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'lets by %s a running publish end and takes no new connection',
    async (signal) => {
      const { process: server, port } = await startRegistry(temporaryDirectory());
      const body = await bareArchive();
      const socket = connect(port, '127.0.0.1');
      onTestFinished(() => void socket.destroy());
      const head = [`POST /v1/artifacts?${query} HTTP/1.1`, 'Host: x', authorized, 'Expect: 100-continue'];
      socket.write([...head, `Content-Length: ${body.length}`, '', ''].join('\r\n'));
      await received(socket, '100 Continue');
      server.child.kill(signal);
      await server.complained(/stopping: running transfers have 30 s to end/);
      expect(await ask(port, 'GET /healthz HTTP/1.1')).toMatchObject({ status: Number.NaN });
      socket.write(body);
      const answer = await received(socket, 'artifact_id');
      expect(answer).toContain('HTTP/1.1 201 Created');
      expect(answer.toLowerCase()).toContain('connection: close');
      expect(await server.ended).toMatchObject({
        code: 0,
        signal: null,
        stderr: expect.stringMatching(/\nstopped\n$/),
      });
    },
  );

  it('ends at once at a second signal', async () => {
    const { process: server, port } = await startRegistry(temporaryDirectory());
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => socket.destroy());
    socket.write(
      `POST /v1/artifacts?${query} HTTP/1.1\r\nHost: x\r\n${authorized}\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n`,
    );
    await received(socket, '100 Continue');
    server.child.kill('SIGTERM');
    await server.complained(/stopping/);
    server.child.kill('SIGTERM');
    expect((await server.ended).code).toBe(143);
  });
});

const hasProc = process.platform === 'linux';

it.skipIf(!hasProc)('the registry holds no archive in memory (skipped without /proc)', async () => {
  const { process: server, port } = await startRegistry(temporaryDirectory());
  const peak = async (): Promise<number> => {
    const status = await readFile(`/proc/${server.child.pid}/status`, 'utf8');
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
  };
  const size = 192 * 1024 * 1024;
  const body = zipBytes([{ name: 'large', data: Buffer.alloc(size, 'large ') }]);
  const before = await peak();
  const published = await ask(port, `POST /v1/artifacts?${query} HTTP/1.1`, { headers: [authorized], body });
  expect(published.status).toBe(201);
  const download = await ask(port, 'GET /v1/artifacts/a/1 HTTP/1.1', { headers: [authorized] });
  expect(download.body.length).toBe(body.length);
  expect((await peak()) - before).toBeLessThan(size / 2);
});

/** Started by what the environment says alone. */
async function startRegistryWithout(
  home: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): ReturnType<typeof startRegistry> {
  const { RegistryProcess } = await import('./registry-process.ts');
  const server = new RegistryProcess(args, { REGISTRY_API_KEY: key, REGISTRY_BIND: '127.0.0.1:0', HOME: home, ...env });
  onTestFinished(() => void server.child.kill('SIGKILL'));
  const [, port] = await server.complained(/listens on http:\/\/\S+:(\d+), /);
  return { process: server, port: Number(port) };
}
