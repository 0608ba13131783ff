import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';

import type { Command } from 'commander';
import { beforeEach, describe, expect, it } from 'vitest';

import { writtenText } from '../../../../test/support/written-text.ts';
import { buildCommand } from '../../src/artifacts/build.ts';
import { Output } from '@svc/terminal/screen/output.ts';
import { terminalOf } from '@svc/terminal/screen/terminal-kind.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { installCommand } from '../../src/artifacts/install.ts';
import { listCommand } from '../../src/artifacts/list.ts';
import { outdatedCommand } from '../../src/artifacts/outdated.ts';
import { removeCommand } from '../../src/artifacts/remove.ts';
import { updateCommand } from '../../src/artifacts/update.ts';
import { readLock } from '@svc/artifacts/store/lockfile.ts';
import { storeRoot } from '@svc/artifacts/store/store-layout.ts';
import { putArchive } from '@svc/artifacts/store/store-put.ts';
import {
  archiveBytes,
  codesOf,
  manifestText,
  moduleBytes,
  temporaryDirectory,
  componentBytes,
  skillFiles,
  toolBytes,
  toolFiles,
  writeFiles,
} from '../../../artifacts/test/store/artifacts.ts';
import { bundleForNode } from '../../../artifacts/test/store/bundle.ts';

const capsule = (artifacts: string): string => `name: worker
version: 1.0.0
artifacts:
${artifacts}
inference:
  transport: process
  command: [cat]
  api_key: \${KEY_OF_NOBODY}
`;
const listed = `  - { name: echo, version: 1.0.0, source: tools/echo }
  - { name: style, version: 1.0.0, runtime: skill }
`;

let project: string;
let home: string;
beforeEach(async () => {
  const root = temporaryDirectory();
  project = join(root, 'project');
  home = join(root, 'home');
  await writeFiles(project, {
    'svc.yaml': capsule(listed),
    'task.md': 'Do it.',
    'tools/echo/svc.yaml': manifestText({ name: 'echo', version: '1.0.0', runtime: 'tool' }),
    'tools/echo/component.wasm': toolBytes,
    'skills/style/svc.yaml': manifestText({ name: 'style', version: '1.0.0', runtime: 'skill' }),
    'skills/style/skill.md': 'Be brief.',
  });
  const files = ['svc.yaml', 'skill.md'].map((name) => ({
    name,
    data: readFileSync(join(project, 'skills/style', name)),
  }));
  const chunks = [await archiveBytes(files)];
  await putArchive({ root: storeRoot(home), chunks, platform: null, from: 'a test' });
});

interface Run {
  readonly stdout: string;
  readonly stderr: string;
}

async function run(
  make: (context: CommandContext) => Command,
  args: readonly string[],
  { stderrIsTerminal = false }: { readonly stderrIsTerminal?: boolean } = {},
): Promise<Run> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const context: CommandContext = {
    cwd: project,
    home,
    env: {},
    stdout: new Output(() => stdout),
    stderr: new Output(() => stderr, stderrIsTerminal ? terminalOf({ TERM: 'xterm' }) : null),
  };
  await make(context).exitOverride().parseAsync(args, { from: 'user' });
  return { stdout: writtenText(stdout), stderr: writtenText(stderr) };
}

function jsonLines(text: string): unknown[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}

describe('svc install', () => {
  it('without an argument installs the artifacts of the manifest, and records all but a folder [D1-CLI-13]', async () => {
    const { stdout, stderr } = await run(installCommand, []);
    expect(stdout).toMatch(
      /^NAME +VERSION +FROM +SHA256\necho +1\.0\.0 +source +[0-9a-f]{12}\nstyle +1\.0\.0 +user +[0-9a-f]{12}\n$/,
    );
    expect(stderr).toBe('');
    expect(readdirSync(storeRoot(project))).toEqual(['echo', 'style']);
    expect(readLock(project)).toMatchObject([{ name: 'style', version: '1.0.0', platform: null }]);
    rmSync(storeRoot(home), { recursive: true });
    const again = await run(installCommand, ['--json']);
    expect(jsonLines(again.stdout)).toMatchObject([
      { name: 'echo', version: '1.0.0', origin: 'source', platform: null },
      { name: 'style', version: '1.0.0', origin: 'project', platform: null },
    ]);
  });

  it('shows and records the skills that skills.discover finds, which no other command takes for entries', async () => {
    await writeFiles(project, {
      'svc.yaml': `${capsule(listed)}skills: { discover: [.agents/skills] }\n`,
      '.agents/skills/pdf/SKILL.md': '---\ndescription: d\nallowed-tools: Read\n---\nFill.\n',
      '.agents/skills/style/SKILL.md': '---\ndescription: d\n---\nBe wordy.\n',
    });
    const leftOut = /^warning\[W-RUN-211\]: the skill in "\S+\/style" is left out: style is the name of something else/;
    const one = await run(installCommand, ['style@1.0.0']);
    expect(one.stderr).toBe('');
    expect(readLock(project)).toMatchObject([{ name: 'style' }]);
    const { stderr } = await run(installCommand, []);
    expect(stderr).toMatch(leftOut);
    expect(stderr).toContain('the skill pdf@0.0.0 asks for\n  + Read\n');
    expect(readLock(project)).toMatchObject([
      { name: 'pdf', version: '0.0.0' },
      { name: 'style', version: '1.0.0' },
    ]);
    const shown = await run(listCommand, ['--json']);
    expect(jsonLines(shown.stdout)).toMatchObject([
      { name: 'echo' },
      { name: 'style', origin: 'project' },
      { name: 'pdf', kind: 'skill', origin: 'source', location: join(project, '.agents/skills/pdf') },
    ]);
    await expect(run(removeCommand, ['pdf'])).rejects.toMatchObject({
      code: 'E-REG-001',
      message: 'pdf has no entry in ./svc.yaml: skills.discover finds it',
    });
    const lock = readFileSync(join(project, 'svc.lock'), 'utf8');
    await writeFiles(project, { '.agents/skills/pdf/more': 'More.' });
    expect(await codesOf(run(installCommand, ['--frozen']))).toEqual(['E-REG-005']);
    // No registry is asked for a discovered skill, and none of these records what it is now.
    const alone = capsule('  - { name: echo, version: 1.0.0, source: tools/echo }\n');
    await writeFiles(project, { 'svc.yaml': `${alone}skills: { discover: [.agents/skills] }\n` });
    expect(await run(outdatedCommand, [])).toEqual({ stdout: '', stderr: 'nothing is outdated\n' });
    expect(await run(updateCommand, [])).toEqual({ stdout: '', stderr: 'nothing changes\n' });
    expect(await codesOf(run(updateCommand, ['pdf']))).toEqual(['E-REG-001']);
    expect(readFileSync(join(project, 'svc.lock'), 'utf8')).toBe(lock);
  });

  it('prints each artifact on a terminal', async () => {
    const { stderr } = await run(installCommand, [], { stderrIsTerminal: true });
    expect(stderr).toBe('preparing echo@1.0.0\npreparing style@1.0.0\ninstalled echo@1.0.0\ninstalled style@1.0.0\n');
  });

  it('accepts a change of an artifact into svc.lock', async () => {
    await run(installCommand, []);
    const [before] = readLock(project) ?? [];
    rmSync(storeRoot(project), { recursive: true });
    rmSync(storeRoot(home), { recursive: true });
    const chunks = [await archiveBytes(skillFiles('style', 'Be wordy.'))];
    const { sha256 } = await putArchive({ root: storeRoot(home), chunks, platform: null, from: 'a test' });
    await run(installCommand, []);
    expect(readLock(project)).toEqual([{ ...before, sha256 }]);
    expect(sha256).not.toBe(before?.sha256);
  });

  it('compiles components ahead, and stores nothing when one cannot be compiled', async () => {
    await run(installCommand, []);
    expect(
      readdirSync(join(home, '.svc', 'cache', 'components')).filter((name) => name.endsWith('.compiled')),
    ).toHaveLength(1);
    rmSync(storeRoot(project), { recursive: true });
    writeFileSync(join(project, 'tools/echo/component.wasm'), Buffer.concat([toolBytes, Buffer.from([0xff])]));
    expect(await codesOf(run(installCommand, []))).toEqual(['E-ART-004']);
    expect(existsSync(storeRoot(project))).toBe(false);
  });

  it('stores nothing when an artifact is found nowhere', async () => {
    rmSync(storeRoot(home), { recursive: true });
    expect(await codesOf(run(installCommand, []))).toEqual(['E-REG-001']);
    expect(readdirSync(project).sort()).toEqual(['skills', 'svc.yaml', 'task.md', 'tools']);
  });

  it('takes one artifact by name and version from where it is, and records it with all that the manifest lists', async () => {
    const { stdout } = await run(installCommand, ['style@1.0.0', '--json']);
    expect(jsonLines(stdout)).toMatchObject([{ name: 'style', version: '1.0.0', origin: 'user', platform: null }]);
    expect(readLock(project)?.map(({ name }) => name)).toEqual(['style']);
    const chunks = [await archiveBytes(toolFiles('unlisted'))];
    await putArchive({ root: storeRoot(home), chunks, platform: null, from: 'a test' });
    await run(installCommand, ['unlisted@1.0.0']);
    expect(readdirSync(storeRoot(project))).toEqual(['style', 'unlisted']);
    expect(readLock(project)?.map(({ name }) => name)).toEqual(['style']);
  });

  it('says that no registry is in use for what is not here, and knows a wrong reference', async () => {
    await expect(run(installCommand, ['other@1.0.0'])).rejects.toMatchObject({
      code: 'E-REG-001',
      message: expect.stringMatching(/^other@1\.0\.0 .*; no registry was asked$/) as string,
    });
    expect(await codesOf(run(installCommand, ['style@latest']))).toEqual(['E-REG-004']);
    expect(await codesOf(run(installCommand, ['style']))).toEqual(['E-ART-008']);
    expect(readdirSync(project).sort()).toEqual(['skills', 'svc.yaml', 'task.md', 'tools']);
  });

  it('needs a manifest', async () => {
    rmSync(join(project, 'svc.yaml'));
    expect(await codesOf(run(installCommand, []))).toEqual(['E-IO-001']);
    expect(await codesOf(run(installCommand, ['style@1.0.0']))).toEqual(['E-IO-001']);
  });

  it('leaves every archive and svc.lock whole when several processes run it at once', async () => {
    const script = await bundleForNode(new URL('../../../artifacts/test/store/install-entries.ts', import.meta.url));
    const entries = [
      { name: 'echo', version: '1.0.0', runtime: 'tool', source: 'tools/echo' },
      { name: 'style', version: '1.0.0', runtime: 'skill' },
    ];
    const places = { manifestDir: project, userHome: home, packageRoot: home, platform: 'linux-x86_64' };
    const children = Array.from({ length: 6 }, () =>
      spawn(process.execPath, [script, JSON.stringify({ ...places, entries })], { stdio: 'inherit' }),
    );
    const ends = await Promise.all(children.map(async (child) => (await once(child, 'exit')) as [number]));
    expect(ends.map(([code]) => code)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(readdirSync(storeRoot(project))).toEqual(['echo', 'style']);
    const archive = readFileSync(join(storeRoot(project), 'style', '1.0.0', 'style-1.0.0.zip'));
    expect(createHash('sha256').update(archive).digest('hex')).toBe(readLock(project)?.[0]?.sha256);
    expect(readdirSync(project).sort()).toEqual(['.svc', 'skills', 'svc.lock', 'svc.yaml', 'task.md', 'tools']);
  }, 60_000);
});

describe('svc build', () => {
  it('packs the folder of an artifact; stdout is the path alone', async () => {
    const { stdout, stderr } = await run(buildCommand, ['tools/echo']);
    const path = join(project, 'echo-1.0.0.zip');
    expect(stdout).toBe(`${path}\n`);
    const sha256 = createHash('sha256').update(readFileSync(path)).digest('hex');
    expect(stderr).toBe(`packed tool echo@1.0.0, ${readFileSync(path).length} bytes, sha256 ${sha256}\n`);
    const json = await run(buildCommand, ['tools/echo', '--out', 'made/here', '--json']);
    const made = join(project, 'made', 'here', 'echo-1.0.0.zip');
    expect(jsonLines(json.stdout)).toEqual([
      { path: made, name: 'echo', version: '1.0.0', kind: 'tool', sha256, bytes: readFileSync(made).length },
    ]);
    expect(json.stderr).toBe('');
  });

  it('packs a capsule with its task and the files that its manifest names, and nothing else', async () => {
    await writeFiles(project, {
      'svc.yaml': capsule(listed).replace('command: [cat]', 'command: [cat]\n  system_prompt_file: prompts/system.md'),
      'prompts/system.md': 'You are brief.',
      '.env': 'KEY=secret',
    });
    const { stdout } = await run(buildCommand, ['--json']);
    expect(jsonLines(stdout)).toMatchObject([{ name: 'worker', version: '1.0.0', kind: 'capsule' }]);
    const stored = await putArchive({
      root: storeRoot(home),
      chunks: [readFileSync(join(project, 'worker-1.0.0.zip'))],
      platform: null,
      from: 'a test',
    });
    expect(stored.kind).toBe('capsule');
    const text = readFileSync(stored.path).toString('latin1');
    expect(text).toContain('prompts/system.md');
    expect(text).toContain('task.md');
    expect(text).not.toContain('secret');
    expect(text).not.toContain('tools/echo/');
  });

  it.each([
    ['has no svc.yaml', {}, 'E-ART-004'],
    [
      'lacks its component',
      { 'svc.yaml': manifestText({ name: 'a', version: '1.0.0', runtime: 'tool' }) },
      'E-ART-004',
    ],
    [
      'has a module in the place of the component',
      { 'svc.yaml': manifestText({ name: 'a', version: '1.0.0', runtime: 'tool' }), 'component.wasm': moduleBytes },
      'E-ART-004',
    ],
    [
      'has a component without the export of a tool',
      { 'svc.yaml': manifestText({ name: 'a', version: '1.0.0', runtime: 'tool' }), 'component.wasm': componentBytes },
      'E-ART-004',
    ],
    [
      'has a component of another kind',
      { 'svc.yaml': manifestText({ name: 'a', version: '1.0.0', runtime: 'driver' }), 'component.wasm': toolBytes },
      'E-ART-004',
    ],
    [
      'has text in the place of the component',
      { 'svc.yaml': manifestText({ name: 'a', version: '1.0.0', runtime: 'tool' }), 'component.wasm': 'hello' },
      'E-ART-004',
    ],
    [
      'lacks its program',
      {
        'svc.yaml': manifestText({ name: 'a', version: '1.0.0', runtime: 'tool', implementation: 'native' }),
        'bin/b': 'x',
      },
      'E-ART-004',
    ],
    [
      'has an empty program',
      {
        'svc.yaml': manifestText({ name: 'a', version: '1.0.0', runtime: 'tool', implementation: 'native' }),
        'bin/a': '',
      },
      'E-ART-004',
    ],
    ['lacks its text', { 'svc.yaml': manifestText({ name: 'a', version: '1.0.0', runtime: 'skill' }) }, 'E-ART-004'],
    [
      'has a name that is none',
      { 'svc.yaml': manifestText({ name: 'A', version: '1.0.0', runtime: 'skill' }) },
      'E-MAN-003',
    ],
    [
      'has a reserved version [D1-VER-02]',
      { 'svc.yaml': manifestText({ name: 'a', version: 'latest', runtime: 'skill' }), 'skill.md': 'x' },
      'E-MAN-003',
    ],
    [
      'is a capsule whose prompt is missing',
      { 'svc.yaml': capsule('').replace('artifacts:\n', '').replace('[cat]', '[cat]\n  system_prompt_file: p.md') },
      'E-ART-004',
    ],
  ])('refuses a folder that %s', async (_, files, code) => {
    mkdirSync(join(project, 'folder'));
    await writeFiles(join(project, 'folder'), files);
    expect((await codesOf(run(buildCommand, ['folder', '--out', 'made'])))[0]).toBe(code);
    expect(readdirSync(project)).not.toContain('made');
  });

  it('needs a folder', async () => {
    await expect(run(buildCommand, ['nowhere'])).rejects.toMatchObject({
      code: 'E-IO-001',
      message: `cannot read ${project}/nowhere/svc.yaml: no such file or directory`,
    });
  });

  it('cannot write where a file is', async () => {
    expect(await codesOf(run(buildCommand, ['tools/echo', '--out', 'task.md']))).toEqual(['E-IO-001']);
  });
});

describe('svc list', () => {
  it('prints each artifact of the manifest where it is, and a missing one', async () => {
    const { stdout, stderr } = await run(listCommand, []);
    expect(stdout).toMatch(
      /^NAME +VERSION +KIND +FROM +PLATFORM +SHA256\necho +1\.0\.0 +tool +source +- +[0-9a-f]{12}\nstyle +1\.0\.0 +skill +user +- +[0-9a-f]{12}\n$/,
    );
    expect(stderr).toBe('');
    rmSync(storeRoot(home), { recursive: true });
    const without = await run(listCommand, ['--json']);
    expect(jsonLines(without.stdout)).toMatchObject([
      { name: 'echo', kind: 'tool', origin: 'source', location: join(project, 'tools/echo') },
      { name: 'style', kind: 'skill', origin: null, sha256: null, location: null },
    ]);
    expect(without.stderr).toMatch(/^error\[E-REG-001\]: style@1\.0\.0 /);
    expect(readdirSync(project)).not.toContain('svc.lock');
  });

  it('with --all prints what every store holds, without a manifest', async () => {
    rmSync(join(project, 'svc.yaml'));
    const chunks = [await archiveBytes(toolFiles('echo', '2.0.0'))];
    await putArchive({ root: storeRoot(project), chunks, platform: 'linux-x86_64', from: 'a test' });
    const { stdout } = await run(listCommand, ['--all', '--json']);
    const rows = jsonLines(stdout).filter((row) => (row as { origin: string }).origin !== 'bundled');
    expect(rows).toMatchObject([
      { name: 'echo', version: '2.0.0', kind: 'tool', origin: 'project', platform: 'linux-x86_64' },
      { name: 'style', version: '1.0.0', kind: 'skill', origin: 'user', platform: null },
    ]);
    expect((await run(listCommand, ['-g'])).stdout).toContain('linux-x86_64');
  });
});
