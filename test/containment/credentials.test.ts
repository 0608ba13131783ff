import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { startFakeOpenAi } from '@svc/testing/fake-openai.ts';
import { describe, expect, it, onTestFinished } from 'vitest';

import { AuthorizationServer } from '../support/authorization-server.ts';
import { useCapsules } from '../support/capsule-folders.ts';
import { certify, shown } from '../support/certify.ts';
import { makeRepository, serveGit } from '../support/git-service.ts';
import { StandInProxy } from '../support/stand-in-proxy.ts';
import { svc, type SvcEnd } from '../support/svc-process.ts';
import { warmHome } from '../support/warm-home.ts';
import type { Workspace } from '../support/workspace.ts';
import { giveAway, sealed } from './contained-capsule.ts';
import { hasProgram, whereClassIs } from './use-capsule.ts';

const capsule = useCapsules();
const canary = 'canary-key-0123456789';
/** What a server gives for the key, where that is renewed. */
const accessToken = 'canary-access-0123456789';
const host = 'api.company.test';
const hasPrograms = ['openssl', 'curl', 'git', 'python3'].every(hasProgram);

interface Service {
  /** What was asked, with the credential: `GET /me known`. */
  readonly asked: string[];
  readonly run: (commands: readonly string[], as?: RunAs) => Promise<Ran>;
}

interface RunAs {
  readonly uid?: number | null;
  readonly manifest?: string;
}

interface Ran extends SvcEnd {
  readonly workspace: Workspace;
  /** What the model heard of each command. */
  readonly heard: readonly string[];
}

/** A service with a key, at a name that only a proxy of the machine knows. */
async function service(): Promise<Service> {
  const asked: string[] = [];
  const authority = certify('*.company.test');
  const root = mkdtempSync(join(tmpdir(), 'svc-service-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  makeRepository(root, 'repo.git');
  makePackages(root);
  const server = createServer(shown(authority), (request, response) => {
    const { authorization = 'nothing' } = request.headers;
    const who = isKnown(authorization) ? 'known' : 'unknown';
    asked.push(`${request.method} ${request.url} ${who}`);
    answer({ request, response, who, root });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const proxy = await StandInProxy.forTest({ route: (target) => (target === `${host}:443` ? port : null) });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const env = {
    SERVICE_TOKEN: canary,
    HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`,
    NO_PROXY: '127.0.0.1',
    SVC_CONTAINMENT_CEILING: 'sealed',
  };
  const run: Service['run'] = async (commands, { uid = null, manifest = whole } = {}) => {
    const script = commands.map((command, at) => ({
      kind: 'stream' as const,
      toolCalls: [{ id: `call_${at}`, name: 'bash', arguments: JSON.stringify({ command }) }],
    }));
    const provider = await startFakeOpenAi([...script, { kind: 'stream', text: ['Done.'] }]);
    onTestFinished(async () => await provider.close());
    const workspace = capsule();
    workspace.write(
      'svc.yaml',
      `name: keyed
version: 0.1.0
trace: { capture: content }
inference: { endpoint: "${provider.endpoint}", model: small, max_turns: 40, driver: { artifact: svc-driver-openai } }
${manifest}`,
    );
    const trusted = join(workspace.folder, 'authority.pem');
    copyFileSync(authority.certificate, trusted);
    if (uid !== null) {
      warmHome(workspace.home, uid);
      giveAway(dirname(workspace.folder), uid);
    }
    const end = await svc(workspace, ['run', '-p', 'Go.', '--containment', 'sealed'], {
      env: { ...env, NODE_EXTRA_CA_CERTS: trusted },
      ...(uid === null ? {} : { uid }),
    });
    if (end.stderr.includes('E-CAP-003')) throw new Error(end.stderr);
    const messages =
      (provider.requests.at(-1)?.json as { readonly messages: readonly Record<string, string>[] } | undefined)
        ?.messages ?? [];
    return {
      ...end,
      workspace,
      heard: messages.filter(({ role }) => role === 'tool').map(({ content = '' }) => content),
    };
  };
  return { asked, run };
}

const whole = `capabilities:
  shell: { allow: [bash, curl, git, python3, node, npm, openssl, cat, env, grep, ls, sleep] }
  env: { allow: [SERVICE_TOKEN] }
  network:
    allow:
      - host: https://${host}
        credential: service
        rules: ["* /me", "GET /echo", "GET /late", "GET /away", "* /repo.git/**", "GET /npm/**", "GET /simple/**"]
  credentials:
    service: { value: "\${SERVICE_TOKEN}", for: [shell], scheme: basic, user: x-access-token, env: SERVICE_TOKEN, shape: ghp_ }
`;

function isKnown(authorization: string): boolean {
  const own = `Basic ${Buffer.from(`x-access-token:${canary}`).toString('base64')}`;
  return [own, `Bearer ${accessToken}`].includes(authorization);
}

interface Answering {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly who: string;
  readonly root: string;
}

function answer({ request, response, who, root }: Answering): void {
  const { url = '', headers } = request;
  if (url.startsWith('/repo.git/'))
    return who === 'known'
      ? serveGit(request, response, root)
      : void response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
  if (/^\/(?:npm|simple)\//.test(url)) return servePackages({ request, response, who, root });
  if (url === '/echo') return void response.end(JSON.stringify({ said: canary }));
  if (url === '/away') return void response.writeHead(302, { location: `https://${host}/me?k=${canary}` }).end();
  if (url === '/late')
    return void response.write('something ', () => response.end(`and ${Buffer.from(`:${canary}`).toString('base64')}`));
  response.setHeader('set-cookie', 'session=of-the-service').end(`${who} ${headers['accept-encoding'] ?? ''}\n`);
}

/** The package `thing` as registries for npm and Python have it. */
function makePackages(root: string): void {
  mkdirSync(join(root, 'package'));
  writeFileSync(join(root, 'package', 'package.json'), '{"name":"thing","version":"1.0.0"}');
  execFileSync('tar', ['-czf', 'thing-1.0.0.tgz', 'package'], { cwd: root });
  const wheel = `import zipfile
with zipfile.ZipFile("thing-1.0.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("thing.py", "")
    wheel.writestr("thing-1.0.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: thing\\nVersion: 1.0.0\\n")
    wheel.writestr("thing-1.0.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr("thing-1.0.0.dist-info/RECORD", "")`;
  execFileSync('python3', ['-c', wheel], { cwd: root });
}

/** Nothing of a package is for those without the key. */
function servePackages({ request, response, who, root }: Answering): void {
  if (who !== 'known') return void response.writeHead(401).end();
  const [archive, wheel] = ['thing-1.0.0.tgz', 'thing-1.0.0-py3-none-any.whl'].map((name) => join(root, name));
  const tarball = readFileSync(archive ?? '');
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
  const version = { name: 'thing', version: '1.0.0', dist: { tarball: `${u}/npm/thing/-/thing-1.0.0.tgz`, integrity } };
  switch (request.url) {
    case '/npm/thing':
      return void response.end(
        JSON.stringify({ name: 'thing', 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': version } }),
      );
    case '/npm/thing/-/thing-1.0.0.tgz':
      return void response.end(tarball);
    case '/simple/thing/':
      return void response
        .setHeader('content-type', 'text/html')
        .end('<!DOCTYPE html><html><body><a href="../thing-1.0.0-py3-none-any.whl">thing</a></body></html>');
    case '/simple/thing-1.0.0-py3-none-any.whl':
      return void response.end(readFileSync(wheel ?? ''));
    default:
      return void response.writeHead(404).end();
  }
}

function filesIn(directory: string): readonly string[] {
  return readdirSync(directory).flatMap((name) => {
    const path = join(directory, name);
    return statSync(path).isDirectory() ? filesIn(path) : [path];
  });
}

const u = `https://${host}`;

/** Asks the service, and then looks for the placeholder and the key in all memory of its own process. */
const searchesMemory = `import re, urllib.request
print(urllib.request.urlopen("${u}/me").read().decode())
sought, found = [re.compile(rb"gh[p]_[0-9a-f]{32}"), re.compile(rb"c[a]nary.key")], [0, 0]
with open("/proc/self/mem", "rb") as memory:
    for line in open("/proc/self/maps"):
        first, last = [int(part, 16) for part in line.split()[0].split("-")]
        if " r" not in line or "[v" in line: continue
        memory.seek(first)
        try: held = memory.read(last - first)
        except OSError: continue
        found = [count + len(each.findall(held)) for count, each in zip(found, sought)]
print("found", found[0] > 0, found[1])`;
const node = (code: string): string => `node -e '${code}'`;

describe.skipIf(!hasPrograms)('a key for commands in sealed (skipped without openssl, curl, git and python3)', () => {
  it('reaches the service through every client, and no place that the commands can read', async (context) => {
    const { run, asked } = await service();
    const clients: readonly (readonly [string, RegExp])[] = [
      [`curl -sS ${u}/me`, /known identity/],
      [`curl -sS -u "x:$SERVICE_TOKEN" --compressed ${u}/me`, /known identity/],
      [`curl -sS --noproxy '*' -H "authorization: Bearer $SERVICE_TOKEN" ${u}/me`, /known identity/],
      [node(`fetch("${u}/me").then((r) => r.text()).then(console.log)`), /known identity/],
      [node(`require("https").get("${u}/me", (r) => r.on("data", (d) => console.log(String(d))))`), /known identity/],
      [`python3 -c 'import urllib.request as u; print(u.urlopen("${u}/me").read())'`, /known identity/],
      [
        `printf 'GET /me HTTP/1.1\\r\\nHost: ${host}\\r\\nConnection: close\\r\\n\\r\\n' | openssl s_client -quiet -verify_return_error -servername ${host} -connect ${host}:443 2>/dev/null`,
        /known identity/,
      ],
      [`curl -sS "$SVC_GATEWAY_SERVICE/me"`, /known identity/],
      [
        `export GIT_TERMINAL_PROMPT=0; git clone -q ${u}/repo.git r && cd r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m second && git push -q origin HEAD:main && git log --format=%s | cat`,
        /second\nfirst of them/,
      ],
    ];
    const refused: readonly (readonly [string, RegExp])[] = [
      [
        `curl -sS ${u}/echo`,
        /the answer of https:\/\/api\.company\.test had the key of the credential service in it, and was cut/,
      ],
      [`curl -sS ${u}/late`, /svc did not let it connect: the answer of https:\/\/api\.company\.test had the key/],
      [`curl -sSi ${u}/away`, /502/],
      [`curl -sS -w '%{http_code}' ${u}/admin`, /no rule of that host lists its path.*403/s],
      [`curl -sS -w '%{http_code}' --path-as-is ${u}/me/../admin`, /two readings.*403/s],
      [
        `curl -sS -w '%{http_code}' -H 'authorization: Bearer of-somebody-else' ${u}/me`,
        /credential of its own, the header authorization.*403/s,
      ],
      [`curl -sS -w '%{http_code}' -b 'id=1' ${u}/me`, /the header cookie.*403/s],
      [`curl -sS -w '%{http_code}' "${u}/me?access_token=x"`, /parameter of its query.*403/s],
      [`curl -sS -w '%{http_code}' -H 'host: other.test' ${u}/me`, /421/],
      [`curl -sS -w '%{http_code}' -H 'upgrade: websocket' -H 'connection: upgrade' ${u}/me`, /501/],
      [`curl -sS -o /dev/null -w '%{http_version} %{http_code}' --http2 ${u}/me`, /1\.1 200/],
      [`curl -sSk --resolve other.test:443:127.0.0.1 --noproxy '*' https://other.test/ 2>&1`, /curl: \(\d+\)/],
      [`curl -sSi ${u}/me | grep -ci set-cookie`, /^0$/m],
      [`curl -sS -X POST --data "k=$SERVICE_TOKEN" -w '%{http_code}' ${u}/me`, /known identity/],
      [`ulimit -c unlimited; K="$(curl -sS ${u}/me)" bash -c 'kill -SEGV $$'; ls; echo crashed`, /crashed/],
      [
        'env; cat /proc/*/environ; cat /proc/*/cmdline; grep -rsl can""ary . /etc /tmp "$HOME" /opt; echo searched',
        /searched/,
      ],
      [`python3 -c '${searchesMemory}'`, /known identity\n\nfound True 0/],
    ];
    const all = [...clients, ...refused];
    const ran = await whereClassIs(context, 'sealed', async () => await run(all.map(([command]) => command)));
    expect([ran.code, ran.stdout]).toEqual([0, 'Done.\n']);
    const key = `svc refused a key where none belongs: host ${host}:443, asked for by programs (capabilities.credentials.service)`;
    expect(ran.stderr).toContain(`warning[W-APR-004]: ${key}\n`);
    expect(ran.stderr.split('\n').filter((line) => !/^(?:warning\[W-APR-004\]: .*)?$/.test(line))).toEqual([]);
    for (const [at, [command, expected]] of all.entries()) expect(ran.heard[at], command).toMatch(expected);
    // Every request that reached the service came with the key, those that are refused did not reach it.
    expect(asked.filter((each) => each.endsWith(' unknown'))).toEqual([]);
    expect(asked.join('\n')).not.toContain('admin');
    expect(ran.heard.join('\n') + ran.stdout + ran.stderr).not.toContain('canary');
    expect(ran.heard.join('\n')).toMatch(/SERVICE_TOKEN=ghp_[0-9a-f]{32}/);
    for (const path of filesIn(join(ran.workspace.folder, '.svc')))
      expect(readFileSync(path, 'latin1').includes('canary'), path).toBe(false);
    const log = filesIn(join(ran.workspace.folder, '.svc')).find((path) => path.endsWith('egress.jsonl'));
    const lines = readFileSync(log ?? '', 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines).toContainEqual({
      destination: u,
      method: 'GET',
      path: '/me',
      verdict: 'allowed',
      reason: null,
      keyed: true,
      status: 200,
    });
    expect(lines.filter(({ rule }) => rule === 'capabilities.credentials.service').length).toBeGreaterThanOrEqual(5);
  }, 240_000);

  it('reaches registries for npm and Python, and a client that takes no bundle but the one it is told', async (context) => {
    context.skip(!hasProgram('npm'), 'needs npm');
    context.skip(spawnSync('python3', ['-c', 'import pip, requests']).status !== 0, 'needs pip and requests');
    const { run, asked } = await service();
    const clients: readonly (readonly [string, RegExp])[] = [
      [`python3 -c 'import requests as r; print(r.get("${u}/me").text)'`, /known identity/],
      [
        `npm install thing --registry ${u}/npm/ --cache ./cache --no-audit --no-fund 2>&1; cat node_modules/thing/package.json`,
        /"version":"1\.0\.0"/,
      ],
      [
        `python3 -m pip --disable-pip-version-check download --no-cache-dir --no-deps --index-url ${u}/simple/ thing 2>&1; ls`,
        /thing-1\.0\.0-py3-none-any\.whl/,
      ],
    ];
    const ran = await whereClassIs(context, 'sealed', async () => await run(clients.map(([command]) => command)));
    for (const [at, [command, expected]] of clients.entries()) expect(ran.heard[at], command).toMatch(expected);
    expect(asked).toEqual(
      expect.arrayContaining(['GET /npm/thing/-/thing-1.0.0.tgz known', 'GET /simple/thing/ known']),
    );
    expect(asked.filter((each) => each.endsWith(' unknown'))).toEqual([]);
    expect(ran.heard.join('\n') + ran.stdout + ran.stderr).not.toContain('canary');
  }, 240_000);

  it.for(sealed.filter(({ uid }) => uid !== null))(
    'reaches the service and no such place in $name',
    { timeout: 240_000 },
    async ({ uid }, context) => {
      const { run, asked } = await service();
      const commands = [
        `curl -sS ${u}/me`,
        `curl -sS "$SVC_GATEWAY_SERVICE/me"`,
        `git clone -q ${u}/repo.git r && git -C r log --format=%s | cat`,
        `curl -sS ${u}/echo`,
        'env; cat /proc/*/environ; grep -rsl can""ary . /etc /tmp "$HOME" /opt; echo searched',
      ];
      const ran = await whereClassIs(context, 'sealed', async () => await run(commands, { uid }));
      expect(ran.heard).toEqual([
        expect.stringContaining('known identity'),
        expect.stringContaining('known identity'),
        expect.stringContaining('first of them'),
        expect.stringContaining('and was cut'),
        expect.stringContaining('searched'),
      ]);
      expect(asked.filter((each) => each.endsWith(' unknown'))).toEqual([]);
      expect(ran.heard.join('\n') + ran.stdout + ran.stderr).not.toContain('canary');
    },
  );

  it('has svc renew it where it expires, and reaches the service with what that gives alone', async (context) => {
    const issuer = await AuthorizationServer.start();
    onTestFinished(() => issuer.close());
    let renewals = 0;
    issuer.rules.instead = (_, response) => {
      renewals += 1;
      const given = { access_token: accessToken, token_type: 'Bearer', expires_in: 3600 };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(given));
      return true;
    };
    const { run, asked } = await service();
    const commands = [
      `for n in 1 2 3 4 5; do curl -sS ${u}/me & done; wait`,
      `curl -sS -H "authorization: Bearer $SERVICE_TOKEN" ${u}/me`,
      `curl -sS -w '%{http_code}' -H 'authorization: Bearer of-somebody-else' ${u}/me`,
      `curl -sS -w '%{http_code}' ${u}/echo`,
      'env; cat /proc/*/environ; grep -rsl can""ary . /etc /tmp "$HOME" /opt; echo searched',
    ];
    const renewed = `scheme: oauth2, user: client, token_endpoint: "${issuer.issuer}/token"`;
    const manifest = whole.replace('scheme: basic, user: x-access-token', renewed);
    const ran = await whereClassIs(context, 'sealed', async () => await run(commands, { manifest }));
    expect(ran.heard[0]?.match(/known identity/g)).toHaveLength(5);
    expect(ran.heard.slice(1)).toEqual([
      expect.stringContaining('known identity'),
      expect.stringMatching(/credential of its own, the header authorization.*403/s),
      expect.stringMatching(/and was cut.*502/s),
      expect.stringContaining('searched'),
    ]);
    expect(renewals).toBe(1);
    expect(asked.filter((each) => each.endsWith(' unknown'))).toEqual([]);
    expect(ran.heard.join('\n') + ran.stdout + ran.stderr).not.toContain('canary');
    for (const path of filesIn(join(ran.workspace.folder, '.svc')))
      expect(readFileSync(path, 'latin1').includes('canary'), path).toBe(false);
  }, 120_000);

  it('lets the client of GitHub open a pull request with the placeholder alone', async (context) => {
    context.skip(!hasProgram('gh'), 'needs gh');
    const { run, asked } = await service();
    const as = 'GH_CONFIG_DIR=. GH_NO_UPDATE_NOTIFIER=1 GH_HOST=' + host;
    const commands = [
      `${as} GH_ENTERPRISE_TOKEN=$SERVICE_TOKEN gh api repos/acme/site/pulls -f title=Mend -f head=mend -f base=main`,
      `${as} GH_ENTERPRISE_TOKEN=of-somebody-else gh api repos/acme/site/pulls 2>&1`,
      `${as} GH_ENTERPRISE_TOKEN=$SERVICE_TOKEN gh api -X DELETE repos/acme/site 2>&1`,
    ];
    const manifest = whole.replace('[bash, ', '[bash, gh, ').replace('"* /me"', '"* /api/v3/repos/acme/site/pulls"');
    const ran = await whereClassIs(context, 'sealed', async () => await run(commands, { manifest }));
    expect(ran.heard).toEqual([
      expect.stringContaining('known identity'),
      expect.stringMatching(/credential of its own, the header authorization.*403/s),
      expect.stringMatching(/no rule of that host lists its path.*403/s),
    ]);
    expect(asked).toEqual(['POST /api/v3/repos/acme/site/pulls known']);
    expect(ran.heard.join('\n') + ran.stdout + ran.stderr).not.toContain('canary');
  }, 120_000);
});
