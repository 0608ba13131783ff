import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, type TestContext } from 'vitest';

import { Editor } from '../acp/editor.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';
import { type ContainedCapsule, printed, scoped, sealed, shell, type ScriptedCall } from './contained-capsule.ts';
import { needsPrograms, openCapsule } from './use-capsule.ts';

const commands = 'shell: { allow: [bash, cat, ls, cp, mv, rm, mkdir, ln, git] }';
const inWork = ['--workdir', 'work'];

/** A repository with secrets, keys and what other sessions left. */
function repository({ folder }: Workspace): Readonly<Record<string, string>> {
  const git = (...args: readonly string[]): unknown => execFileSync('git', ['-C', join(folder, 'work'), ...args]);
  mkdirSync(join(folder, 'work'), { recursive: true });
  git('init', '--quiet');
  return {};
}

const secrets = {
  'work/.env': 'SECRET\n',
  'work/api/.env.local': 'SECRET\n',
  'work/.ssh/id': 'SECRET\n',
  'work/.svc/sessions/old/trace.jsonl': 'SECRET\n',
  'work/a.txt': 'a\n',
};

const editor = (id: string, input: Readonly<Record<string, unknown>>): ScriptedCall => ({
  id,
  tool: 'svc-tool-editor',
  input,
});
const withEditor = 'artifacts:\n  - { name: svc-tool-editor, version: 1.0.0 }\n';

async function texts(capsule: ContainedCapsule, ...ids: readonly string[]): Promise<readonly string[]> {
  const results = [];
  for (const id of ids) results.push((await capsule.result(id)).text);
  return results;
}

describe.each(sealed)('a repository that --workdir names in $name', (setup) => {
  const attacks = [
    shell('secrets', 'cat .env api/.env.local .ssh/id .svc/sessions/old/trace.jsonl; ls -A .svc .ssh'),
    shell('hook', 'echo x > .git/hooks/post-checkout; echo x >> .git/config; mv .git aside; cat .git/HEAD'),
    shell('state', 'echo x > .svc/config.yaml; mv .svc aside; echo kept > ~/kept && cat ~/kept'),
    shell('work', 'echo b > b.txt && rm a.txt && git add b.txt && git status --short b.txt'),
    editor('read', { command: 'read', path: '.env' }),
    editor('plant', { command: 'write', path: '.git/hooks/post-checkout', content: 'x' }),
    editor('below', { command: 'write', path: '.svc/config.yaml', content: 'x' }),
    editor('edit', { command: 'write', path: 'c.txt', content: 'c' }),
  ];
  const options = {
    calls: attacks,
    capabilities: commands,
    manifest: withEditor,
    files: secrets,
    args: inWork,
    prepare: repository,
  };

  it('stays as it is, and masked, as the folder of --write, for commands and for components', async (context) => {
    needsPrograms(context, 'git');
    const capsule = await openCapsule(context, setup, options);
    const [hidden, hook, state, work] = await texts(capsule, 'secrets', 'hook', 'state', 'work');
    expect(hidden).not.toContain('SECRET');
    expect(hidden).toContain('.svc:\nhome\nsessions');
    expect(hook).toContain('ref: refs/heads/');
    expect(state).toContain('kept');
    expect(work).toBe(printed('A  b.txt'));
    expect(await texts(capsule, 'read', 'plant', 'below', 'edit')).toEqual([
      '.env may not be accessed',
      '.git/hooks/post-checkout may not be accessed',
      '.svc/config.yaml may not be accessed',
      'created c.txt (1 bytes)',
    ]);
    const { folder } = capsule.workspace;
    expect(existsSync(join(folder, 'work/.git/hooks/post-checkout'))).toBe(false);
    expect(readFileSync(join(folder, 'work/.git/config'), 'utf8')).not.toContain('x\n');
    expect(existsSync(join(folder, 'work/.svc/config.yaml'))).toBe(false);
  });

  it.for([{ flags: [] }, { flags: ['--write-git'] }])(
    'keeps no repository of the agent that git obeys, but with --write-git: $flags',
    async ({ flags }, context) => {
      needsPrograms(context, 'git');
      const make = 'git init -q sub && git -C sub config core.fsmonitor ./evil; ls sub/.git/HEAD';
      const args = [...inWork, ...flags];
      const capsule = await openCapsule(context, setup, { ...options, calls: [shell('make', make)], args });
      expect(await texts(capsule, 'make')).toEqual([printed('sub/.git/HEAD')]);
      await capsule.stream.untilClosed();
      const { stderr } = await capsule.process.ended;
      const stays = flags.length > 0;
      const found = ['.git/HEAD', '.git.made-by-task/HEAD.made-by-task'].map((name) =>
        existsSync(join(capsule.workspace.folder, 'work/sub', name)),
      );
      expect([...found, stderr.includes('W-RUN-183')], stderr).toEqual([stays, !stays, !stays]);
    },
  );

  it('opens to what git runs with --write-git, and stays masked all the same', async (context) => {
    needsPrograms(context, 'git');
    const capsule = await openCapsule(context, setup, {
      ...options,
      calls: [shell('hook', 'echo x > .git/hooks/post-checkout; cat .git/hooks/post-checkout; cat .env')],
      args: [...inWork, '--write-git'],
    });
    const [said] = await texts(capsule, 'hook');
    expect(said).toBe('exit code: 1\nstdout:\nx\nstderr:\ncat: .env: Permission denied');
  });
});

describe.each(scoped)('a repository that --workdir names in $name', (setup) => {
  const calls = [
    editor('read', { command: 'read', path: '.env' }),
    editor('edit', { command: 'write', path: '.git/config', content: 'x' }),
  ];

  it('stays closed to commands, which could change what git runs, and to components', async (context) => {
    needsPrograms(context, 'git');
    const capsule = await openCapsule(context, setup, {
      calls,
      capabilities: '',
      manifest: withEditor,
      files: secrets,
      args: inWork,
      prepare: repository,
    });
    expect(await texts(capsule, 'read', 'edit')).toEqual([
      '.env may not be accessed',
      '.git/config may not be accessed',
    ]);
    const workspace = scriptCapsule({
      manifest: 'capabilities: { shell: { allow: [cat] } }\n',
      files: { 'work/a': 'a' },
    });
    context.onTestFinished(() => workspace.remove());
    repository(workspace);
    const { code, stderr } = await svc(workspace, ['run', ...inWork], { env: { SVC_CONTAINMENT_CEILING: 'scoped' } });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^error\[E-CAP-024\]: /m) });
  });
});

const exported = `exports:
  files: { root: . }
  peer_files: { root: ., max_ttl: 1m }
`;

it('a door serves nothing that is masked in a workdir that --workdir names, and the model shares none of it', async (context) => {
  const peer = 'localhost:1';
  const capsule = await openCapsule(
    context,
    { name: 'sealed', class: 'sealed', uid: null },
    {
      calls: [
        { id: 'masked', tool: 'share-file', input: { path: 'api/.env.local', peer } },
        { id: 'linked', tool: 'share-file', input: { path: 'behind', peer } },
      ],
      capabilities: `${commands}\nnetwork: { allow: ['localhost:1'] }`,
      manifest: exported,
      stays: true,
      files: { ...secrets, 'work/behind': 'SECRET\n', 'work/.svc/children/ses_1/a.txt': 'a\n' },
      args: inWork,
      prepare: (workspace) => {
        symlinkSync('behind', join(workspace.folder, 'work/.env.link'));
        return repository(workspace);
      },
    },
  );
  expect(await texts(capsule, 'masked', 'linked')).toEqual([
    'not_found: There is nothing at this path.',
    'not_found: There is nothing at this path.',
  ]);
  const ask = async (path: string): Promise<Response> =>
    await fetch(`http://${capsule.line.url}/resources/files${path}`);
  const masked = ['.env', 'api/.env.local', '.ssh/id', '.svc/sessions/old/trace.jsonl', 'behind', '.env.link'];
  for (const path of masked) expect([path, (await ask(`/${path}`)).status]).toEqual([path, 404]);
  const { entries } = (await (await ask('')).json()) as { readonly entries: readonly { readonly path: string }[] };
  const listed = entries.map(({ path }) => path);
  expect(listed.filter((path) => masked.includes(path))).toEqual([]);
  expect(listed).toEqual(expect.arrayContaining(['.svc/children/ses_1/a.txt', 'a.txt']));
});

it.each(['.svc', '.svc/artifacts', '.ssh'])(
  'a component is not given %s of a workdir as its scope, whether it is there or not',
  async (scope) => {
    const workspace = scriptCapsule({
      manifest: `${withEditor}capabilities: { filesystem: { scope: ${scope} } }\n`,
      files: { 'work/a.txt': 'a' },
    });
    const { code, stderr } = await svc(workspace, ['run', ...inWork]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^error\[E-CAP-002\]: /m) });
    expect(existsSync(join(workspace.folder, 'work', scope, 'config.yaml'))).toBe(false);
    workspace.remove();
  },
);

it.each(['.svc/sessions', '.ssh'])('a program is not given %s of a workdir as its scope', async (scope) => {
  const workspace = scriptCapsule({
    manifest: `artifacts: [{ name: tool, version: 1.0.0, source: ./tool, capabilities: { filesystem: { scope: ${scope} } } }]\n`,
    files: {
      'work/a.txt': 'a',
      'tool/svc.yaml': 'name: tool\nversion: 1.0.0\nruntime: tool\nimplementation: native\n',
      'tool/bin/tool': '#!/bin/sh\n',
    },
  });
  const { code, stderr } = await svc(workspace, ['run', ...inWork, '--task', 'x']);
  workspace.remove();
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^error\[E-CAP-002\]: /m) });
});

it.each(['keys/.ssh', 'other/.svc/artifacts'])('no agent is given the folder %s, which is masked', async (folder) => {
  const workspace = scriptCapsule({ files: { [`${folder}/a`]: 'a' } });
  const { code, stderr } = await svc(workspace, ['run', '--workdir', folder]);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^error\[E-RUN-029\]: /m) });
  expect(existsSync(join(workspace.folder, folder, 'out'))).toBe(false);
  workspace.remove();
});

/** What the loader of `node` finds there, and `node` itself. */
function installNode(folder: string): void {
  const place = join(folder, 'work/env');
  mkdirSync(join(place, 'bin'), { recursive: true });
  mkdirSync(join(place, 'lib'));
  cpSync(realpathSync(process.execPath), join(place, 'bin/node'));
  for (const library of ['libm.so.6', 'libstdc++.so.6']) {
    const found = spawnSync('sh', [
      '-c',
      `ldd "${process.execPath}" | sed -n 's/.*${library.replace('++', '..')} => \\([^ ]*\\) .*/\\1/p'`,
    ]);
    const path = found.stdout.toString().trim();
    if (path !== '') cpSync(realpathSync(path), join(place, 'lib', library));
  }
}

const replacing = [
  'echo x > env/bin/node; echo x > new; mv -f new env/bin/node; rm -f env/bin/node',
  'mv env/bin aside; mv env aside; rm -rf env/bin',
  'for l in env/lib/*; do echo x > $l; rm -f $l; done; echo x > env/lib/libdl.so.2; mv env/lib aside',
].join('; ');

function hasLibraries(context: TestContext, folder: string): void {
  context.skip(
    !existsSync(join(folder, 'work/env/lib/libm.so.6')),
    'needs a node that loads the libraries of its system',
  );
}

describe.each(sealed)('node and its libraries in a workdir in $name', (setup) => {
  it('stay as they are, whatever a command does', async (context) => {
    const capsule = await openCapsule(context, setup, {
      calls: [
        shell('attack', `exec 2>/dev/null; ${replacing}; echo beside > env/beside; cat env/beside`),
        editor('after', { command: 'write', path: 'after', content: 'x' }),
      ],
      capabilities: commands,
      manifest: withEditor,
      args: inWork,
      node: 'work/env/bin/node',
      prepare: ({ folder }) => {
        installNode(folder);
        return { LD_LIBRARY_PATH: join(folder, 'work/env/lib') };
      },
    });
    hasLibraries(context, capsule.workspace.folder);
    expect(await texts(capsule, 'attack', 'after')).toEqual([printed('beside'), 'created after (1 bytes)']);
    const place = join(capsule.workspace.folder, 'work/env');
    expect(readFileSync(join(place, 'bin/node')).equals(readFileSync(process.execPath))).toBe(true);
    expect(readFileSync(join(place, 'lib/libm.so.6')).length).toBeGreaterThan(1000);
    expect(existsSync(join(place, 'lib/libdl.so.2'))).toBe(false);
  });
});

describe.each(scoped)('node and its libraries in a workdir in $name', ({ uid }) => {
  it.each(['bin', 'lib'])('keep commands from being started where the workdir holds its %s', async (part) => {
    if (uid !== null) return;
    const workspace = scriptCapsule({ manifest: 'capabilities: { shell: { allow: [cat] } }\n' });
    installNode(workspace.folder);
    const place = join(workspace.folder, 'work/env');
    const env = part === 'lib' ? { LD_LIBRARY_PATH: join(place, 'lib') } : {};
    const node = part === 'bin' ? { node: join(place, 'bin/node') } : {};
    const { code, stderr } = await svc(workspace, ['run', ...inWork], {
      env: { SVC_CONTAINMENT_CEILING: 'scoped', ...env },
      ...node,
    });
    expect({ code, stderr: stderr.replaceAll(workspace.folder, '') }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /^error\[E-CAP-025\]: svc itself cannot be kept from this task: \/work\/env\/(bin|lib)/m,
      ),
    });
    workspace.remove();
  });
});

it('svc serve acp keeps and masks the folder that an editor names', async (context) => {
  needsPrograms(context, 'git');
  const calls = [
    editor('read', { command: 'read', path: '.env' }),
    editor('plant', { command: 'write', path: '.git/hooks/post-checkout', content: 'x' }),
  ];
  const content = calls.map(({ id, tool: name, input }) => ({ type: 'tool_call', id, name, input }));
  const workspace = scriptCapsule({
    manifest: withEditor,
    script: JSON.stringify([
      { content, stop_reason: 'tool_call' },
      { content: [{ type: 'text', text: 'Done.' }], stop_reason: 'end_turn' },
    ]),
    files: secrets,
  });
  repository(workspace);
  context.onTestFinished(() => workspace.remove());
  const acp = await Editor.open(workspace);
  await acp.initialize(false);
  const { sessionId } = await acp.request('session/new', { cwd: join(workspace.folder, 'work'), mcpServers: [] });
  await acp.request('session/prompt', { sessionId, prompt: [{ type: 'text', text: 'Go.' }] });
  expect(acp.updates.filter(({ status }) => status === 'failed')).toHaveLength(2);
  expect(existsSync(join(workspace.folder, 'work/.git/hooks/post-checkout'))).toBe(false);
});

it
  .skipIf(process.getuid?.() !== 0)
  .each([['/etc'], ['/usr'], ['/var'], ['/usr/lib/svc-that-is-not-there', '--task=x']])(
  'root gives no agent the folder of the system %s (only as root)',
  async (folder, flag = '--explain-scope') => {
    const workspace = scriptCapsule();
    const { code, stdout, stderr } = await svc(workspace, ['run', '--workdir', folder, flag]);
    workspace.remove();
    expect({ code, said: stdout + stderr }).toEqual({
      code: flag === '--explain-scope' ? 0 : 1,
      said: expect.stringMatching(/E-RUN-029\W+the workdir \S+ would give the agent what this machine runs: /),
    });
    expect(existsSync('/usr/lib/svc-that-is-not-there')).toBe(false);
  },
);
