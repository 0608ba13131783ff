import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import { describe, expect, it, onTestFinished, type TestContext } from 'vitest';

import { fixtureComponent } from '../../packages/components/test/support/fixture-component.ts';
import { certify, shown } from '../support/certify.ts';
import { addComponentTool } from '../support/component-tool.ts';
import { makeRepository, serveGit } from '../support/git-service.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { calls, says, script } from '../support/scripted-turns.ts';
import { StandInProxy } from '../support/stand-in-proxy.ts';
import { ask, startCapsule, svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';
import { hasProgram, whereClassIs } from './use-capsule.ts';

const host = 'api.company.test';
const u = `https://${host}`;

interface Service {
  readonly proxy: StandInProxy;
  readonly certificate: string;
  /** Requests that would change something. */
  readonly arrived: string[];
}

/** A service with a repository, at a name that only a proxy of the machine knows. */
async function service(): Promise<Service> {
  const authority = certify('*.company.test');
  const root = mkdtempSync(join(tmpdir(), 'svc-asked-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  makeRepository(root, 'repo.git');
  const arrived: string[] = [];
  const server = createServer(shown(authority), (request, response) => {
    const { method, url = '' } = request;
    if (url.startsWith('/repo.git/')) {
      if (url.endsWith('/git-receive-pack')) arrived.push(`${method} ${url}`);
      return serveGit(request, response, root);
    }
    void text(request).then((body) => {
      arrived.push(`${method} ${url} ${body}`);
      response.end('done');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const proxy = await StandInProxy.forTest({ route: (target) => (target === `${host}:443` ? port : null) });
  return { proxy, certificate: authority.certificate, arrived };
}

const artifacts = `artifacts:
  - { name: web, version: 1.0.0, source: ./web }
  - { name: sender, version: 1.0.0, source: ./sender }
  - { name: server, version: 1.0.0, source: ./server }
`;
/** With the seconds that a call waits for its command. */
const manifestOf = (graceSecs: number): string => `trace: { capture: content }
capabilities:
  containment: sealed
  shell: { allow: [bash, curl, git, head, sleep, cat, touch, grep] }
  network: { allow: [{ host: "${u}", rules: ["* /**"] }] }
approvals:
  rules:
    - ask: { request: "POST ${u}/pulls" }
    - ask: { request: "POST ${u}/repo.git/git-receive-pack" }
    - deny: { request: "DELETE ${u}/**" }
lifecycle: { task_acceptance: queue, after_task: sleep, shell_grace_secs: ${graceSecs} }
`;

const post = (title: string): string => `curl -sS -w ' %{http_code}' --json '{"title":"${title}"}' ${u}/pulls`;
/** Scripts, since no rule lets a line of them run unasked. */
const scripts: readonly string[] = [
  post('allowed'),
  `${post('denied')}; ${post('denied')}`,
  `curl -sS -w ' %{http_code}' -X DELETE ${u}/pulls/1`,
  `head -c 1048577 /dev/zero > large; curl -sS -w ' %{http_code}' --data-binary @large ${u}/pulls`,
  `git clone -q ${u}/repo.git r && git -C r -c user.name=a -c user.email=a@b commit -q --allow-empty -m second`,
  'git -C r push -q origin HEAD:main && git -C r log --format=%s origin/main | cat',
];
/**
 * The first ends after its call, since only the second lets it go on. That end comes as a task in which the model calls both again; then the first does
 * nothing.
 */
const late: readonly string[] = [
  `[ -e go ] || { until [ -e go ]; do sleep 0.1; done; ${post('late')} > late.out 2>&1; }`,
  'touch go',
];

/** Calls of `bash` and their files, by the places of the scripts. */
const callsOf = (all: readonly string[]): readonly object[] =>
  all.map((_, at) => calls([[`c${at}`, 'bash', { command: `bash ${at}.sh` }]]));
const filesOf = (all: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(all.map((each, at) => [`work/${at}.sh`, `{ ${each}\n} > ${at}.out 2>&1`]));

const artifact = (name: string, more: string): string => `name: ${name}\nversion: 1.0.0\nruntime: tool\n${more}\n`;
/** A native tool, and an MCP server that sends a request as it lists its tools too. */
const programs = {
  'sender/svc.yaml': artifact('sender', 'implementation: native'),
  'sender/bin/sender': `#!/bin/bash
cat > /dev/null
{ ${post('native')}; } > native.out 2>&1
echo '{"status":"passed","content":"sent"}'
`,
  'server/svc.yaml': artifact('server', 'implementation: mcp\ncommand: [bash, ./server.sh]'),
  'server/server.sh': `while read -r line; do
  id=\${line##*'"id":'}; id=\${id%%[^0-9]*}
  say() { echo '{"jsonrpc":"2.0","id":'$id',"result":{'"$1"'}}'; }
  case $line in
    *'"initialize"'*) say '"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}' ;;
    *'"tools/list"'*) { ${post('list')}; } > list.out 2>&1
      say '"tools":[{"name":"post","inputSchema":{"type":"object"}}]' ;;
    *'"tools/call"'*) { ${post('server')}; } > server.out 2>&1
      say '"content":[{"type":"text","text":"sent"}]' ;;
  esac
done
`,
};

function filesIn(directory: string): readonly string[] {
  return readdirSync(directory).flatMap((name) => {
    const path = join(directory, name);
    return statSync(path).isDirectory() ? filesIn(path) : [path];
  });
}

function kept({ folder }: Workspace, name: string): string {
  return filesIn(join(folder, '.svc'))
    .filter((path) => path.endsWith(name))
    .map((path) => readFileSync(path, 'utf8'))
    .join('');
}

interface Open {
  readonly id: string;
  readonly digest: string;
  readonly rule: string;
  readonly effect: { readonly path: string; readonly body: { readonly text?: string } };
}

const environmentOf = ({ proxy, certificate }: Service): Readonly<Record<string, string>> => ({
  HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`,
  NO_PROXY: '127.0.0.1',
  NODE_EXTRA_CA_CERTS: certificate,
  SVC_CONTAINMENT_CEILING: 'sealed',
});

async function startedIn(
  context: TestContext,
  workspace: Workspace,
  env: Readonly<Record<string, string>>,
): ReturnType<typeof startCapsule> {
  const started = await whereClassIs(
    context,
    'sealed',
    async () => await startCapsule(workspace, ['--workdir', 'work', '--task', 'Go.'], { env }),
  );
  onTestFinished(async () => {
    started.process.child.kill('SIGKILL');
    await started.process.ended;
  });
  return started;
}

describe('requests of a capsule in sealed that a person is asked about', () => {
  it('arrive once they are allowed, of curl, git, a component, a native tool and an MCP server, and none before or otherwise', async (context) => {
    for (const name of ['curl', 'git']) context.skip(!hasProgram(name), `needs ${name}`);
    const serving = await service();
    const { arrived } = serving;
    const web = { method: { tag: 'post' }, scheme: { tag: 'HTTPS' }, authority: host, path: '/pulls', body: 'of web' };
    const workspace = scriptCapsule({
      manifest: manifestOf(600) + artifacts,
      script: script(
        ...callsOf(scripts),
        calls([
          ['web', 'web', web],
          ['native', 'sender', {}],
          ['mcp', 'server__post', {}],
        ]),
        calls([['last', 'bash', { command: 'bash 0.sh' }]]),
        says('Done.'),
      ),
      files: { ...programs, ...filesOf(scripts) },
    });
    onTestFinished(() => workspace.remove());
    addComponentTool(workspace, 'web', await fixtureComponent('http-tool'));
    const token = (await svc(workspace, ['token', 'add', 'anna', '--scope', 'answer'])).stdout.trim();
    const env = environmentOf(serving);
    const { process: capsule, line } = await startedIn(context, workspace, env);
    const rpc = async (method: string, params: unknown): Promise<Record<string, unknown>> =>
      (await ask(line.url, method, params, token)).result as Record<string, unknown>;
    const seen = new Set<string>();
    /** The next question, and what had arrived when it was put. */
    const next = async (): Promise<Open & { readonly before: readonly string[] }> => {
      let open: Open | undefined;
      await expect
        .poll(
          async () => {
            open = ((await rpc('approvals/list', {}))['approvals'] as Open[]).find(({ id }) => !seen.has(id));
            return open !== undefined;
          },
          { timeout: 60_000 },
        )
        .toBe(true);
      if (open === undefined) throw new Error('nothing waits');
      seen.add(open.id);
      return { ...open, before: [...arrived] };
    };
    const settle = async ({ id, digest }: Open, decision: 'allow' | 'deny'): Promise<unknown> =>
      await rpc('approvals/answer', { id, digest, decision });

    const first = await next();
    expect(first).toMatchObject({
      rule: 'approvals.rules[0]',
      before: [],
      effect: {
        kind: 'request',
        method: 'POST',
        origin: u,
        path: '/pulls',
        tool: 'bash',
        body: { text: '{"title":"allowed"}' },
      },
    });
    await settle(first, 'allow');
    const second = await next();
    expect(second.before).toEqual(['POST /pulls {"title":"allowed"}']);
    await settle(second, 'deny');
    // The same request again, the one that a rule denies and the one that is too long ask nobody.
    const push = await next();
    expect(push).toMatchObject({ rule: 'approvals.rules[1]', effect: { path: '/repo.git/git-receive-pack' } });
    expect(push.before).toEqual(first.before.concat('POST /pulls {"title":"allowed"}'));
    await settle(push, 'allow');
    const ofWeb = await next();
    expect(ofWeb).toMatchObject({ effect: { tool: 'web', body: { text: 'of web' } } });
    expect(ofWeb.before.at(-1)).toBe('POST /repo.git/git-receive-pack');
    await settle(ofWeb, 'allow');
    const ofNative = await next();
    expect(ofNative).toMatchObject({ effect: { tool: 'sender', body: { text: '{"title":"native"}' } } });
    expect(ofNative.before.at(-1)).toBe('POST /pulls of web');
    await settle(ofNative, 'allow');
    const ofServer = await next();
    expect(ofServer).toMatchObject({ effect: { tool: 'server__post', body: { text: '{"title":"server"}' } } });
    expect(ofServer.before.at(-1)).toBe('POST /pulls {"title":"native"}');
    await settle(ofServer, 'allow');
    const last = await next();
    expect(last.before.at(-1)).toBe('POST /pulls {"title":"server"}');
    capsule.child.kill('SIGKILL');
    await capsule.ended;
    // A replay asks nobody, and sends nothing.
    const replayed = await svc(workspace, ['run', '--replay', line.session_id], { env });
    expect([replayed.code, replayed.stderr]).toEqual([0, '']);
    expect(arrived).toEqual(last.before);

    const out = scripts.map((_, at) => readFileSync(join(workspace.folder, 'work', `${at}.out`), 'utf8'));
    const denied = `A request POST to ${u} was not sent: a person denied this request (approvals.rules[0]).\n 403`;
    expect(out).toEqual([
      '',
      denied + denied,
      `A request DELETE to ${u} is refused: the operator denies it (approvals.rules[2]).\n 403`,
      `A request to ${u} is refused: its body has more than 1048576 bytes, and a person is asked (approvals.rules[0]).\n 413`,
      '',
      'second\nfirst of them\n',
    ]);
    const own = ['native', 'server', 'list'].map((name) =>
      readFileSync(join(workspace.folder, 'work', `${name}.out`), 'utf8'),
    );
    const outside = `A request POST to ${u} needs a person to approve it, and no call of its server is under way (approvals.rules[0]).\n 403`;
    expect(own).toEqual(['done 200', 'done 200', outside]);
    const steps = kept(workspace, 'approvals.jsonl')
      .trim()
      .split('\n')
      .map((each) => (JSON.parse(each) as { k: string }).k);
    const whole = ['asked', 'settled', 'started'];
    expect(steps).toEqual([...whole, 'asked', 'settled', ...whole, ...whole, ...whole, ...whole, 'asked']);
    const refusals = [
      ...kept(workspace, 'trace.jsonl').matchAll(/"event_type":"refusal".*?"rule":"([^"]*)","by":"([^"]*)"/g),
    ];
    expect(new Set(refusals.map(([, rule, by]) => `${by} ${rule}`))).toEqual(
      new Set(['programs approvals.rules[0]', 'programs approvals.rules[2]']),
    );
  }, 180_000);

  it('fail once the call of their command is over, and nobody is asked', async (context) => {
    context.skip(!hasProgram('curl'), 'needs curl');
    const serving = await service();
    const workspace = scriptCapsule({
      manifest: manifestOf(1),
      script: script(...callsOf(late), says('Done.')),
      files: filesOf(late),
    });
    onTestFinished(() => workspace.remove());
    await svc(workspace, ['token', 'add', 'anna', '--scope', 'answer']);
    await startedIn(context, workspace, environmentOf(serving));
    const written = (): string => {
      const path = join(workspace.folder, 'work', 'late.out');
      return existsSync(path) ? readFileSync(path, 'utf8') : '';
    };
    await expect
      .poll(written, { timeout: 60_000 })
      .toBe(`A request POST to ${u} needs a person to approve it, and its call is over (approvals.rules[0]).\n 403`);
    expect([kept(workspace, 'approvals.jsonl'), serving.arrived]).toEqual(['', []]);
  }, 120_000);
});
