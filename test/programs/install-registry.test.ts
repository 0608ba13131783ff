import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { key, RegistryKit } from '../../packages/registry/test/registry-kit.ts';
import { StandInServer } from '../../packages/artifacts/test/sources/stand-in-server.ts';
import { archiveBytes, skillFiles } from '../../packages/artifacts/test/store/artifacts.ts';
import { taskFile, useCapsules } from '../support/capsule-folders.ts';
import { svc, type SvcEnd, SvcProcess } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();

/** Skills: they run nowhere, so that their bytes can be anything. */
const manifest = `artifacts:
  - { name: style, version: 1.0.0, runtime: skill }
  - { name: tone, version: 1.0.0, runtime: skill }
`;

let registry: RegistryKit;
let workspace: Workspace;
let env: Readonly<Record<string, string>>;
beforeEach(async () => {
  registry = await RegistryKit.open();
  workspace = capsule({ manifest, files: taskFile });
  env = { SVC_REGISTRY_URL: `http://127.0.0.1:${registry.port}`, REGISTRY_API_KEY: key };
  for (const name of ['style', 'tone']) await publishSkill(registry, name, `Be ${name}.`);
});

async function publishSkill(to: RegistryKit, name: string, text: string, platform = ''): Promise<string> {
  const bytes = await archiveBytes(skillFiles(name, text));
  const { status } = await to.publish(`name=${name}&version=1.0.0&runtime=static${platform}`, bytes);
  expect(status).toBe(201);
  return createHash('sha256').update(bytes).digest('hex');
}

async function install(...args: string[]): Promise<SvcEnd> {
  return await svc(workspace, ['install', ...args], { env });
}

function rows(end: SvcEnd): unknown[] {
  expect(end.stderr).toBe('');
  return end.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}

const store = (): string => join(workspace.folder, '.svc', 'artifacts');
const lockText = (): string => readFileSync(join(workspace.folder, 'svc.lock'), 'utf8');

const lockedNames = (): string[] =>
  (JSON.parse(lockText()) as { artifacts: { name: string }[] }).artifacts.map(({ name }) => name);

/** Every file below a folder that is not whole. */
function leftovers(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.includes('.svc-tmp-'));
}

describe('svc install with a registry in use', () => {
  it('fetches what the manifest needs, and says where from [D1-AUTH-04, D1-CLI-13, D3-REG-01, D3-AUTH-01]', async () => {
    const source = env['SVC_REGISTRY_URL'];
    expect(rows(await install('--json'))).toMatchObject([
      { name: 'style', version: '1.0.0', origin: source, platform: null },
      { name: 'tone', version: '1.0.0', origin: source, platform: null },
      { name: 'svc-driver-script', origin: 'bundled' },
    ]);
    expect(readdirSync(store()).sort()).toEqual(['style', 'svc-driver-script', 'tone']);
    expect(leftovers(store())).toEqual([]);
    const again = await install('--json', '--offline');
    expect(rows(again)).toMatchObject([{ origin: 'project' }, { origin: 'project' }, { origin: 'bundled' }]);
  });

  it('fetches one artifact by name and version, and makes svc.lock once it can be whole [D1-CLI-14]', async () => {
    const first = await install('tone@1.0.0', '--json');
    expect(first).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"name":"tone","version":"1.0.0"') as string,
    });
    expect(first.stderr).toBe(
      'warning[W-REG-002]: svc.lock is not written yet: the manifest also needs style@1.0.0\n' +
        'hint: svc install installs all that the manifest needs, and writes svc.lock\n',
    );
    expect(readdirSync(store())).toEqual(['tone']);
    expect(readFileSync(join(store(), 'tone', '1.0.0', 'tone-1.0.0.zip'), 'latin1')).toContain('Be tone.');
    expect(existsSync(join(workspace.folder, 'svc.lock'))).toBe(false);

    expect(rows(await install('style@1.0.0', '--json'))).toMatchObject([{ name: 'style', version: '1.0.0' }]);
    expect(lockedNames()).toEqual(['style', 'svc-driver-script', 'tone']);
    const run = await svc(workspace, ['run', '--offline'], { env: {} });
    expect(run).toMatchObject({ code: 0, stderr: '' });
  });

  it('leaves the rest to a later run, whichever artifact was installed by name', async () => {
    expect((await install('tone@1.0.0')).code).toBe(0);
    const run = await svc(workspace, ['run'], { env });
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(lockedNames()).toEqual(['style', 'svc-driver-script', 'tone']);
  });

  it('adds one artifact to an svc.lock that is there, and leaves its other lines', async () => {
    expect((await install()).code).toBe(0);
    const { artifacts } = JSON.parse(lockText()) as { artifacts: { name: string }[] };
    const kept = artifacts.filter(({ name }) => name !== 'tone');
    writeFileSync(join(workspace.folder, 'svc.lock'), JSON.stringify({ lock_version: 1, artifacts: kept }));
    expect(rows(await install('tone@1.0.0', '--json'))).toHaveLength(1);
    expect((JSON.parse(lockText()) as { artifacts: unknown }).artifacts).toEqual(artifacts);
  });

  it('takes the variant for this machine and records which it is', async () => {
    const platform = `${process.platform}-${process.arch === 'x64' ? 'x86_64' : 'aarch64'}`;
    const sha256 = await publishSkill(registry, 'style', 'Be brief here.', `&platform=${platform}`);
    expect((await install('tone@1.0.0')).code).toBe(0);
    expect(rows(await install('style@1.0.0', '--json'))).toMatchObject([{ name: 'style', platform, sha256 }]);
    const { artifacts } = JSON.parse(lockText()) as { artifacts: unknown[] };
    expect(artifacts[0]).toEqual({ name: 'style', version: '1.0.0', platform, sha256 });
  });

  it('names every problem at once and records nothing then [D1-ERR-11, D1-ERR-14, D3-ERR-22]', async () => {
    workspace.write('svc.yaml', readManifest().replace('name: style', 'name: ghost').replace('tone, v', 'spook, v'));
    const { code, stderr, stdout } = await install();
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^error\[E-REG-001\]: ghost@1\.0\.0 .*, the source http:.*\nhint: .*\nerror\[E-REG-001\]: spook@1/,
    );
    expect(readdirSync(workspace.folder)).not.toContain('svc.lock');
  });

  it('names the variable of a key that is refused, and shows no key [D3-AUTH-03, D3-AUTH-04]', async () => {
    env = { ...env, REGISTRY_API_KEY: 'not-the-key-0123456789' };
    const { code, stderr } = await install('style@1.0.0');
    expect(code).toBe(1);
    expect(stderr).toBe(
      `error[E-IO-003]: the registry ${env['SVC_REGISTRY_URL']} does not give style@1.0.0 (401): unauthorized. A valid bearer token is required.\n` +
        `hint: check that REGISTRY_API_KEY is the key for ${env['SVC_REGISTRY_URL']}\n`,
    );
    expect(existsSync(store())).toBe(false);
  });

  it('takes neither address nor key from the .env of a workspace', async () => {
    const other = await StandInServer.open((_, response) => response.writeHead(404).end());
    workspace.write('.env', `SVC_REGISTRY_URL=${other.url}\nREGISTRY_API_KEY=x\n`);
    env = {};
    expect((await install('style@1.0.0')).stderr).toContain('; no registry was asked');
    expect(other.asked).toEqual([]);
  });

  it('with -g installs for the user, without a manifest, and leaves svc.lock alone', async () => {
    rmSync(join(workspace.folder, 'svc.yaml'));
    expect(rows(await install('-g', 'style@1.0.0', '--json'))).toMatchObject([{ name: 'style' }]);
    expect(readdirSync(join(workspace.home, '.svc', 'artifacts'))).toEqual(['style']);
    expect(existsSync(store())).toBe(false);
    expect(readdirSync(workspace.folder)).not.toContain('svc.lock');
  });

  it('with -g alone installs for the user what the manifest needs, whatever svc.lock of the project says', async () => {
    const other = { name: 'style', version: '1.0.0', sha256: '0'.repeat(64) };
    const lock = JSON.stringify({ lock_version: 1, artifacts: [other] });
    workspace.write('svc.lock', lock);
    expect(await install('-g')).toMatchObject({ code: 0, stderr: '' });
    expect(readdirSync(join(workspace.home, '.svc', 'artifacts')).sort()).toEqual([
      'style',
      'svc-driver-script',
      'tone',
    ]);
    expect(existsSync(store())).toBe(false);
    expect(lockText()).toBe(lock);
  });

  it('by several processes at once leaves every archive and svc.lock whole', async () => {
    const ends = await Promise.all(Array.from({ length: 4 }, async () => await install()));
    expect(ends.map(({ code, stderr }) => `${code} ${stderr}`)).toEqual(['0 ', '0 ', '0 ', '0 ']);
    expect(leftovers(store())).toEqual([]);
    const lock = JSON.parse(lockText()) as { artifacts: { name: string; version: string; sha256: string }[] };
    for (const { name, version, sha256 } of lock.artifacts) {
      const bytes = readFileSync(join(store(), name, version, `${name}-${version}.zip`));
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
    }
    expect(lock.artifacts.map(({ name }) => name)).toEqual(['style', 'svc-driver-script', 'tone']);
  });

  it('fetches four at once at most, and all of them', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const archives = new Map<string, Buffer>();
    for (const name of names) archives.set(name, await archiveBytes(skillFiles(name, `Be ${name}.`)));
    const waiting: (() => void)[] = [];
    let most = 0;
    const server = await StandInServer.open((request, response) => {
      const [, name = ''] = /^\/v1\/artifacts\/(\w)\/1\.0\.0(?=\?platform)/.exec(request.url ?? '') ?? [];
      const bytes = archives.get(name);
      if (bytes === undefined) {
        response.writeHead(404).end();
        return;
      }
      waiting.push(() => {
        response.writeHead(200, { 'x-svc-sha256': createHash('sha256').update(bytes).digest('hex') }).end(bytes);
      });
      most = Math.max(most, waiting.length);
      // Answers once as many as may come have come, or the last.
      if (waiting.length >= 4 || server.lines.filter((line) => line.includes('platform=')).length === names.length) {
        for (const answer of waiting.splice(0)) answer();
      }
    });
    workspace = capsule({
      manifest: `artifacts:\n${names.map((name) => `  - { name: ${name}, version: 1.0.0, runtime: skill }\n`).join('')}`,
    });
    env = { SVC_REGISTRY_URL: server.url };
    expect(await install()).toMatchObject({ code: 0, stderr: '' });
    expect(most).toBe(4);
    expect(readdirSync(store()).sort()).toEqual([...names, 'svc-driver-script']);
  });

  it('interrupted in the middle of a download leaves nothing', async () => {
    const slow = await StandInServer.open((_, response) => {
      response.writeHead(200, { 'content-length': '1000000', 'x-svc-sha256': '0'.repeat(64) });
      response.write('x'.repeat(1000));
    });
    const running = new SvcProcess(workspace, ['install', 'style@1.0.0'], {
      env: { ...env, SVC_REGISTRY_URL: slow.url },
    });
    await waitFor(() => leftovers(store()).length > 0);
    running.child.kill('SIGINT');
    expect(await running.ended).toEqual({ code: 130, signal: null, stdout: '', stderr: 'interrupted\n' });
    expect(readdirSync(store())).toEqual([]);
  });

  function readManifest(): string {
    return readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');
  }
});

describe('svc.lock', () => {
  const shifted = async (): Promise<RegistryKit> => {
    const other = await RegistryKit.open();
    await publishSkill(other, 'style', 'Be somebody else.');
    await publishSkill(other, 'tone', 'Be tone.');
    return other;
  };

  it.each([['install'], ['run']])('refuses in svc %s other bytes of a source than it records', async (command) => {
    expect((await install()).code).toBe(0);
    const before = lockText();
    rmSync(store(), { recursive: true });
    env = { ...env, SVC_REGISTRY_URL: `http://127.0.0.1:${(await shifted()).port}` };
    const { code, stdout, stderr } = await svc(workspace, [command], { env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^error\[E-REG-005\]: http:\S+ serves style@1\.0\.0 with sha256 [0-9a-f]{64}, but svc\.lock records [0-9a-f]{64}\nhint: /,
    );
    expect(readdirSync(store())).toEqual(['tone']);
    expect(lockText()).toBe(before);
  });

  it('with --frozen has to be there and to record what is needed, and is not written', async () => {
    const missing = await install('--frozen');
    expect(missing.code).toBe(1);
    expect(missing.stderr).toMatch(/^error\[E-REG-005\]: there is no \S+svc\.lock, and --frozen does not write it\n/);
    expect(existsSync(store())).toBe(false);

    expect((await install()).code).toBe(0);
    const whole = lockText();
    rmSync(store(), { recursive: true });
    expect(await install('--frozen')).toMatchObject({ code: 0, stderr: '' });
    expect(readdirSync(store()).sort()).toEqual(['style', 'svc-driver-script', 'tone']);
    expect(lockText()).toBe(whole);

    rmSync(store(), { recursive: true });
    const { artifacts } = JSON.parse(whole) as { artifacts: { name: string }[] };
    const without = { lock_version: 1, artifacts: artifacts.filter(({ name }) => name !== 'tone') };
    writeFileSync(join(workspace.folder, 'svc.lock'), JSON.stringify(without));
    const { code, stderr } = await install('--frozen');
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        'error[E-REG-005]: svc.lock does not record tone@1.0.0\n' +
        'hint: run svc install without --frozen and commit svc.lock\n',
    });
    expect(readdirSync(store())).toEqual(['style']);
    expect(lockText()).toBe(JSON.stringify(without));
  });

  it('with --frozen refuses a local change that svc install accepts', async () => {
    expect((await install()).code).toBe(0);
    const lock = lockText();
    const changed = lock.replace(
      /("name": "style",\s+"version": "1.0.0",\s+"sha256": ")[0-9a-f]{64}/,
      `$1${'0'.repeat(64)}`,
    );
    expect(changed).not.toBe(lock);
    writeFileSync(join(workspace.folder, 'svc.lock'), changed);
    const frozen = await install('--frozen');
    expect(frozen.code).toBe(1);
    expect(frozen.stderr).toMatch(
      /^error\[E-REG-005\]: artifact style@1\.0\.0 has sha256 .*\nhint: run svc install without --frozen/,
    );
    expect(lockText()).toBe(changed);
    expect((await install()).code).toBe(0);
    expect(lockText()).toBe(lock);
  });

  it('goes with --frozen only as a whole', async () => {
    expect(await install('--frozen', 'style@1.0.0')).toMatchObject({ code: 2, stdout: '' });
    expect(await install('--frozen', '-g')).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('svc run with a registry in use', () => {
  it('fetches what is missing and records it', async () => {
    const { code, stdout, stderr } = await svc(workspace, ['run'], { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/\nstatus: {2}ok\n$/);
    expect(readdirSync(store()).sort()).toEqual(['style', 'tone']);
    expect(lockText()).toContain('"style"');
  });

  it.each([
    [['run', '--offline'], 1],
    [['run', '--explain-scope'], 0],
    [['run', '--explain-scope', '--capsule', 'ghost', '--capsule-version', '1.0.0'], 1],
    [['install', '--offline'], 1],
    [['list'], 0],
  ] as const)('asks nobody under svc %j [D1-CLI-10]', async (args, code) => {
    const watched = await StandInServer.open((_, response) => response.writeHead(500).end());
    const end = await svc(workspace, args, { env: { ...env, SVC_REGISTRY_URL: watched.url } });
    expect(end.code).toBe(code);
    expect(watched.asked).toEqual([]);
  });

  it('asks nobody when the host is below the floor, for a published capsule neither [D1-CLI-21, D1-ERR-05]', async () => {
    const watched = await StandInServer.open((_, response) => response.writeHead(500).end());
    const strict = { ...env, SVC_REGISTRY_URL: watched.url, SVC_CONTAINMENT_CEILING: 'advisory' };
    for (const args of [[], ['--capsule', 'demo', '--capsule-version', '7.0.0']]) {
      const end = await svc(workspace, ['run', '--containment', 'sealed', ...args], { env: strict });
      expect(end).toMatchObject({ code: 1, stdout: '' });
      expect(end.stderr).toMatch(/^error\[E-CAP-003\]: /);
    }
    expect(watched.asked).toEqual([]);
  });

  it('runs a capsule that was published to the registry', async () => {
    const author = capsule({ manifest: '', files: taskFile });
    const published = await svc(author, ['publish', '--json'], { env });
    expect(published).toMatchObject({ code: 0, stderr: '' });
    rmSync(join(workspace.folder, 'svc.yaml'));
    const end = await svc(workspace, ['run', '--capsule', 'demo', '--capsule-version', '1.2.3'], { env });
    expect(end).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/\nstatus: {2}ok\n$/) as string });
  });
});

/** Looks again whenever the event loop turns. */
async function waitFor(isSo: () => boolean): Promise<void> {
  for (let turn = 0; turn < 5_000_000; turn += 1) {
    if (isSo()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error('it did not become so');
}
