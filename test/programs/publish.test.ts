import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';

import { beforeEach, describe, expect, it } from 'vitest';

import { writtenText } from '../support/written-text.ts';
import { publishCommand } from '@svc/svc/artifacts/publish.ts';
import { Output } from '@svc/terminal/screen/output.ts';
import { terminalOf } from '@svc/terminal/screen/terminal-kind.ts';
import { key, RegistryKit } from '../../packages/registry/test/registry-kit.ts';
import { StandInServer } from '../../packages/artifacts/test/sources/stand-in-server.ts';
import {
  archiveBytes,
  componentBytes,
  manifestText,
  toolBytes,
} from '../../packages/artifacts/test/store/artifacts.ts';
import { taskFile, useCapsules } from '../support/capsule-folders.ts';
import { svc, type SvcEnd, SvcProcess } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();

/** The beginning of an ELF program for aarch64 and x86_64, and of a Mach-O program for arm64. */
const elf = (machine: number): Buffer => {
  const bytes = Buffer.alloc(64);
  Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0]).copy(bytes);
  bytes.writeUInt16LE(machine, 18);
  return bytes;
};
const machO = Buffer.concat([Buffer.from('cffaedfe0c000001', 'hex'), Buffer.alloc(24)]);

let registry: RegistryKit;
let workspace: Workspace;
let env: Readonly<Record<string, string>>;
beforeEach(async () => {
  registry = await RegistryKit.open();
  workspace = capsule({ manifest: '', files: taskFile });
  env = { SVC_REGISTRY_URL: `http://127.0.0.1:${registry.port}`, REGISTRY_API_KEY: key };
  skill('style', '1.0.0', 'Be brief.');
});

function skill(name: string, version: string, text: string): void {
  const keys = { name, version, runtime: 'skill', description: 'How to write.', tags: '[prose]' };
  workspace.write(`${name}/svc.yaml`, manifestText(keys));
  workspace.write(`${name}/skill.md`, text);
}

async function publish(...args: string[]): Promise<SvcEnd> {
  return await svc(workspace, ['publish', ...args], { env });
}

/** An archive with a program, in the workspace. */
async function nativeArchive(name: string, program: Buffer | string): Promise<string> {
  const files = [
    {
      name: 'svc.yaml',
      data: Buffer.from(manifestText({ name, version: '1.0.0', runtime: 'tool', implementation: 'native' })),
    },
    { name: `bin/${name}`, data: Buffer.from(program) },
  ];
  const path = join(workspace.folder, `${name}.zip`);
  writeFileSync(path, await archiveBytes(files));
  return path;
}

const sha256Of = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

describe('svc publish', () => {
  it('packs a folder, publishes it and prints its identity, its hash and where it is [D3-REG-02, D3-REG-03, D3-REG-08]', async () => {
    const { code, stdout, stderr } = await publish('style');
    expect({ code, stderr }).toEqual({ code: 0, stderr: `published to ${env['SVC_REGISTRY_URL']}\n` });
    expect(stdout).toMatch(/^style@1\.0\.0 [0-9a-f]{64}\n$/);
    const { body } = await registry.ask('GET /v1/artifacts/style/1.0.0');
    expect(stdout).toBe(`style@1.0.0 ${sha256Of(Buffer.from(body, 'latin1'))}\n`);
    expect(await registry.index()).toMatchObject([
      { name: 'style', runtime: 'static', artifact_runtime: 'skill', description: 'How to write.', tags: ['prose'] },
    ]);
    expect(readdirSync(workspace.folder).filter((name) => name.endsWith('.zip'))).toEqual([]);
  });

  it('takes the current directory without an argument, a capsule too', async () => {
    expect(await publish('--json')).toMatchObject({ code: 0, stderr: '' });
    expect(await registry.index()).toMatchObject([{ name: 'demo', version: '1.2.3', runtime: 'static' }]);
  });

  it('publishes what is there now, whatever was built before', async () => {
    await svc(workspace, ['build', 'style'], { env });
    skill('style', '1.0.0', 'Be very brief.');
    expect((await publish('style')).code).toBe(0);
    const { body } = await registry.ask('GET /v1/artifacts/style/1.0.0');
    expect(body).toContain('Be very brief.');
  });

  it('sends query, media type, key and the bytes of an archive as they are [D3-REG-04, D3-REG-05, D3-REG-06, D3-REG-07, D3-AUTH-01]', async () => {
    const path = await nativeArchive('worker', elf(0x3e));
    const received: Buffer[] = [];
    const sha256 = sha256Of(readFileSync(path));
    const server = await StandInServer.open((request, response) => {
      request.on('data', (chunk: Buffer) => received.push(chunk));
      request.on('end', () => response.writeHead(201).end(JSON.stringify({ artifact_id: 'worker@1.0.0', sha256 })));
    });
    env = { ...env, SVC_REGISTRY_URL: `${server.url}/` };
    const end = await publish('worker.zip', '--json');
    expect({ code: end.code, stderr: end.stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(end.stdout)).toEqual({
      name: 'worker',
      version: '1.0.0',
      platforms: ['linux-x86_64'],
      sha256,
      registry: server.url,
      signed_by: null,
    });
    expect(server.lines).toEqual(['POST /v1/artifacts?name=worker&version=1.0.0&runtime=native&platform=linux-x86_64']);
    expect(server.asked[0]?.headers).toMatchObject({
      authorization: `Bearer ${key}`,
      'content-type': 'application/octet-stream',
      'content-length': String(readFileSync(path).length),
    });
    expect(Buffer.concat(received).equals(readFileSync(path))).toBe(true);
  });

  it.each([
    ['a program for aarch64', elf(0xb7), [['linux', 'aarch64']]],
    ['a program for a Mac', machO, [['darwin', 'aarch64']]],
    ['a script', '#!/bin/sh\ncat\n', []],
  ])('reads the platform of %s from its first bytes', async (_, program, platforms) => {
    await nativeArchive('worker', program);
    expect((await publish('worker.zip')).code).toBe(0);
    expect(await registry.index()).toMatchObject([{ name: 'worker', runtime: 'native', platforms }]);
  });

  it('needs a platform for a program that it does not know', async () => {
    await nativeArchive('worker', 'MZ and so on, to a length that holds a header');
    const refused = await publish('worker.zip');
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(
      /^error\[E-REG-007\]: cannot find out for which platform bin\/worker of worker@1\.0\.0 is\nhint: /,
    );
    const told = await publish('worker.zip', '--platform', 'win32-x86_64', '--platform', 'linux-x86_64');
    expect(told.code).toBe(0);
    expect(await registry.index()).toMatchObject([
      {
        platforms: [
          ['linux', 'x86_64'],
          ['win32', 'x86_64'],
        ],
      },
    ]);
    expect(await publish('worker.zip', '--platform', 'Windows')).toMatchObject({ code: 2, stdout: '' });
  });

  it('adds the variant for another platform to a version, and never another file for the same [D3-REG-10, D3-ERR-23, D3-VER-05]', async () => {
    await nativeArchive('worker', elf(0x3e));
    expect((await publish('worker.zip')).code).toBe(0);
    await nativeArchive('worker', elf(0xb7));
    expect((await publish('worker.zip')).code).toBe(0);
    const again = await publish('worker.zip');
    expect(again).toMatchObject({ code: 1, stdout: '' });
    expect(again.stderr).toBe(
      `error[E-REG-003]: worker@1.0.0 for linux-aarch64 is published already at the registry ${env['SVC_REGISTRY_URL']}\n` +
        'hint: what is published never changes: publish a new version\n',
    );
  });

  it('publishes a component as wasm, for every platform', async () => {
    workspace.write('echo/svc.yaml', manifestText({ name: 'echo', version: '1.0.0', runtime: 'tool' }));
    mkdirSync(join(workspace.folder, 'echo'), { recursive: true });
    writeFileSync(join(workspace.folder, 'echo', 'component.wasm'), toolBytes);
    expect((await publish('echo')).code).toBe(0);
    expect(await registry.index()).toMatchObject([{ runtime: 'wasm', artifact_runtime: 'tool', platforms: [] }]);
  });

  it('sends nothing that a store would refuse', async () => {
    writeFileSync(join(workspace.folder, 'broken.zip'), 'no archive');
    workspace.write('empty/svc.yaml', manifestText({ name: 'empty', version: '1.0.0', runtime: 'tool' }));
    for (const [what, code] of [
      ['broken.zip', 'E-ART-001'],
      ['empty', 'E-ART-004'],
      ['nowhere', 'E-IO-001'],
    ] as const) {
      const end = await publish(what);
      expect(end).toMatchObject({ code: 1, stdout: '' });
      expect(end.stderr).toContain(`error[${code}]: `);
    }
    expect(registry.answered).toEqual([]);
  });
});

describe('svc publish on a terminal', () => {
  it('shows how much of the archive has gone, on standard error alone', async () => {
    const files = [
      { name: 'svc.yaml', data: Buffer.from(manifestText({ name: 'large', version: '1.0.0', runtime: 'tool' })) },
      { name: 'component.wasm', data: Buffer.concat([componentBytes, Buffer.alloc(2 * 1024 * 1024)]) },
    ];
    writeFileSync(join(workspace.folder, 'large.zip'), await archiveBytes(files));
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const { folder: cwd, home } = workspace;
    const command = publishCommand({
      cwd,
      home,
      env,
      stdout: new Output(() => stdout),
      stderr: new Output(() => stderr, terminalOf({ TERM: 'xterm' })),
    }).exitOverride();
    await command.parseAsync(['large.zip'], { from: 'user' });
    expect(writtenText(stdout)).toMatch(/^large@1\.0\.0 [0-9a-f]{64}\n$/);
    const [first = '', ...shown] = writtenText(stderr)
      .replaceAll('\u001B[?7l', '')
      .replaceAll('\u001B[?7h', '')
      .split('\r\u001B[2K');
    expect(first).toBe(`publishing to ${env['SVC_REGISTRY_URL']}\npublishing large@1.0.0: 0.1 of 2.0 MiB`);
    expect(shown.at(-2)).toBe('publishing large@1.0.0: 2.0 of 2.0 MiB');
    expect(shown.at(-1)).toBe(`published to ${env['SVC_REGISTRY_URL']}\n`);
  });
});

describe('svc publish that is interrupted', () => {
  it('leaves nothing and says so', async () => {
    const temporary = join(workspace.home, 'temporary');
    mkdirSync(temporary);
    let asked = (): void => undefined;
    const isAsked = new Promise<void>((resolve) => (asked = resolve));
    const silent = await StandInServer.open(() => asked());
    const settings = { ...env, SVC_REGISTRY_URL: silent.url, TMPDIR: temporary };
    const running = new SvcProcess(workspace, ['publish', 'style'], { env: settings });
    await isAsked;
    expect(readdirSync(temporary)).toHaveLength(1);
    running.child.kill('SIGTERM');
    expect(await running.ended).toEqual({ code: 143, signal: null, stdout: '', stderr: 'interrupted\n' });
    expect(readdirSync(temporary)).toEqual([]);
  });
});

describe('a key', () => {
  it.each(['secret\nx-more: 1', 'clé'])(
    'fails without being shown when not every server reads it alike: %j',
    async (key) => {
      env = { ...env, REGISTRY_API_KEY: key };
      expect(await publish('style')).toEqual({
        code: 1,
        signal: null,
        stdout: '',
        stderr: 'error[E-REG-006]: REGISTRY_API_KEY holds a character outside printable ASCII, such as a line end\n',
      });
    },
  );
});

describe('svc publish without a registry', () => {
  it.each([
    [{}, []],
    [{ SVC_REGISTRY_URL: 'http://127.0.0.1:1' }, ['--registry', 'local']],
  ])('with %j %j puts it into the store of the user, from where it is installed', async (settings, flags) => {
    env = settings;
    const { code, stdout, stderr } = await publish('style', ...flags, '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ name: 'style', version: '1.0.0', registry: 'local', platforms: [] });
    expect(readdirSync(join(workspace.home, '.svc', 'artifacts', 'style', '1.0.0'))).toContain('style-1.0.0.zip');
    const installed = await svc(workspace, ['install', 'style@1.0.0', '--json']);
    expect(JSON.parse(installed.stdout)).toMatchObject({ name: 'style', origin: 'user' });
  });

  it('takes the same bytes again and no others, which svc install -g does', async () => {
    env = {};
    expect((await publish('style')).code).toBe(0);
    expect((await publish('style')).code).toBe(0);
    skill('style', '1.0.0', 'Be long.');
    const end = await publish('style');
    expect(end).toMatchObject({ code: 1, stdout: '' });
    expect(end.stderr).toMatch(/^error\[E-REG-003\]: style@1\.0\.0 is published already in \S+, with other bytes\n/);
    expect((await svc(workspace, ['install', '-g', './style'])).code).toBe(0);
    const stored = join(workspace.home, '.svc', 'artifacts', 'style', '1.0.0', 'style-1.0.0.zip');
    expect(readFileSync(stored, 'latin1')).toContain('Be long.');
  });
});

describe('the registry in use', () => {
  it.each([
    ['http://registry.example', 'must be https, or http to a loopback address', 'put TLS in front of it, '],
    ['http://127.0.0.1:7800/v1', 'must be without /v1', 'name a registry by its address, '],
    ['teem', 'must be an http or https address', 'name a registry by its address, '],
    ['https://user:secret@registry.example', 'must not hold a user or password', 'name a registry by its address, '],
  ])('%s is refused', async (registry_, reason, hint) => {
    const end = await publish('style', '--registry', registry_);
    expect(end).toMatchObject({ code: 1, stdout: '' });
    expect(end.stderr).toContain(`error[E-REG-006]: --registry ${reason}, not `);
    expect(end.stderr).toContain(`\nhint: ${hint}`);
    const byVariable = await svc(workspace, ['publish', 'style'], { env: { SVC_REGISTRY_URL: registry_ } });
    expect(byVariable.stderr).toContain(`error[E-REG-006]: SVC_REGISTRY_URL ${reason}, not `);
    expect(end.stderr + byVariable.stderr).not.toContain('secret');
  });

  it('comes from the flag, then the variable, then the default of the configuration, with the token of its source [D1-CONF-03, D1-CONF-04]', async () => {
    const other = await RegistryKit.open();
    const [flag, variable] = [`http://127.0.0.1:${other.port}`, `http://127.0.0.1:${registry.port}`];
    mkdirSync(join(workspace.home, '.svc'), { recursive: true });
    writeFileSync(
      join(workspace.home, '.svc', 'config.yaml'),
      `registry:\n  default: team\n  sources:\n    - { name: team, type: registry, url: "${variable}", token: "\${TEAM_KEY}" }\n`,
    );
    env = { SVC_REGISTRY_URL: variable, REGISTRY_API_KEY: key, TEAM_KEY: 'wrong-but-not-asked' };
    expect((await publish('style', '--registry', flag)).code).toBe(0);
    expect(other.answered).toEqual(['POST 201']);
    expect(registry.answered).toEqual([]);
    env = { REGISTRY_API_KEY: 'wrong-as-well', TEAM_KEY: key };
    expect((await publish('style')).code).toBe(0);
    expect(registry.answered).toEqual(['POST 201']);
    // By name and by address it is the same source, with the same token.
    for (const named of ['team', variable, `${variable}/`]) {
      expect((await publish('style', '--registry', named)).stderr).toMatch(/^error\[E-REG-003\]: /);
    }
    expect(registry.answered.slice(1)).toEqual(['POST 409', 'POST 409', 'POST 409']);
  });
});
