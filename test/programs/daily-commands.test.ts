import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { buildArchive } from '@svc/artifacts/store/build-archive.ts';
import { taskFile, useCapsules } from '../support/capsule-folders.ts';
import { useCopies } from '../support/copied-workspaces.ts';
import { SkillRegistry } from '../support/published-skills.ts';
import { svc, type SvcEnd } from '../support/svc-process.ts';
import { copyWorkspace, type Workspace } from '../support/workspace.ts';

const capsule = useCapsules();
const copyOf = useCopies();

const manifest = `# what it works with
artifacts:
  - { name: tone, version: 1.0.0, runtime: skill } # how it speaks
`;

let registry: SkillRegistry;
let workspace: Workspace;
beforeEach(async () => {
  registry = await SkillRegistry.open();
  workspace = capsule({ manifest, files: taskFile });
  await registry.publish('tone', '1.0.0');
  for (const version of ['1.0.0', '1.2.0', '1.3.0-beta.1', '2.0.0', '10.0.0-rc.1'])
    await registry.publish('style', version);
});

async function run(...args: string[]): Promise<SvcEnd> {
  return await svc(workspace, args, { env: registry.env });
}

/** Has `svc install` run in the workspace, and `svc add` of these. */
async function installed(...added: readonly string[]): Promise<void> {
  workspace = await copyOf(added.join(), async () => {
    for (const args of [['install'], ...added.map((what) => ['add', what])])
      expect(await run(...args)).toMatchObject({ code: 0 });
    return copyWorkspace(workspace);
  });
}

const manifestText = (): string => readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');
const locked = (): string[] =>
  (
    JSON.parse(readFileSync(join(workspace.folder, 'svc.lock'), 'utf8')) as {
      artifacts: { name: string; version: string }[];
    }
  ).artifacts.map(({ name, version }) => `${name}@${version}`);

function rows({ stdout }: SvcEnd): Record<string, unknown>[] {
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('svc add', () => {
  it('writes an MCP server by its command, whose program the model does not get', async () => {
    await installed();
    const before = manifestText();
    const server = 'mcp:npx -y @acme/server-files@1.2.3 .';
    const planned = await run('add', server, '--dry-run', '--json');
    expect(rows(planned)).toMatchObject([{ name: 'files', after: '1.0.0', outcome: 'planned' }]);
    expect(existsSync(join(workspace.folder, 'mcp'))).toBe(false);
    expect(await run('add', server)).toMatchObject({ code: 0 });
    const row = '  - { name: files, version: 1.0.0, source: "./mcp/files", runs: [npx] }\n';
    expect(manifestText()).toBe(before.replace('# how it speaks\n', `# how it speaks\n${row}`));
    expect(JSON.parse(readFileSync(join(workspace.folder, 'mcp/files/svc.yaml'), 'utf8'))).toEqual({
      name: 'files',
      version: '1.0.0',
      runtime: 'tool',
      implementation: 'mcp',
      command: ['npx', '-y', '@acme/server-files@1.2.3', '.'],
    });
    expect(await run('run', '--explain-scope')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/files \(tool\) .*; runs npx, which the model does not/) as string,
    });
    writeFileSync(join(workspace.folder, 'svc.yaml'), before);
    expect(await run('add', server)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error\[E-IO-001\]: .*mcp\/files is there already/) as string,
    });
    expect(await run('add', 'mcp:./server')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error\[E-ART-008\]: /) as string,
    });
  });

  it('lists the folder of an artifact beside the project, which --manifest may name by its own folder', async () => {
    await installed();
    const before = manifestText();
    mkdirSync(join(workspace.folder, '..', 'voice'));
    writeFileSync(join(workspace.folder, '..', 'voice', 'svc.yaml'), 'name: voice\nversion: 0.2.0\nruntime: skill\n');
    writeFileSync(join(workspace.folder, '..', 'voice', 'skill.md'), 'Be kind.\n');
    expect(await run('add', '../voice', '--manifest', '.')).toMatchObject({ code: 0, stderr: '' });
    const row = `  - { name: voice, version: 0.2.0, runtime: skill, source: "../voice" }\n`;
    expect(manifestText()).toBe(before.replace('# how it speaks\n', `# how it speaks\n${row}`));
    expect(locked().filter((each) => each.startsWith('voice'))).toEqual([]);
    for (const [folder, why] of [
      ['../voice', 'the manifest lists voice already, and nothing was written'],
      ['./', 'holds no artifact that can be listed: its svc.yaml is that of a capsule'],
      ['../none', 'holds no artifact that can be listed: there is no such folder'],
      ['..', 'holds no artifact that can be listed: there is none of svc.yaml, SKILL.md and plugin.json in it'],
    ] as const)
      expect(await run('add', folder)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(new RegExp(`^error\\[E-ART-008\\]: .*${why}`)) as string,
      });
    expect((await run('install', 'voice')).stderr).toMatch(
      /\nhint: svc add voice takes its newest version into svc\.yaml; or write /,
    );
  });

  it('takes the highest version, writes its range, and keeps every comment', async () => {
    const before = manifestText();
    const end = await run('add', 'style', '--json');
    expect(end).toMatchObject({ code: 0, stderr: expect.stringContaining('W-REG-002') as string });
    expect(rows(end)).toMatchObject([
      { name: 'style', before: null, after: '2.0.0', range: '^2.0.0', outcome: 'changed' },
    ]);
    expect(manifestText()).toBe(
      before.replace(
        '# how it speaks\n',
        '# how it speaks\n  - { name: style, version: 2.0.0, runtime: skill, range: ^2.0.0 }\n',
      ),
    );
    expect(existsSync(join(workspace.folder, 'svc.lock'))).toBe(false);
    expect((await run('install')).code).toBe(0);
    expect(locked()).toEqual(['style@2.0.0', 'svc-driver-script@1.0.0', 'tone@1.0.0']);
    expect(await run('run', '--offline')).toMatchObject({ code: 0, stderr: '' });
  });

  it.each([
    ['style@^1.0.0', '1.2.0', '^1.0.0'],
    ['style@>=1.0.0 <1.2.0', '1.0.0', '>=1.0.0 <1.2.0'],
    ['style@1.x || 2.x', '2.0.0', '1.x || 2.x'],
    ['style@^1.3.0-alpha', '1.3.0-beta.1', '^1.3.0-alpha'],
    ['style@1.2.0', '1.2.0', null],
  ])('takes for %s %s', async (what, version, range) => {
    await installed();
    const end = await run('add', what, '--json');
    expect([end.code, end.stderr]).toEqual([0, '']);
    expect(rows(end)).toMatchObject([{ after: version, range }]);
    expect(locked()).toEqual([`style@${version}`, 'svc-driver-script@1.0.0', 'tone@1.0.0']);
    expect(await run('run', '--offline')).toMatchObject({ code: 0, stderr: '' });
  });

  it('moves an artifact that is there, and takes its range away with an exact version', async () => {
    await installed('style@^1.0.0');
    const end = await run('add', 'style@2.0.0', '--json');
    expect(rows(end)).toMatchObject([{ before: '1.2.0', after: '2.0.0', range: null }]);
    expect(manifestText()).toContain('- { name: style, version: 2.0.0, runtime: skill }\n');
    expect(locked()).toEqual(['style@2.0.0', 'svc-driver-script@1.0.0', 'tone@1.0.0']);
  });

  it('with --dry-run says exactly what would change, and changes nothing', async () => {
    await installed();
    const snapshot = [manifestText(), locked(), readdirSync(join(workspace.folder, '.svc', 'artifacts'))];
    const end = await run('add', 'style@^1.0.0', '--dry-run');
    expect(end).toMatchObject({ code: 0, stderr: '' });
    expect(end.stdout.replaceAll(/\d+ B/g, 'N B').replaceAll(/[0-9a-f]{12}/g, 'HASH')).toBe(
      'NAME   BEFORE  AFTER  RANGE   SIZE   SHA256\n' +
        'style  -       1.2.0  ^1.0.0  N B  HASH\n'.replace('N B  ', 'N B  ') +
        '\n./svc.yaml would change:\n+   - { name: style, version: 1.2.0, runtime: skill, range: ^1.0.0 }\n',
    );
    const planned = rows(await run('add', 'style@^1.0.0', '--dry-run', '--json'));
    expect(planned).toMatchObject([
      { outcome: 'planned', lines: ['+   - { name: style, version: 1.2.0, runtime: skill, range: ^1.0.0 }'] },
    ]);
    expect([manifestText(), locked(), readdirSync(join(workspace.folder, '.svc', 'artifacts'))]).toEqual(snapshot);
  });

  it.each<[string, string, string]>([
    ['style@^3.0.0', 'E-REG-028', 'has no version of style to choose for ^3.0.0'],
    ['style@10.x', 'E-REG-028', 'has no version of style to choose for 10.x'],
    ['ghost', 'E-REG-001', 'has no artifact ghost'],
    ['stile', 'E-REG-001', 'has no artifact stile\nhint: did you mean style?\n'],
    ['svc-tool-editr', 'E-REG-001', '\nhint: did you mean svc-tool-editor?\n'],
    ['style@latest', 'E-REG-004', 'the reserved artifact version latest is not allowed'],
    ['Style', 'E-ART-008', '"Style" does not name an artifact'],
    ['style@1..2', 'E-ART-008', '"style@1..2" does not name an artifact'],
    ['oci://registry.example.com/style', 'E-ART-008', 'does not name an artifact'],
    [`oci://registry.example.com/style:1.0.0@sha256:${'0'.repeat(64)}`, 'E-ART-008', 'by its name and version'],
  ])('refuses %s, and changes nothing', async (what, code, message) => {
    const before = manifestText();
    const { code: exit, stderr } = await run('add', what);
    expect([exit, stderr]).toEqual([1, expect.stringContaining(`error[${code}]: `) as string]);
    expect(stderr).toContain(message);
    expect(manifestText()).toBe(before);
    expect(existsSync(join(workspace.folder, '.svc', 'artifacts'))).toBe(false);
  });

  it('refuses a manifest that it cannot edit before anything is fetched', async () => {
    workspace.write('svc.yaml', `${manifestText().replace('artifacts:\n  - {', 'artifacts:\n  - &a {')}x-again: *a\n`);
    const before = manifestText();
    const end = await run('update', 'tone', '--latest');
    expect(end.code).toBe(0);
    await registry.publish('tone', '2.0.0');
    const refused = await run('update', 'tone', '--latest');
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('error[E-REG-029]') as string]);
    expect(manifestText()).toBe(before);
    expect(existsSync(join(workspace.folder, '.svc', 'artifacts'))).toBe(false);
  });

  it('takes what is on this machine where no registry is in use', async () => {
    const end = await svc(workspace, ['add', 'svc-tool-editor', '--json', '--registry', 'local'], { env: {} });
    expect(rows(end)).toMatchObject([{ name: 'svc-tool-editor', after: '1.0.0', range: '^1.0.0' }]);
    expect(manifestText()).toContain('- { name: svc-tool-editor, version: 1.0.0, range: ^1.0.0 }\n');
  });
});

describe('svc update', () => {
  beforeEach(async () => {
    await installed('style@^1.0.0');
    await registry.publish('style', '1.4.0');
    await registry.publish('style', '2.1.0');
  });

  it('moves what has a range to the highest version in it, and leaves the rest', async () => {
    await registry.publish('tone', '1.1.0');
    const end = await run('update', '--json');
    expect(rows(end)).toMatchObject([{ name: 'style', before: '1.2.0', after: '1.4.0', range: '^1.0.0' }]);
    expect(manifestText()).toContain('- { name: style, version: 1.4.0, runtime: skill, range: ^1.0.0 }\n');
    expect(locked()).toEqual(['style@1.4.0', 'svc-driver-script@1.0.0', 'tone@1.0.0']);
    expect(await run('run', '--offline')).toMatchObject({ code: 0, stderr: '' });
    expect(await run('update')).toMatchObject({ code: 0, stdout: '', stderr: 'nothing changes\n' });
    const named = await run('update', 'tone');
    expect(named.stderr).toBe(
      'tone stays at 1.0.0: its entry has no range; --latest moves it all the same\nnothing changes\n',
    );
  });

  it('with --latest leaves the range, which moves along', async () => {
    const end = await run('update', 'style', '--latest', '--json');
    expect(rows(end)).toMatchObject([{ before: '1.2.0', after: '2.1.0', range: '^2.1.0' }]);
    expect(manifestText()).toContain('- { name: style, version: 2.1.0, runtime: skill, range: ^2.1.0 }\n');
  });

  it('passes over what is yanked or blocked, and goes back from it', async () => {
    await registry.state('style@1.4.0', 'yanked', 'broken');
    expect(await run('update')).toMatchObject({ stdout: '', stderr: 'nothing changes\n' });
    await registry.state('style@1.4.0', 'active');
    await run('update');
    await registry.state('style@1.4.0', 'blocked', 'malware');
    const end = await run('update', '--json');
    expect(rows(end)).toMatchObject([{ before: '1.4.0', after: '1.2.0' }]);
    expect(locked()).toEqual(['style@1.2.0', 'svc-driver-script@1.0.0', 'tone@1.0.0']);
  });

  it('refuses a range that nothing meets, and names what there is', async () => {
    workspace.write('svc.yaml', manifestText().replace('range: ^1.0.0', 'range: ^7.0.0'));
    const before = manifestText();
    const { code, stderr } = await run('update');
    expect([code, manifestText()]).toEqual([1, before]);
    expect(stderr).toBe(
      `error[E-REG-028]: ${registry.url} has no version of style to choose for ^7.0.0\n` +
        'hint: the newest versions are 10.0.0-rc.1, 2.1.0, 2.0.0, 1.4.0, 1.3.0-beta.1; svc info style lists all\n',
    );
  });

  it('says so of a name that the manifest does not list, and without a registry', async () => {
    const { stderr } = await run('update', 'styl');
    expect(stderr).toContain('error[E-REG-001]: ./svc.yaml lists no artifact "styl"\nhint: did you mean style?\n');
    const local = await svc(workspace, ['update', '--registry', 'local'], { env: {} });
    expect([local.code, local.stderr]).toEqual([
      1,
      expect.stringContaining('error[E-REG-006]: no registry is in use') as string,
    ]);
  });
});

describe('svc outdated', () => {
  it('lists what is newer or advised against, and ends with 1 only when asked to', async () => {
    await installed('style@^1.0.0');
    expect(await run('outdated', '--exit-code')).toMatchObject({ code: 1 });
    await registry.publish('style', '1.4.0');
    await registry.state('tone@1.0.0', 'deprecated', 'use style');
    const end = await run('outdated', '--json');
    expect([end.code, end.stderr]).toEqual([0, '']);
    expect(rows(end)).toEqual([
      {
        name: 'tone',
        current: '1.0.0',
        wanted: '1.0.0',
        latest: '1.0.0',
        range: null,
        state: 'deprecated',
        reason: 'use style',
        signed_by: null,
        wanted_signatures: 0,
      },
      {
        name: 'style',
        current: '1.2.0',
        wanted: '1.4.0',
        latest: '2.0.0',
        range: '^1.0.0',
        state: 'active',
        reason: null,
        signed_by: null,
        wanted_signatures: 0,
      },
    ]);
    const table = await run('outdated');
    expect(table.stdout).toMatch(/^NAME +CURRENT +WANTED +LATEST +STATE +REASON\ntone +1\.0\.0/);
  });
});

describe('svc remove', () => {
  it('takes an artifact out of both files', async () => {
    await installed('style');
    const end = await run('remove', 'style', '--json');
    expect(rows(end)).toMatchObject([{ name: 'style', before: '2.0.0', after: null, outcome: 'changed' }]);
    expect(manifestText()).not.toContain('style');
    expect(manifestText()).toContain('# how it speaks');
    expect(locked()).toEqual(['svc-driver-script@1.0.0', 'tone@1.0.0']);
    expect(await run('run', '--offline')).toMatchObject({ code: 0, stderr: '' });
    const again = await run('remove', 'style');
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('error[E-REG-001]') as string]);
  });

  it('refuses the driver that the manifest names, with the place', async () => {
    const own = manifestText()
      .replace('  - { name: tone', '  - { name: own, version: 1.0.0, runtime: driver }\n  - { name: tone')
      .replace('artifact: svc-driver-script', 'artifact: own');
    workspace.write('svc.yaml', own);
    const { code, stderr } = await run('remove', 'own');
    expect(code).toBe(1);
    expect(stderr).toContain(
      'error[E-REG-030]: own cannot be removed: inference.driver.artifact of ./svc.yaml names it\n',
    );
    expect(stderr).toMatch(/svc\.yaml:\d+:\d+/);
    expect(manifestText()).toBe(own);
  });
});

describe('svc info', () => {
  it('lists the versions, the highest first, with their states', async () => {
    await registry.state('style@1.0.0', 'yanked', 'loses data');
    const end = await run('info', 'style');
    expect(end.stdout.split('\n').map((line) => line.split(/ {2,}/).slice(0, 2).join(' '))).toEqual([
      'VERSION STATE',
      '10.0.0-rc.1 active',
      '2.0.0 active',
      '1.3.0-beta.1 active',
      '1.2.0 active',
      '1.0.0 yanked',
      '',
    ]);
    expect(rows(await run('info', 'style', '--json')).at(-1)).toMatchObject({
      version: '1.0.0',
      state: 'yanked',
      reason: 'loses data',
      archives: [{ platforms: [], published_by: 'REGISTRY_API_KEY' }],
    });
    expect((await run('info', 'ghost')).stderr).toContain('error[E-REG-001]');
  });

  it('shows what is in a version, and installs nothing', async () => {
    const { sha256 } = await registry.publish('maps', '1.0.0');
    expect(rows(await run('info', 'maps@1.0.0', '--json'))).toMatchObject([
      {
        name: 'maps',
        version: '1.0.0',
        state: 'active',
        here: [],
        kind: 'skill',
        implementation: null,
        world: null,
        imports: null,
        asks_for: null,
        platform: null,
        sha256,
        signatures: [],
      },
    ]);
    expect(existsSync(join(workspace.folder, '.svc'))).toBe(false);
  });

  it('shows for an artifact of svc where it is, how large, and what it can reach', async () => {
    const local = async (...args: string[]): Promise<SvcEnd> => await svc(workspace, args, { env: {} });
    const versions = (await local('info', 'svc-tool-editor')).stdout;
    expect(versions).toMatch(/^VERSION +STATE +PLATFORM +SIZE +SHA256 +SIGNED +HERE +PUBLISHED +BY +REASON\n/);
    expect(versions).toMatch(/\n1\.0\.0 +- +- +[\d.]+ [KM]B +[0-9a-f]{12} +- +bundled +- +- +-\n$/);
    const editor = (await local('info', 'svc-tool-editor@1.0.0')).stdout;
    expect(editor).toMatch(/^artifact {5}svc-tool-editor@1\.0\.0\nkind {9}tool \(wasm\)\nplatform {5}any\nsize /);
    expect(editor).toMatch(/^here {9}bundled\nsigned by {4}nobody on its own: it is a part of svc\nworld {8}tool\n/m);
    expect(editor).toMatch(/^exports {6}svc:tool@0\.1\.0 run\nimports {6}wasi:cli@0\.2\.12 environment exit /m);
    expect(editor).toMatch(/^asks for {5}files \(filesystem\), variables \(env\)\ninput {8}\{"type":"object"/m);
    const [openai] = rows(await local('info', 'svc-driver-openai@1.0.0', '--json'));
    expect(openai).toMatchObject({
      state: null,
      archives: null,
      here: [{ origin: 'bundled', platform: null, signatures: null }],
      kind: 'driver',
      implementation: 'wasm',
      world: 'driver',
      exports: ['svc:driver/inference@0.1.0'],
      asks_for: ['filesystem', 'network', 'env'],
      signatures: null,
    });
    const [compact] = rows(await local('info', 'svc-hook-compact@1.0.0', '--json'));
    expect(compact).toMatchObject({
      world: 'hook',
      asks_for: ['filesystem', 'env', 'model'],
      hook: { binding: ['on-compaction'], execution_mode: 'blocking', commit_policy: ['replace-context'] },
    });
    const [asking] = rows(await local('info', 'svc-tool-request-input@1.0.0', '--json'));
    expect(asking).toMatchObject({ world: 'tool', asks_for: ['filesystem', 'env', 'task'], hook: null });
  });

  it('lists what the registry has beside what is here', async () => {
    await installed();
    const table = (await run('info', 'tone')).stdout;
    expect(table).toMatch(
      /\n1\.0\.0 +active +- +\d+ B +[0-9a-f]{12} +no +project +20\d\d-\d\d-\d\d +REGISTRY_API_KEY +-\n$/,
    );
    expect(rows(await run('info', 'tone', '--json'))).toMatchObject([
      { archives: [{ signatures: 0 }], here: [{ origin: 'project', signatures: 0 }] },
    ]);
  });

  it('passes over an invalid component behind its first bytes', async () => {
    workspace.write('odd/svc.yaml', 'name: odd\nversion: 1.0.0\nruntime: tool\ndescription: Odd.\n');
    const bytes = Buffer.from('0061736d0d0001000affffffff0f', 'hex');
    writeFileSync(join(workspace.folder, 'odd', 'component.wasm'), bytes);
    expect(await run('publish', 'odd')).toMatchObject({
      code: 1,
      stderr:
        'error[E-ART-004]: the component of odd cannot be read: the module is malformed: it ends in the middle of a section\n',
    });
    const { folder } = workspace;
    const checkArtifact = (): Promise<void> => Promise.resolve();
    const unchecked = { directory: join(folder, 'odd'), outDirectory: folder, env: {}, checkArtifact };
    expect(await run('publish', (await buildArchive(unchecked)).path)).toMatchObject({ code: 0 });
    const end = await run('info', 'odd@1.0.0', '--json');
    expect([end.code, rows(end)[0]]).toMatchObject([0, { kind: 'tool', world: null, imports: null }]);
  });
});

describe('without a registry that lists versions', () => {
  const offline = { SVC_REGISTRY_URL: 'http://127.0.0.1:1' };

  it('svc info shows what is here, and says that the registry does not answer', async () => {
    await installed();
    const unknown = 'what the registry in use has of tone is not known: the registry http://127.0.0.1:1: ';
    const list = await svc(workspace, ['info', 'tone'], { env: offline });
    expect([list.code, list.stderr]).toEqual([0, expect.stringContaining(unknown) as string]);
    expect(list.stdout).toMatch(/\n1\.0\.0 +- +- +\d+ B +[0-9a-f]{12} +- +project +- +- +-\n$/);
    const one = await svc(workspace, ['info', 'tone@1.0.0'], { env: offline });
    expect([one.code, one.stderr]).toEqual([0, expect.stringContaining(unknown) as string]);
    expect(one.stdout).toMatch(/^signatures {3}maybe more at its source, which did not answer: /m);
    const bundled = await svc(workspace, ['info', 'svc-tool-editor', '--json'], { env: offline });
    expect(rows(bundled)).toMatchObject([{ version: '1.0.0', here: [{ origin: 'bundled' }] }]);
    for (const what of ['style', 'style@1.0.0']) {
      const { code, stderr } = await svc(workspace, ['info', what], { env: offline });
      expect([code, stderr], what).toEqual([1, expect.stringMatching(/^error\[E-IO-003\]: /) as string]);
    }
  });

  it('svc info says of an OCI registry that it lists no versions, as svc add does', async () => {
    for (const command of ['info', 'add']) {
      const end = await run(command, 'style', '--registry', 'oci://127.0.0.1:1/acme');
      expect([end.code, end.stdout, end.stderr]).toEqual([
        1,
        '',
        'error[E-REG-006]: oci://127.0.0.1:1/acme lists no versions\nhint: name an exact version: style@<version>\n',
      ]);
    }
  });

  it('svc info names the store of the project where it has looked', async () => {
    const { code, stderr } = await run('info', 'style@5.0.0');
    expect([code, stderr]).toEqual([1, expect.stringContaining('error[E-REG-001]: style@5.0.0 for ') as string]);
    expect(stderr).toContain(`the project store (${join(workspace.folder, '.svc', 'artifacts')})`);
    expect(existsSync(join(workspace.folder, '.svc'))).toBe(false);
  });

  it('svc outdated does not say that nothing is outdated', async () => {
    const { code, stdout, stderr } = await svc(workspace, ['outdated'], { env: {} });
    expect([code, stdout, stderr]).toEqual([
      1,
      '',
      'error[E-REG-006]: no registry is in use: nobody says which versions there are of what the manifest lists\n' +
        'hint: name a registry with --registry, SVC_REGISTRY_URL or registry.default of ~/.svc/config.yaml\n',
    ]);
    workspace.write('svc.yaml', manifestText().replace('tone', 'svc-tool-editor').replace(', runtime: skill', ''));
    expect(await svc(workspace, ['outdated'], { env: {} })).toMatchObject({
      code: 0,
      stderr: 'nothing is outdated\n',
    });
  });
});

it('a name of a registry that is nearly that of a source is asked about', async () => {
  mkdirSync(join(workspace.home, '.svc'), { recursive: true });
  const config = `registry: { sources: [{ name: team, type: registry, url: ${registry.url} }] }\n`;
  writeFileSync(join(workspace.home, '.svc', 'config.yaml'), config);
  expect((await run('info', 'style', '--registry', 'team')).code).toBe(0);
  const { code, stderr } = await run('info', 'style', '--registry', 'teem');
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/^error\[E-REG-006\]: --registry .*, not "teem"\n/) as string,
  ]);
  expect(stderr).toContain('hint: did you mean team?\n');
});

it('a manifest whose lines end in carriage returns keeps them', async () => {
  writeFileSync(join(workspace.folder, 'svc.yaml'), manifestText().replaceAll('\n', '\r\n'));
  expect((await run('add', 'style')).code).toBe(0);
  expect(manifestText().replaceAll('\r\n', '')).not.toContain('\n');
  expect((await run('install')).code).toBe(0);
});
