import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { calls as callsTool, says as answers } from '@svc/testing/fake-reply.ts';
import { readArchive } from '@svc/artifacts/store/archive.ts';
import { RegularFile } from '@svc/kit/files/regular-file.ts';
import { startFakeOpenAi } from '@svc/testing/fake-openai.ts';
import { afterEach, describe, expect, it } from 'vitest';

import type { ComponentSource } from '../../packages/components/src/compiler/compile-cache.ts';
import { componentText, toolRunning } from '../../packages/components/test/support/component-text.ts';
import { fixtureComponent } from '../../packages/components/test/support/fixture-component.ts';
import { addComponentTool } from '../support/component-tool.ts';
import { snapshot } from '../support/folder-snapshot.ts';
import { forgedJournal, recordsOf } from '../support/forged-journal.ts';
import { hookCapsule } from '../support/hook-capsule.ts';
import { scriptCapsule, type ScriptCapsule } from '../support/script-capsule.ts';
import { calls, says, script, type ScriptedCall } from '../support/scripted-turns.ts';
import { svc, type SvcEnd } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const program = join(root, 'bin', 'svc.cjs');
const workspaces: Workspace[] = [];

afterEach(() => {
  for (const workspace of workspaces.splice(0)) workspace.remove();
});

const keepsImports = 'trace: { capture: content, components: true }\n';

interface Tools extends ScriptCapsule {
  /** Each a tool of that name. */
  readonly tools: Readonly<Record<string, ComponentSource>>;
  /** What the entries of all tools ask for. */
  readonly asks?: string;
  /** Lines of the manifest above those of artifacts; `trace` among them. */
  readonly trace?: string;
}

/** A capsule with components as tools, whose one task has been run. */
async function recorded(
  { tools, asks = '{}', trace = keepsImports, manifest = '', ...rest }: Tools,
  env: Readonly<Record<string, string>> = {},
): Promise<Workspace> {
  const entries = Object.keys(tools).map(
    (name) => `  - { name: ${name}, version: 1.0.0, source: ./${name}, capabilities: ${asks} }\n`,
  );
  const workspace = scriptCapsule({ ...rest, manifest: `${trace}artifacts:\n${entries.join('')}${manifest}` });
  workspaces.push(workspace);
  for (const [name, component] of Object.entries(tools)) addComponentTool(workspace, name, component);
  const { code, stderr } = await svc(workspace, ['run', '--task', 'Go.'], { env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return workspace;
}

/** Returns the folder of the one session of a workspace. */
function sessionFolder({ folder }: Workspace): string {
  const sessions = join(folder, '.svc', 'sessions');
  return join(sessions, readdirSync(sessions)[0] ?? '');
}

function journalOf(workspace: Workspace): string {
  return join(sessionFolder(workspace), 'journal.jsonl');
}

/** The logs of imports in a journal. */
function logsIn(journal: string): readonly string[] {
  const records = recordsOf(journal);
  const named = new Set(records.flatMap(({ k, value }) => (k === 'io' ? [value] : [])));
  return records.flatMap(({ sha256, data }) => (named.has(sha256) && typeof data === 'string' ? [data] : []));
}

function forge(workspace: Workspace, change: (text: string) => string): void {
  writeFileSync(journalOf(workspace), forgedJournal(readFileSync(journalOf(workspace), 'utf8'), change));
}

async function replay(workspace: Workspace): Promise<unknown> {
  return verdict(await svc(workspace, ['run', '--replay', '--components', '--json']));
}

function verdict({ stdout, stderr }: SvcEnd): unknown {
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}

/** Changes a tool and its lock, as its author would. */
async function change(workspace: Workspace, name: string, { wasm }: ComponentSource): Promise<void> {
  if (!(wasm instanceof Uint8Array)) throw new Error('a fixture is its bytes');
  writeFileSync(join(workspace.folder, name, 'component.wasm'), wasm);
  rmSync(join(workspace.folder, 'svc.lock'));
  const { code, stderr } = await svc(workspace, ['install']);
  expect({ code, stderr }).toMatchObject({ code: 0 });
}

/** A script of one turn with these calls, and the end. */
function turn(...made: readonly ScriptedCall[]): string {
  return script(calls(made), says('Done.'));
}

const probe = async (): Promise<ComponentSource> => await fixtureComponent('probe-tool');
const passes = async (body: string, text = 'done'): Promise<ComponentSource> =>
  await componentText(toolRunning(body).replace('"done"', JSON.stringify(text)));

describe('components of a recorded session', () => {
  it.skipIf(process.getuid?.() !== 0)(
    'run again to the same where there is no provider, no network and no workdir, and write nothing (needs root, to take the network away)',
    async () => {
      const key = 'sk-canary-0123456789';
      const page = 'cookie-canary-0123456789';
      const provider = await startFakeOpenAi(
        [
          callsTool('svc-tool-editor', { command: 'write', path: 'a.txt', content: `one ${key}\n` }, 'call_1'),
          callsTool('svc-tool-editor', { command: 'read', path: 'a.txt' }, 'call_2'),
          callsTool('clocks', {}, 'call_3'),
          callsTool('files', { op: 'environment' }, 'call_4'),
          answers('It is', ' done.'),
        ],
        { key },
      );
      const workspace = makeWorkspace({
        'svc.yaml': `name: demo
version: 1.0.0
${keepsImports}artifacts:
  - { name: svc-tool-editor, version: 1.0.0 }
  - { name: clocks, version: 1.0.0, source: ./clocks }
  - { name: files, version: 1.0.0, source: ./files }
inference:
  endpoint: ${provider.endpoint}
  model: small
  api_key: \${PROVIDER_KEY}
  driver: { artifact: svc-driver-openai }
capabilities: { env: { allow: [SEEN] } }
`,
      });
      workspaces.push(workspace);
      addComponentTool(workspace, 'clocks', await fixtureComponent('clocks'));
      addComponentTool(workspace, 'files', await fixtureComponent('files-tool'));
      const env = { PROVIDER_KEY: key, SEEN: page };
      expect(await svc(workspace, ['run', '--task', 'Go.'], { env })).toMatchObject({ code: 0, stderr: '' });
      await provider.close();
      const journal = readFileSync(journalOf(workspace), 'utf8');
      expect(journal).not.toContain(key);
      expect(journal.toLowerCase()).not.toContain('authorization\\",{');
      rmSync(join(workspace.folder, 'workdir'), { recursive: true });
      expect(await replay(workspace)).toMatchObject({ outcome: 'same', components: { run: 9, served: 0 } });
      const before = withoutEngineCode(snapshot(workspace));
      const { status, stdout } = spawnSync(
        '/usr/bin/unshare',
        ['-n', process.execPath, program, 'run', '--replay', '--components'],
        { cwd: workspace.folder, env: { PATH: '/nowhere', HOME: workspace.home }, encoding: 'utf8' },
      );
      expect({ status, stdout }).toEqual({
        status: 0,
        stdout: `replayed 9 steps of ${sessionFolder(workspace).split('/').at(-1)}: the same except for ids and times; 9 calls of components were run again\n`,
      });
      expect(withoutEngineCode(snapshot(workspace))).toEqual(before);
    },
  );

  it('may be hooks too, with what they asked the model', async () => {
    const workspace = await hookCapsule({
      hooks: { told: 'binding: [on-inference, on-task-end]\ncommit_policy: [artifact]\n' },
      manifest: keepsImports,
      script: script(says('Hello.'), says('A greeting.')),
      orders: '[[on-inference reply sum this up]]',
    });
    workspaces.push(workspace);
    const orders = { env: { HOOK_ORDERS: '[[on-inference reply sum this up]]' } };
    expect(await svc(workspace, ['run', '--task', 'Go.'], orders)).toMatchObject({ code: 0 });
    expect(await replay(workspace)).toMatchObject({ outcome: 'same', components: { served: 0 } });
    forge(workspace, (text) =>
      text.replace('{"tag":"ok","val":"', '{"tag":"ok","val":"Not ').replace('sum this up', 'sum that up'),
    );
    expect(await replay(workspace)).toMatchObject({ outcome: 'parted' });
  });

  it('may be a driver that comes with svc, which runs in its process otherwise', async () => {
    const workspace = scriptCapsule({
      manifest: keepsImports,
      script: '- { chunks: [Do, ne.], content: [{ type: text, text: Done. }], stop_reason: end_turn }\n',
    });
    workspaces.push(workspace);
    const driver = join('dist', 'bundled', 'svc-driver-script', '1.0.0');
    const folder = join(workspace.folder, 'driver');
    const archive = await RegularFile.open(join(root, driver, 'svc-driver-script-1.0.0.zip'));
    mkdirSync(folder);
    writeFileSync(join(folder, 'component.wasm'), await (await readArchive(archive)).read('component.wasm'));
    await archive.close();
    copyFileSync(join(root, driver, 'svc.yaml'), join(folder, 'svc.yaml'));
    const manifest = join(workspace.folder, 'svc.yaml');
    const bundled = readFileSync(manifest, 'utf8');
    const entry = '{ name: svc-driver-script, version: 1.0.0, source: ./driver, runtime: driver }';
    writeFileSync(manifest, `${bundled}artifacts: [${entry}]\n`);
    expect(await svc(workspace, ['run', '--task', 'Go.'])).toMatchObject({ code: 0, stderr: '' });
    expect(logsIn(readFileSync(journalOf(workspace), 'utf8'))).toEqual([expect.stringContaining('svc:')]);
    writeFileSync(manifest, bundled);
    rmSync(folder, { recursive: true });
    expect(await svc(workspace, ['install'])).toMatchObject({ code: 0 });
    expect(await replay(workspace)).toMatchObject({ outcome: 'same', components: { run: 1, served: 0 } });
  });

  it('part where they ask for something else, for more and for less, or come to something else', async () => {
    const script = turn(['call_1', 'emits', {}]);
    const workspace = await recorded({ script, tools: { emits: await passes('call $emit call $emit') } });
    expect(await replay(workspace)).toMatchObject({ outcome: 'same' });
    const place = expect.stringMatching(/^tsk_[0-9a-f]{32}\/1\/m1\/t1$/);
    const parted = { outcome: 'parted', place, port: 'tool' };

    await change(workspace, 'emits', await passes('call $emit call $emit call $emit'));
    expect(await replay(workspace)).toMatchObject({
      ...parted,
      problem: 'svc:text/chunks#emitChunk is asked once more than in the recording',
    });
    await change(workspace, 'emits', await passes('call $emit'));
    expect(await replay(workspace)).toMatchObject({
      ...parted,
      problem: 'the component ends where the recording goes on with svc:text/chunks#emitChunk',
    });
    await change(workspace, 'emits', await passes('call $emit call $emit', 'dune'));
    expect(await replay(workspace)).toMatchObject({
      ...parted,
      problem: 'svc:text/chunks#emitChunk is asked with other arguments',
      path: '/0',
      recorded: 'done',
      now: 'dune',
    });
    // Without --components nothing is known of that.
    expect(verdict(await svc(workspace, ['run', '--replay', '--json']))).toMatchObject({ outcome: 'same' });
  });

  it('part by their result alone, by a trap and by their deadline', async () => {
    const script = turn(['call_1', 'plain', {}]);
    const limits = '{ limits: { deadline: 1 } }';
    const workspace = await recorded({ script, asks: limits, tools: { plain: await passes('') } });
    await change(workspace, 'plain', await passes('', 'gone'));
    expect(await replay(workspace)).toMatchObject({
      problem: 'the component comes to something else',
      path: '/content',
      recorded: 'done',
      now: 'gone',
    });
    await change(workspace, 'plain', await passes('unreachable'));
    expect(await replay(workspace)).toMatchObject({ path: '/status', now: 'failed' });
    await change(workspace, 'plain', await passes('(loop $again br $again)'));
    expect(await replay(workspace)).toMatchObject({ path: '/status', now: 'failed' });
    const { code, stderr } = await svc(workspace, ['run', '--replay', '--components']);
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('error[E-RUN-079]') });
  });

  it('run in the order in which each of them was called, and anew after a trap', async () => {
    const step = (id: string, tool: string, input: object): object => ({ id, tool, input });
    const count = { op: 'count' };
    const steps = [
      step('a', 'one', count),
      step('b', 'two', count),
      step('c', 'one', { op: 'emit', texts: ['x'] }),
      step('d', 'two', { op: 'work', rounds: 100_000 }),
      step('e', 'two', count),
      step('f', 'one', count),
    ];
    const workspace = await recorded({
      script: script(
        calls([['plan_1', 'submit-plan', { id: 'p', steps }]]),
        calls([
          ['call_1', 'one', { op: 'fail', message: 'over' }],
          ['call_2', 'one', count],
          ['call_3', 'two', count],
        ]),
        says('Done.'),
      ),
      tools: { one: await probe(), two: await probe() },
      manifest: 'capabilities: { plan: { submit: true } }\n',
    });
    const results = readFileSync(journalOf(workspace), 'utf8').match(/"instance":\d/g);
    expect(results).toContain('"instance":2');
    expect(await replay(workspace)).toMatchObject({ outcome: 'same', components: { run: 12, served: 0 } });
  });

  it('get their answers where these were too much to be kept, and so is all that the instance did after it', async () => {
    const workspace = await recorded({
      script: turn(
        ['call_1', 'one', { op: 'count' }],
        ['call_2', 'one', { op: 'flood', count: 50, size: 50_000 }],
        ['call_3', 'one', { op: 'count' }],
      ),
      tools: { one: await probe() },
    });
    const { code, stdout, stderr } = await svc(workspace, ['run', '--replay', '--components', '--json']);
    expect({ code, verdict: JSON.parse(stdout) as unknown }).toMatchObject({
      code: 0,
      verdict: { outcome: 'same', components: { run: 3, served: 2 } },
    });
    expect(stderr).toContain('warning[W-RUN-066]: 2 calls of components were served from the recording');
  });

  it('get their answers from the point where a session has more than a quarter of trace.max_bytes', async () => {
    const flood = { op: 'flood', count: 4, size: 50_000 };
    const workspace = await recorded({
      trace: 'trace: { capture: content, components: true, max_bytes: 2000Ki }\n',
      script: turn(
        ['call_1', 'one', flood],
        ['call_2', 'two', flood],
        ['call_3', 'three', flood],
        ['call_4', 'four', { op: 'count' }],
      ),
      tools: { one: await probe(), two: await probe(), three: await probe(), four: await probe() },
    });
    expect(await replay(workspace)).toMatchObject({ outcome: 'same', components: { served: 1 } });
    const kept = readFileSync(journalOf(workspace), 'utf8').match(/"k":"io"[^\n]*"value":(?:null|")/g) ?? [];
    expect(kept.filter((each) => each.endsWith('null'))).toHaveLength(1);
  });

  it("get a stranger's answers without harm: of another shape, and of no shape at all", async () => {
    const files = {
      tools: { files: await fixtureComponent('files-tool') },
      script: turn(['call_1', 'files', { op: 'environment' }]),
    };
    const workspace = await recorded(files);
    const good = readFileSync(journalOf(workspace));
    const environment = /(\["wasi:cli\/environment#getEnvironment",\[\],)\{"ok":\[\]\}/;
    for (const odd of [
      '{"ok":[[{"$n":"5"},{"$t":"x"}]]}',
      '{"ok":{"$r":[1,"nobody"]}}',
      '{"ok":{"$t":"x"}}',
      '{"err":"no"}',
    ]) {
      forge(workspace, (text) => text.replace(environment, `$1${odd}`));
      expect(await replay(workspace)).toMatchObject({ outcome: expect.stringMatching(/^(?:parted|same)$/) });
      writeFileSync(journalOf(workspace), good);
    }
    for (const broken of ['{"ok":{"$n":"x"}}', '7', `{"ok":${'['.repeat(5000)}${']'.repeat(5000)}}`]) {
      forge(workspace, (text) => text.replace(environment, `$1${broken}`));
      expect(await replay(workspace)).toMatchObject({
        outcome: 'parted',
        why: expect.stringContaining('is no log of imports'),
      });
      writeFileSync(journalOf(workspace), good);
    }
  });

  it('get their HTTP answers with the server gone, and no credential of a head is kept', async () => {
    const server = createServer((request, response) => {
      response.setHeader('set-cookie', 'id=canary-of-the-server').setHeader('etag', 'seen');
      response.end(
        `${request.method} ${request.headers.authorization === 'Bearer canary-of-the-tool' ? 'known' : 'unknown'}`,
      );
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const authority = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const headers = [['authorization', 'Bearer canary-of-the-tool']];
    const workspace = await recorded({
      tools: { web: await fixtureComponent('http-tool') },
      asks: `{ network: { allow: ["${authority}"] } }`,
      manifest: `capabilities: { network: { allow: ["${authority}"] } }\n`,
      script: turn(['c1', 'web', { method: { tag: 'get' }, scheme: { tag: 'HTTP' }, authority, path: '/', headers }]),
    });
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
    const journal = readFileSync(journalOf(workspace), 'utf8');
    expect(journal).toContain('GET known');
    expect(journal).not.toContain('canary-of-the-server');
    // The model wrote it into its call, and only there it is.
    expect(logsIn(journal).join('\n')).toContain('wasi:http/types#');
    expect(logsIn(journal).join('\n')).not.toContain('canary');
    expect(await replay(workspace)).toMatchObject({ outcome: 'same', components: { served: 0 } });
  });

  it('hold no secret that the manifest hands to a driver, in no record and in no report', async () => {
    const env = { GATEWAY_TOKEN: 'canary-of-the-gateway', OTHER: 'no secret' };
    const provider = await startFakeOpenAi([answers('It is', ' done.')]);
    const headers = '{ x-gateway: "${GATEWAY_TOKEN}", x-other: "${OTHER}" }';
    const workspace = makeWorkspace({
      'svc.yaml': `name: demo
version: 1.0.0
${keepsImports}inference:
  endpoint: ${provider.endpoint}
  model: small
  driver: { artifact: svc-driver-openai, config: { headers: ${headers} } }
`,
    });
    workspaces.push(workspace);
    expect(await svc(workspace, ['run', '--task', 'Go.'], { env })).toMatchObject({ code: 0, stderr: '' });
    await provider.close();
    const journal = readFileSync(journalOf(workspace), 'utf8');
    expect([journal.includes('canary'), journal.includes('no secret')]).toEqual([false, true]);
    const again = await svc(workspace, ['run', '--replay', '--components', '--json'], { env });
    expect(again.stdout + again.stderr).not.toContain('canary');
    expect(verdict(again)).toMatchObject({ outcome: 'same', components: { run: 1, served: 0 } });
  });

  it('count as unknown where they were not recorded', async () => {
    const workspace = await recorded({
      trace: 'trace: { capture: content }\n',
      script: turn(['call_1', 'one', { op: 'count' }]),
      tools: { one: await probe() },
    });
    expect(readFileSync(journalOf(workspace), 'utf8')).not.toContain('"k":"io"');
    expect(await svc(workspace, ['run', '--replay', '--components'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('error[E-RUN-067]'),
    });
    expect(await svc(workspace, ['run', '--components'])).toMatchObject({
      stderr: expect.stringContaining('--components goes with --replay'),
    });
  });

  it('come from svc.lock', async () => {
    const workspace = await recorded({ script: turn(['call_1', 'one', {}]), tools: { one: await passes('') } });
    const lock = join(workspace.folder, 'svc.lock');
    writeFileSync(lock, readFileSync(lock, 'utf8').replace(/"sha256": "\w+"/, `"sha256": "${'0'.repeat(64)}"`));
    expect(await svc(workspace, ['run', '--replay', '--components'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('error[E-REG-005]'),
    });
  });
});

/** The engine keeps its code of a component when it finds the time: after this run, or after the next. */
function withoutEngineCode(files: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(files).filter(([path]) => !/\/cache\/components(?:\/[^/]+\.code)?$/.test(path)),
  );
}
