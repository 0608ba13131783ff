import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { type Answer, json, StandInServer } from '../../packages/artifacts/test/sources/stand-in-server.ts';
import { temporaryDirectory } from '../../packages/artifacts/test/store/artifacts.ts';
import { key } from '../../packages/registry/test/registry-kit.ts';
import { taskFile, useCapsules } from '../support/capsule-folders.ts';
import { skillArchive, SkillRegistry } from '../support/published-skills.ts';
import { svc, type SvcEnd } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();

const manifest = 'artifacts:\n  - { name: style, version: 1.0.0, runtime: skill }\n';

let data: string;
let registry: SkillRegistry;
let workspace: Workspace;
let env: Readonly<Record<string, string>>;
beforeEach(async () => {
  data = temporaryDirectory();
  registry = await SkillRegistry.open(data);
  workspace = capsule({ manifest, files: taskFile });
  await registry.publish('style', '1.0.0');
  env = registry.env;
});

async function run(...args: string[]): Promise<SvcEnd> {
  return await svc(workspace, args, { env });
}

/** What a network answers with before somebody has logged in. */
const page: Answer = (_, response) => {
  response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Welcome to our network</html>');
};

function forget(...names: string[]): void {
  for (const name of names) rmSync(join(workspace.folder, name), { recursive: true, force: true });
}

const hash = (): string => join(workspace.folder, '.svc', 'artifacts', 'style', '1.0.0', 'style-1.0.0.zip.sha256');

describe('a yanked version', () => {
  it('can be installed anew only where its exact version is allowed', async () => {
    await registry.state('style@1.0.0', 'yanked', 'loses data');
    for (const args of [['install'], ['install', 'style@1.0.0'], ['run']]) {
      const { code, stderr } = await run(...args);
      expect([code, stderr.split('\n')[0]], args.join(' ')).toEqual([
        1,
        `error[E-REG-008]: style@1.0.0 is yanked, says ${registry.url}: loses data`,
      ]);
    }
    expect(existsSync(join(workspace.folder, '.svc', 'artifacts'))).toBe(false);
    const allowed = await run('install', '--allow-yanked');
    expect([allowed.code, allowed.stderr]).toEqual([
      0,
      `warning[W-REG-005]: style@1.0.0 is yanked, says ${registry.url}: loses data\n` +
        'hint: svc update style moves to another version; --latest does so where its entry has no range\n',
    ]);
  });

  it('appears in svc info, which takes nothing', async () => {
    await registry.state('style@1.0.0', 'yanked', 'loses data');
    const { code, stdout, stderr } = await run('info', 'style@1.0.0', '--json');
    expect([code, stderr, JSON.parse(stdout)]).toEqual([
      0,
      '',
      expect.objectContaining({ state: 'yanked', reason: 'loses data', kind: 'skill', here: [] }),
    ]);
    expect(existsSync(join(workspace.folder, '.svc', 'artifacts'))).toBe(false);
  });

  it('comes with a warning where svc.lock records it, and never with other bytes', async () => {
    expect(await run('install')).toMatchObject({ code: 0, stderr: '' });
    await registry.state('style@1.0.0', 'yanked', 'loses data');
    const lock = readFileSync(join(workspace.folder, 'svc.lock'), 'utf8');
    for (const args of [['run'], ['install'], ['install', '--frozen']]) {
      forget('.svc', 'workdir');
      const { code, stderr } = await run(...args);
      expect([code, stderr.split('\n')[0]], args.join(' ')).toEqual([
        0,
        `warning[W-REG-005]: style@1.0.0 is yanked, says ${registry.url}: loses data`,
      ]);
    }
    // What is here already is asked about by an install alone.
    expect((await run('install')).stderr).toContain('W-REG-005');
    expect(await run('run')).toMatchObject({ code: 0, stderr: '' });
    forget('.svc');
    workspace.write(
      'svc.lock',
      lock.replace(/"name": "style"([^]*?)"sha256": "[0-9a-f]{64}"/, `"name": "style"$1"sha256": "${'0'.repeat(64)}"`),
    );
    const { code, stderr } = await run('run');
    expect([code, stderr.slice(0, 18)]).toEqual([1, 'error[E-REG-008]: ']);
  });

  it('can be added by its exact version alone, and only when that is allowed', async () => {
    await registry.publish('tone', '1.0.0');
    await registry.state('tone@1.0.0', 'yanked', 'x');
    expect((await run('add', 'tone')).stderr).toContain('error[E-REG-028]: ');
    expect((await run('add', 'tone@^1.0.0', '--allow-yanked')).stderr).toContain('error[E-REG-028]: ');
    const { code, stderr } = await run('add', 'tone@1.0.0');
    expect([code, stderr.slice(0, 18)]).toEqual([1, 'error[E-REG-008]: ']);
    expect((await run('add', 'tone@1.0.0', '--dry-run')).stderr.slice(0, 18)).toBe('error[E-REG-008]: ');
    const allowed = await run('add', 'tone@1.0.0', '--allow-yanked');
    expect([allowed.code, allowed.stderr]).toEqual([
      0,
      expect.stringContaining('warning[W-REG-005]: tone@1.0.0 is yanked') as string,
    ]);
  });
});

describe('a deprecated version', () => {
  it('installs as before, with the reason, which a start does not repeat', async () => {
    await registry.state('style@1.0.0', 'deprecated', 'use tone');
    const { code, stderr } = await run('install');
    expect([code, stderr]).toEqual([
      0,
      `warning[W-REG-004]: style@1.0.0 is deprecated, says ${registry.url}: use tone\n`,
    ]);
    expect((await run('install')).stderr).toBe(stderr);
    forget('.svc');
    expect(await run('run')).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('a blocked version', () => {
  it('goes to nobody, whatever svc.lock says', async () => {
    expect((await run('install')).code).toBe(0);
    await registry.state('style@1.0.0', 'blocked', 'sends files away');
    forget('.svc');
    for (const args of [['install'], ['install', '--allow-yanked'], ['run'], ['info', 'style@1.0.0']]) {
      const { code, stderr } = await run(...args);
      expect([code, stderr], args.join(' ')).toEqual([
        1,
        expect.stringMatching(/error\[E-REG-010\]: style@1\.0\.0 is blocked, says .*: sends files away\n/) as string,
      ]);
    }
  });

  it('cannot be used from this machine either, once an install has learned of it, until it is restored', async () => {
    expect((await run('install')).code).toBe(0);
    await registry.state('style@1.0.0', 'blocked', 'sends files away');
    expect(await run('run')).toMatchObject({ code: 0, stderr: '' });
    expect((await run('install')).stderr).toContain('error[E-REG-010]: style@1.0.0 is blocked');
    expect(readFileSync(hash(), 'utf8')).toBe('blocked "sends files away"\n');
    for (const args of [['run'], ['run', '--offline'], ['install', '--offline']]) {
      const { code, stderr } = await run(...args);
      expect([code, stderr], args.join(' ')).toEqual([
        1,
        expect.stringContaining(
          'error[E-REG-010]: style@1.0.0 is blocked, says the registry that an install asked: sends files away\n',
        ) as string,
      ]);
    }
    await registry.state('style@1.0.0', 'active');
    expect((await run('run')).code).toBe(1);
    expect(await run('install')).toMatchObject({ code: 0, stderr: '' });
    expect(await run('run', '--offline')).toMatchObject({ code: 0, stderr: '' });
  });

  it('cannot be used from this machine with any reason that a registry takes, nor with a mark that cannot be read', async () => {
    expect((await run('install')).code).toBe(0);
    await registry.state('style@1.0.0', 'blocked', 'bad\u2028thing');
    expect((await run('install')).stderr).toContain('error[E-REG-010]: style@1.0.0 is blocked');
    const offline = async (): Promise<unknown> => {
      const { code, stderr } = await run('install', '--offline');
      return [code, stderr.split('\n')[0]];
    };
    const blocked = 'error[E-REG-010]: style@1.0.0 is blocked, says the registry that an install asked';
    expect(await offline()).toEqual([1, `${blocked}: bad\\u{2028}thing`]);
    for (const mark of ['blocked "a"b"\n', 'blocked "a"', 'blocked {}\n', 'blocked \n']) {
      writeFileSync(hash(), mark);
      const reason = mark === 'blocked "a"' ? ': a' : '';
      expect(await offline(), mark).toEqual([1, expect.stringContaining(`${blocked}${reason}`) as string]);
    }
    await registry.state('style@1.0.0', 'active');
    expect(await run('install')).toMatchObject({ code: 0, stderr: '' });
  });

  it('with other bytes than those on this machine counts as another artifact', async () => {
    const own = await skillArchive('style', '1.0.0', 'My own.');
    writeFileSync(join(workspace.folder, 'own.zip'), own.bytes);
    expect((await run('install', './own.zip')).code).toBe(0);
    await registry.state('style@1.0.0', 'blocked', 'sends files away');
    expect(await run('install')).toMatchObject({ code: 0, stderr: '' });
  });
});

it('the states of what is here are asked for once a name, and a registry that does not answer stops nothing', async () => {
  expect((await run('install')).code).toBe(0);
  const silent = await StandInServer.open((_, response) => response.writeHead(503).end());
  env = { SVC_REGISTRY_URL: silent.url, REGISTRY_API_KEY: key };
  const { code, stderr } = await run('install');
  expect([code, stderr]).toEqual([
    0,
    `warning[W-REG-007]: whether versions were yanked or blocked is not known: the registry ${silent.url} does not list the versions of style (503)\n`,
  ]);
  expect(silent.lines).toEqual(['GET /v1/artifacts/style']);
  const without = await StandInServer.open(json(404, { error: 'not_found' }));
  env = { SVC_REGISTRY_URL: without.url, REGISTRY_API_KEY: key };
  expect(await run('install')).toMatchObject({ code: 0, stderr: '' });
  expect(await run('install', '--offline')).toMatchObject({ code: 0, stderr: '' });
  expect(without.lines).toEqual(['GET /v1/artifacts/style']);
});

describe('svc yank, deprecate, block and restore', () => {
  it('change the state, under the key of who did it', async () => {
    for (const [command, state] of [
      ['deprecate', 'deprecated'],
      ['yank', 'yanked'],
      ['block', 'blocked'],
    ] as const) {
      const end = await run(command, 'style@1.0.0', '--reason', `to ${command}`);
      expect([end.code, end.stdout, end.stderr]).toEqual([0, `style@1.0.0 ${state}\n`, '']);
    }
    expect((await run('restore', 'style@1.0.0', '--json')).stdout).toBe(
      `{"name":"style","version":"1.0.0","state":"active","reason":null,"registry":"${registry.url}"}\n`,
    );
    expect(JSON.parse(readFileSync(join(data, 'states', 'style@1.0.0@3'), 'utf8'))).toMatchObject({
      state: 'blocked',
      reason: 'to block',
      by: 'REGISTRY_API_KEY',
    });
  });

  it.each<[string, string, Answer, string]>([
    ['yank', 'yanked', page, 'its answer does not say in which state it is now'],
    ['block', 'blocked', page, 'its answer does not say in which state it is now'],
    ['deprecate', 'deprecated', json(200, {}), 'its answer does not say in which state it is now'],
    [
      'restore',
      'active',
      json(200, { name: 'style', version: '1.0.0', state: 'yanked', reason: null }),
      'its answer says that it is yanked',
    ],
  ])('svc %s believes no answer that does not say %s', async (command, state, answer, said) => {
    const portal = await StandInServer.open(answer);
    env = { ...env, SVC_REGISTRY_URL: portal.url };
    expect(await run(command, 'style@1.0.0', '--reason', 'loses data')).toMatchObject({
      code: 1,
      stdout: '',
      stderr:
        `error[E-IO-003]: the registry ${portal.url} does not confirm that style@1.0.0 is ${state}: ${said}\n` +
        'hint: make sure that a registry answers at this address, not a portal or a proxy on the way; svc info style shows the state of each version\n',
    });
  });

  it('refuse what cannot be changed', async () => {
    expect(await run('yank', 'style@1.0.0')).toMatchObject({ code: 2 });
    expect(await run('yank', 'style@1.0.0', '--reason', 'a\nb')).toMatchObject({ code: 2 });
    expect(await run('yank', 'style@1.0.0', '--reason', 'x'.repeat(501))).toMatchObject({ code: 2 });
    expect((await run('yank', 'style@1.0.1', '--reason', 'x')).stderr).toContain('error[E-REG-001]: ');
    expect((await run('yank', 'style', '--reason', 'x')).stderr).toContain('error[E-ART-008]: ');
    expect((await run('yank', 'style@1.0.0', '--reason', 'x', '--registry', 'local')).stderr).toContain(
      'error[E-REG-006]: ',
    );
    env = { ...env, REGISTRY_API_KEY: 'not-the-key-0123456789' };
    expect((await run('yank', 'style@1.0.0', '--reason', 'x')).stderr).toContain('error[E-IO-003]: ');
  });
});

describe('a registry that lies', () => {
  const text = 'Be style 1.0.0.';

  /** A registry of one version whose answers are changed by the test. */
  async function lying(change: {
    readonly list?: Record<string, unknown>;
    readonly archive?: Record<string, unknown>;
    readonly headers?: Record<string, string>;
    readonly bytes?: Buffer;
  }): Promise<StandInServer> {
    const { bytes, sha256 } = await skillArchive('style', '1.0.0', text);
    const archive = {
      platforms: [],
      sha256,
      size: bytes.length,
      published_at: null,
      published_by: null,
      ...change.archive,
    };
    const version = {
      version: '1.0.0',
      state: 'active',
      reason: null,
      runtime: 'static',
      artifact_runtime: 'skill',
      description: null,
    };
    const server = await StandInServer.open((request, response) => {
      const [path = ''] = (request.url ?? '').split('?');
      if (path === '/v1/artifacts/style') {
        json(200, { name: 'style', versions: [{ ...version, archives: [archive], ...change.list }] })(
          request,
          response,
        );
        return;
      }
      const sent = change.bytes ?? bytes;
      response.writeHead(200, { 'x-svc-sha256': sha256, 'content-length': sent.length, ...change.headers }).end(sent);
    });
    env = { SVC_REGISTRY_URL: server.url, REGISTRY_API_KEY: key };
    workspace = capsule({ files: taskFile });
    return server;
  }

  async function refusal(...args: string[]): Promise<string> {
    const before = readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');
    const { code, stderr } = await run(...args);
    expect(code).toBe(1);
    expect(readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8')).toBe(before);
    expect(existsSync(join(workspace.folder, '.svc', 'artifacts', 'style'))).toBe(false);
    return stderr;
  }

  it('gives the truth for once', async () => {
    await lying({});
    expect((await run('add', 'style')).code).toBe(0);
  });

  it('about the hash in its list', async () => {
    await lying({ archive: { sha256: '0'.repeat(64) } });
    expect(await refusal('add', 'style')).toMatch(
      /^error\[E-REG-002\]: .* serves 1\.0\.0 with sha256 [0-9a-f]{64}, which its own list/,
    );
  });

  it('about the size in its list', async () => {
    await lying({ archive: { size: 7 } });
    expect(await refusal('add', 'style')).toMatch(
      /^error\[E-REG-002\]: .* serves 1\.0\.0 with \d+ bytes, which its own list/,
    );
  });

  it('about the hash of a download', async () => {
    await lying({ headers: { 'x-svc-sha256': '0'.repeat(64) } });
    expect(await refusal('add', 'style')).toContain('error[E-REG-002]: ');
  });

  it('about the bytes', async () => {
    const { bytes } = await skillArchive('style', '1.0.0', 'Be style 6.6.6.');
    await lying({ bytes });
    expect(await refusal('add', 'style')).toMatch(/error\[E-REG-002\]: .* sent bytes with sha256/);
  });

  it('about the state: what is yanked or blocked by one answer is not taken by another', async () => {
    await lying({ headers: { 'x-svc-state': 'yanked' } });
    expect(await refusal('add', 'style')).toContain('error[E-REG-008]: style@1.0.0 is yanked');
    await lying({ headers: { 'x-svc-state': 'blocked' } });
    expect(await refusal('add', 'style')).toContain('error[E-REG-010]: style@1.0.0 is blocked');
    await lying({ list: { state: 'blocked', reason: 'x' } });
    expect(await refusal('add', 'style@1.0.0', '--allow-yanked')).toContain('error[E-REG-010]: style@1.0.0 is blocked');
  });

  it('in unknown words', async () => {
    await lying({ headers: { 'x-svc-state': 'retired' } });
    expect(await refusal('add', 'style')).toContain('error[E-IO-003]: ');
    await lying({ list: { state: 'retired' } });
    expect(await refusal('add', 'style')).toContain('cannot be understood: its version 0 is not what it should be\n');
    await lying({ list: { version: '../../escape' } });
    expect(await refusal('add', 'style')).toContain('error[E-REG-001]: ');
    await lying({ list: { artifact_runtime: 'tool' } });
    const { code } = await run('add', 'style');
    expect([code, readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8')]).toEqual([
      0,
      expect.stringContaining('runtime: skill') as string,
    ]);
  });

  it('in reasons that would act on a terminal', async () => {
    const hostile = 'ok\u202e\u2066 [31m <!-- \ud83d\ude48 error[E-XXX-000]: done';
    await lying({ list: { state: 'yanked', reason: hostile } });
    const table = await run('info', 'style');
    expect(table.stdout).toContain(String.raw`ok\u{202e}\u{2066} [31m`);
    for (const args of [
      ['info', 'style'],
      ['add', 'style'],
      ['add', 'style@1.0.0', '--dry-run'],
      ['info', 'style', '--json'],
    ]) {
      const { stdout, stderr } = await run(...args);
      expect(`${stdout}${stderr}`.replaceAll('\n', ''), args.join(' ')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
      expect(`${stdout}${stderr}`.split('\n').filter((line) => line.startsWith('error[E-XXX'))).toEqual([]);
    }
    const escaping = await lying({ list: { state: 'yanked', reason: 'a\u001b[2Jb' } });
    expect(await refusal('info', 'style')).toContain('cannot be understood');
    expect(escaping.lines).toEqual(['GET /v1/artifacts/style']);
  });
});

it('the registry refuses one of two publishers of one version at once, and everybody gets the bytes of the other', async () => {
  const other = new SkillRegistry((await SkillRegistry.start(data)).port);
  for (let round = 1; round <= 5; round += 1) {
    const version = `2.0.${round}`;
    const archives = await Promise.all(['one', 'two'].map(async (text) => await skillArchive('style', version, text)));
    const folders = archives.map((archive, index) => ({ archive, index }));
    const ends = await Promise.all(
      folders.map(async ({ archive, index }) => {
        const at = index === 0 ? registry : other;
        return (await at.ask(`POST /v1/artifacts?name=style&version=${version}&runtime=static`, archive.bytes)).status;
      }),
    );
    expect(ends.toSorted((one, two) => one - two)).toEqual([201, 409]);
    const winner = archives[ends.indexOf(201)]?.sha256;
    for (const at of [registry, other]) {
      const { headers } = await at.ask(`GET /v1/artifacts/style/${version}`);
      expect(headers['x-svc-sha256']).toBe(winner);
    }
  }
});
