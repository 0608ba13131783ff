import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { readTrace } from '../support/read-trace.ts';
import { svc } from '../support/svc-process.ts';
import { asOneself, printed, sealed, shell, type ScriptedCall } from './contained-capsule.ts';
import { portOf, Upstreams } from '../../packages/sandbox/test/network-upstreams.ts';
import { hasProgram, needsPrograms, useCapsule } from './use-capsule.ts';

/** What the tests start beside the capsule. */
const hasServers = hasProgram('openssl') && hasProgram('git');

let root = '';
let upstreams: Upstreams;
const ports = { granted: 0, other: 0, secure: 0 };

beforeAll(async () => {
  if (!hasServers) return;
  root = mkdtempSync(join(tmpdir(), 'svc-upstreams-'));
  const git = (...args: readonly string[]): void => {
    const identity = ['-c', 'user.name=A', '-c', 'user.email=a@example.com'];
    execFileSync('git', [...identity, ...args], { cwd: root, stdio: 'ignore' });
  };
  git('init', '-b', 'main', 'work');
  git('-C', 'work', 'commit', '--allow-empty', '-m', 'over http');
  git('clone', '--bare', 'work', 'repository.git');
  git('-C', 'repository.git', 'update-server-info');
  upstreams = await Upstreams.open(root);
  for (const name of ['granted', 'other', 'secure'] as const) ports[name] = portOf(upstreams[name]);
});

afterAll(() => {
  if (!hasServers) return;
  upstreams.close();
  rmSync(root, { recursive: true });
});

const host = '127.0.0.1';
const curl = (id: string, from: string): ScriptedCall =>
  shell(id, `curl -sS -w '%{http_code}\n' --cacert certificate.pem ${from}`);
const attempt = (id: string, statement: string): ScriptedCall =>
  shell(
    id,
    `python3 - <<'END'
import errno, socket
try:
    ${statement}; print("done")
except socket.gaierror: print("no such name")
except OSError as error: print(errno.errorcode[error.errno])
END`,
  );
const connect = (port: number): string => `socket.create_connection(("${host}", ${port}))`;
const datagram = 'socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 53))';

/** The ports of this run as they stand in expectations. */
function namingPorts(text: string): string {
  const named = Object.entries(ports).map(([name, port]) => [String(port), name] as const);
  return named.reduce((so, [port, name]) => so.replaceAll(`:${port}`, `:${name}`), text);
}

/** A native tool that calls two servers and reports their answers. */
const caller = `#!/bin/bash
cat > /dev/null
code() { curl -s -o /dev/null --cacert certificate.pem -w '%{http_code}' "$1"; }
printf '{"status":"passed","content":"%s %s"}' "$(code GRANTED)" "$(code SECURE)"
`;

describe.skipIf(!hasServers).each(sealed)('a list of hosts in $name (skipped without openssl and git)', (setup) => {
  const capsule = useCapsule(setup, () => ({
    calls: [
      curl('granted', `http://${host}:${ports.granted}/`),
      curl('secure', `https://${host}:${ports.secure}/`),
      curl('other', `http://${host}:${ports.other}/`),
      curl('tunnel', `https://${host}:${ports.other}/`),
      curl('name', `http://localhost:${ports.granted}/`),
      shell(
        'python',
        `python3 -c 'import urllib.request as r; print(r.urlopen("http://${host}:${ports.granted}/").read())'`,
      ),
      shell('git', `git clone -q http://${host}:${ports.granted}/repository.git ~/r && git -C ~/r log --format=%s`),
      attempt('direct', connect(ports.granted)),
      attempt('udp', datagram),
      attempt('dns', 'socket.getaddrinfo("example.com", 80)'),
      { id: 'narrow', tool: 'narrow', input: {} },
    ],
    manifest: `artifacts:
  - { name: narrow, version: 1.0.0, source: ./narrow, capabilities: { network: { allow: ["http://${host}:${ports.granted}"] } } }
`,
    capabilities: `network: { allow: ["http://${host}:${ports.granted}", "https://${host}:${ports.secure}"] }
shell: { allow: [bash, curl, python3, git, cat] }`,
    files: {
      'work/certificate.pem': readFileSync(join(root, 'certificate.pem'), 'utf8'),
      'narrow/svc.yaml': 'name: narrow\nversion: 1.0.0\nruntime: tool\nimplementation: native\n',
      'narrow/bin/narrow': caller
        .replace('GRANTED', `http://${host}:${ports.granted}/`)
        .replace('SECURE', `https://${host}:${ports.secure}/`),
    },
    args: ['--workdir', 'work'],
  }));

  const refused = (destination: string, kind: string): string =>
    `${destination} is refused: capabilities.network.allow does not name it. ${kind}.`;
  const plain = 'A request without a tunnel counts as http://';
  const told = (destination: string, kind = 'A tunnel counts as https://'): string =>
    `\n[svc did not let it connect: ${refused(destination, kind)}]`;

  it.for<[what: string, id: string, shown: string]>([
    ['lets curl reach a server it names', 'granted', printed('granted\n200\n')],
    ['lets curl reach a server it names over TLS', 'secure', printed('secure\n200\n')],
    [
      'keeps curl from another server',
      'other',
      `${printed(`${refused(`http://${host}:other`, plain)}\n403`)}${told(`http://${host}:other`, plain)}`,
    ],
    [
      'keeps curl from another server over TLS',
      'tunnel',
      `exit code: 56\nstdout:\n000\nstderr:\ncurl: (56) CONNECT tunnel failed, response 403${told(`https://${host}:other`)}`,
    ],
    [
      'knows a server by the name it gives',
      'name',
      `${printed(`${refused('http://localhost:granted', plain)}\n403`)}${told('http://localhost:granted', plain)}`,
    ],
    ['lets Python reach a server it names', 'python', printed("b'granted\\n'\n")],
    ['lets git clone from a server it names', 'git', printed('over http\n')],
    ['leaves no way but the proxy', 'direct', printed('EACCES\n')],
    ['leaves no datagrams', 'udp', printed('EPERM\n')],
    ['leaves no name server', 'dns', printed('no such name\n')],
    ['is the shorter one of an artifact for its tool', 'narrow', `200 000${told(`https://${host}:secure`)}`],
  ])('%s [D1-MAN-22]', async ([, id, shown], context) => {
    needsPrograms(context, 'curl', 'python3');
    expect(namingPorts((await capsule(context).result(id)).text)).toBe(shown);
  });

  it('decides in a log that the operator can read', async (context) => {
    needsPrograms(context, 'curl', 'python3');
    const { workspace, line } = capsule(context);
    await capsule(context).result('narrow');
    const log = join(workspace.folder, '.svc', 'sessions', line.session_id, 'logs', 'egress.jsonl');
    const decisions = namingPorts(readFileSync(log, 'utf8')).trimEnd().split('\n');
    expect(decisions.slice(0, 3).map((decision) => JSON.parse(decision) as unknown)).toEqual([
      { destination: `http://${host}:granted`, verdict: 'allowed', reason: null },
      { destination: `https://${host}:secure`, verdict: 'allowed', reason: null },
      { destination: `http://${host}:other`, verdict: 'refused', reason: refused(`http://${host}:other`, plain) },
    ]);
  });

  it('sums at the end of the trace what went where, and has a line for each refusal', async (context) => {
    needsPrograms(context, 'curl', 'python3');
    const { workspace, line, process } = capsule(context);
    await process.ended;
    const file = join(workspace.folder, '.svc', 'sessions', line.session_id, 'trace.jsonl');
    const trace = readTrace(file);
    const of = (type: string): typeof trace => trace.filter(({ event_type: each }) => each === type);
    const refusals = of('refusal').map(({ what, name, rule, by }) => [what, namingPorts(String(name)), rule, by]);
    const rule = ['capabilities.network.allow', 'programs'];
    expect(refusals).toEqual([
      ['host', `${host}:other`, ...rule],
      ['host', `${host}:other`, ...rule],
      ['host', 'localhost:granted', ...rule],
      ['host', `${host}:secure`, ...rule],
    ]);
    const sums = new Map(
      of('egress').map((sum) => [
        namingPorts(`${String(sum['host'])}:${String(sum['port'])} ${String(sum['allowed'])}`),
        sum,
      ]),
    );
    expect([...sums.keys()].toSorted()).toEqual([
      `${host}:granted true`,
      `${host}:other false`,
      `${host}:secure false`,
      `${host}:secure true`,
      'localhost:granted false',
    ]);
    expect(sums.get(`${host}:other false`)).toMatchObject({
      by: 'programs',
      connections: 2,
      bytes_in: 0,
      bytes_out: 0,
    });
    // A handshake is larger than what it is for.
    expect(Number(sums.get(`${host}:secure true`)?.['bytes_in'])).toBeGreaterThan(500);
    expect(Number(sums.get(`${host}:granted true`)?.['bytes_out'])).toBeGreaterThan(200);
    const evidence = trace.at(-1)?.['grant_evidence'] as { readonly hosts: Record<string, unknown> };
    expect(evidence.hosts[`${host}:${ports.other}`]).toEqual({ used: 0, refused: 2 });
  });
});

const scoped = asOneself.filter((setup) => setup.class === 'scoped');

describe.skipIf(!hasServers).each(scoped)('a list of hosts in $name (skipped without openssl and git)', (setup) => {
  const capsule = useCapsule(setup, () => ({
    calls: [
      curl('granted', `http://${host}:${ports.granted}/`),
      attempt('other', connect(ports.other)),
      shell('proxies', 'env | grep -ic proxy'),
    ],
    capabilities: `network: { allow: ["nowhere.invalid:${ports.granted}"] }
shell: { allow: [bash, curl, python3, env, grep] }`,
    files: { 'work/certificate.pem': readFileSync(join(root, 'certificate.pem'), 'utf8') },
    args: ['--workdir', 'work'],
  }));

  it.for<[what: string, id: string, shown: string]>([
    ['does not keep curl from another host', 'granted', printed('granted\n200\n')],
    ['keeps programs from ports it does not name', 'other', printed('EACCES\n')],
    ['promises no proxy', 'proxies', 'exit code: 1\nstdout:\n0\nstderr: (empty)'],
  ])('%s', async ([, id, shown], context) => {
    needsPrograms(context, 'curl', 'python3');
    expect((await capsule(context).result(id)).text).toBe(shown);
  });

  it('counts as advisory in the reports, before a launch and at it', async (context) => {
    const { workspace, process } = capsule(context);
    const { code, stdout } = await svc(workspace, ['run', '--explain-scope'], {
      env: { SVC_CONTAINMENT_CEILING: setup.class },
      ...(setup.uid === null ? {} : { uid: setup.uid }),
    });
    expect(code).toBe(0);
    expect(stdout).toContain('\n  - network allow is advisory here: it limits ports at most, not hosts.\n');
    expect(process.stderr).toContain('W-SEC-032');
  });
});

describe.skipIf(!hasServers).each(asOneself)(
  'without a list of hosts in $name (skipped without openssl and git)',
  (setup) => {
    const capsule = useCapsule(setup, () => ({
      calls: [
        attempt('tcp', connect(ports.granted)),
        attempt('udp', datagram),
        curl('curl', `http://${host}:${ports.granted}/`),
      ],
      capabilities: 'shell: { allow: [bash, curl, python3] }',
    }));

    it('there is no network [D1-MAN-22]', async (context) => {
      needsPrograms(context, 'curl', 'python3');
      const result = async (id: string): Promise<string> => (await capsule(context).result(id)).text;
      expect(await result('tcp')).toBe(printed('EPERM\n'));
      expect(await result('udp')).toBe(printed('EPERM\n'));
      expect(await result('curl')).toMatch(/^exit code: 7\nstdout:\n000\n/);
    });
  },
);
