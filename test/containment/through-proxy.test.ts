import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { createServer as createSecureServer } from 'node:tls';

import { startFakeOpenAi } from '@svc/testing/fake-openai.ts';
import { describe, expect, it, onTestFinished } from 'vitest';

import { onlySession, tracePath, useCapsules } from '../support/capsule-folders.ts';
import { type Authority, certify, shown } from '../support/certify.ts';
import { readTrace } from '../support/read-trace.ts';
import { StandInProxy } from '../support/stand-in-proxy.ts';
import { svc, type SvcEnd } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';
import { hasProgram, whereClassIs } from './use-capsule.ts';

const capsule = useCapsules();
const key = 'sk-test-3f9a1c77';
const password = 'open%3Asesame';
const hasPrograms = hasProgram('openssl') && hasProgram('curl');

/** Speaks TLS for a server of this machine. */
async function behindTls(authority: Authority, port: number): Promise<number> {
  const server = createSecureServer(shown(authority), (client) => {
    const upstream = connect(port, '127.0.0.1');
    for (const socket of [client, upstream]) socket.on('error', () => socket.destroy());
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

interface Company {
  readonly workspace: Workspace;
  readonly proxy: StandInProxy;
  /** What the model heard of each call. */
  readonly heard: () => readonly string[];
  readonly run: (args: readonly string[], env?: Readonly<Record<string, string>>) => Promise<SvcEnd>;
}

/** A machine that reaches names through a proxy alone, which has a model behind it and a server for commands. */
async function company({ status = 200, commands = [] as readonly string[] } = {}): Promise<Company> {
  const authority = certify('*.company.test');
  const script = commands.map((command, index) => ({
    kind: 'stream' as const,
    toolCalls: [{ id: `call_${index}`, name: 'sh', arguments: JSON.stringify({ command }) }],
  }));
  const provider = await startFakeOpenAi([...script, { kind: 'stream', text: ['through the proxy'] }], { key });
  const server = createServer((request, response) => response.end(`${request.headers.host} is here\n`));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    await provider.close();
    server.closeAllConnections();
    server.close();
  });
  const plain = (server.address() as AddressInfo).port;
  const ports: Readonly<Record<string, number>> = {
    'model.company.test:443': await behindTls(authority, Number(new URL(provider.endpoint).port)),
    'tool.company.test:443': await behindTls(authority, plain),
    'tool.company.test:80': plain,
  };
  const proxy = await StandInProxy.forTest({ route: (target) => ports[target] ?? null, status });
  const workspace = capsule();
  workspace.write(
    'svc.yaml',
    `name: behind
version: 0.1.0
inference:
  endpoint: https://model.company.test
  model: small-model
  api_key: \${PROVIDER_KEY}
  driver: { artifact: svc-driver-openai }
capabilities:
  shell: { allow: [sh, curl, env, grep] }
  env: { allow: [HTTPS_PROXY] }
  network: { allow: [tool.company.test] }
`,
  );
  const address = `http://me:${password}@127.0.0.1:${proxy.port}`;
  const named = {
    PROVIDER_KEY: key,
    HTTPS_PROXY: address,
    HTTP_PROXY: address,
    NODE_EXTRA_CA_CERTS: authority.certificate,
    SVC_CONTAINMENT_CEILING: 'sealed',
  };
  const heard = (): readonly string[] => {
    const asked = provider.requests.at(-1)?.json as
      | { readonly messages: readonly Record<string, string>[] }
      | undefined;
    return (asked?.messages ?? []).filter(({ role }) => role === 'tool').map(({ content = '' }) => content);
  };
  return { workspace, proxy, heard, run: (args, env = {}) => svc(workspace, args, { env: { ...named, ...env } }) };
}

const asTask = ['run', '-p', 'hi'];
const shownByProxy = `Basic ${Buffer.from('me:open:sesame').toString('base64')}`;

describe.skipIf(!hasPrograms)('a capsule behind a proxy (skipped without openssl and curl)', () => {
  it('reaches its model through it, and its commands reach what they are granted and trust the same authority', async (context) => {
    const commands = [
      'curl -sS https://tool.company.test/; curl -sS http://tool.company.test/',
      'curl -sS -o /dev/null -w "%{http_code}" -p http://other.company.test:443/; grep -c PRIVATE "$SSL_CERT_FILE"',
      'env | grep -i proxy',
    ];
    const { workspace, proxy, heard, run } = await company({ commands });
    const args = [...asTask, '--containment', 'sealed'];
    const end = await whereClassIs(context, 'sealed', async () => {
      const { code, stdout, stderr } = await run(args);
      if (stderr.includes('E-CAP-003')) throw new Error(stderr);
      return { code, stdout, stderr };
    });
    expect(end).toEqual({ code: 0, stdout: 'through the proxy\n', stderr: expect.any(String) as string });
    expect(proxy.asked.toSorted()).toEqual([
      'http://tool.company.test/',
      'model.company.test:443',
      'tool.company.test:443',
    ]);
    expect(new Set(proxy.credentials)).toEqual(new Set([shownByProxy]));
    const lines = readTrace(tracePath(workspace, onlySession(workspace)));
    const results = heard();
    expect(results[0]).toContain('tool.company.test is here\ntool.company.test is here\n');
    // Neither the host that is not granted nor a private key.
    expect(results[1]).toContain('0000\n');
    expect(results[2]).toContain('HTTPS_PROXY=http://127.0.0.1:3128\n');
    expect(results[2]).not.toMatch(/me:|@/);
    expect(lines[0]).toMatchObject({
      effective_grants: {
        proxied: [
          { host: 'https://model.company.test', proxy: `127.0.0.1:${proxy.port}` },
          { host: 'tool.company.test', proxy: `127.0.0.1:${proxy.port}` },
        ],
      },
    });
    // A search of all that is left, stores and logs included.
    const left = ['sesame', shownByProxy.slice(6)].map((text) => {
      const args = ['-c', 'grep -rlaF "$0" . || true', text];
      return execFileSync('sh', args, { cwd: workspace.folder, encoding: 'utf8' });
    });
    expect(left).toEqual(['', '']);
  });

  it('reports the words of the proxy, once, and what to do', async () => {
    const { proxy, run } = await company({ status: 407 });
    const { code, stderr } = await run(asTask, { SVC_CONTAINMENT_CEILING: 'advisory' });
    expect(code).toBe(1);
    const words = `the proxy 127.0.0.1:${proxy.port} does not connect to model.company.test:443 (407)`;
    expect(stderr).toContain(`cannot reach https://model.company.test: ${words}\n`);
    expect(stderr).toContain('hint: put user and password of the proxy into the address that HTTPS_PROXY has\n');
    expect(proxy.asked).toEqual(['model.company.test:443']);
  });

  it('shows in its scope what lies beyond the proxy, which svc doctor names too', async () => {
    const { proxy, run } = await company();
    const at = `127.0.0.1:${proxy.port}`;
    const { stdout } = await run(['run', '--explain-scope'], { NO_PROXY: 'tool.company.test' });
    expect(stdout).toContain(`through a proxy:`);
    expect(stdout).toContain(`https://model.company.test by ${at}, judged by its name\n`);
    expect(stdout).toContain('  - A host behind the proxy of this machine is judged by its name alone:');
    const doctor = await run(['doctor'], { NO_PROXY: 'tool.company.test' });
    expect(doctor.stdout).toContain(
      `proxy:         https by ${at}, http by ${at}, without it tool.company.test; hosts behind it are judged by name\n`,
    );
    expect(`${stdout}${doctor.stdout}`).not.toContain('sesame');
  });

  it('does not start where the proxy cannot be used', async () => {
    const { run } = await company();
    const socks = { HTTPS_PROXY: 'socks5://me:opensesame@127.0.0.1:1080' };
    const { code, stderr } = await run(asTask, socks);
    expect([code, stderr]).toEqual([
      1,
      'error[E-REG-006]: HTTPS_PROXY is no proxy that svc can use\n' +
        'hint: write http://<host>:<port>; what goes through it is encrypted all the same\n',
    ]);
    const doctor = await run(['doctor'], socks);
    expect(doctor.stdout).toContain('problem:       HTTPS_PROXY is no proxy that svc can use\n');
  });
});
