import { beforeEach, describe, expect, it } from 'vitest';

import { key, RegistryKit } from '../../packages/registry/test/registry-kit.ts';
import { json, StandInServer } from '../../packages/artifacts/test/sources/stand-in-server.ts';
import { archiveBytes, manifestText } from '../../packages/artifacts/test/store/artifacts.ts';
import { useCapsules } from '../support/capsule-folders.ts';
import { svc, type SvcEnd } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();

let registry: RegistryKit;
let workspace: Workspace;
let env: Readonly<Record<string, string>>;
beforeEach(async () => {
  registry = await RegistryKit.open();
  workspace = capsule();
  env = { SVC_REGISTRY_URL: `http://127.0.0.1:${registry.port}`, REGISTRY_API_KEY: key };
});

async function add(name: string, description: string, tags: string): Promise<void> {
  const keys = { name, version: '1.0.0', runtime: 'skill', description, tags };
  const files = [
    { name: 'svc.yaml', data: Buffer.from(manifestText(keys)) },
    { name: 'skill.md', data: Buffer.from('Be brief.') },
  ];
  const { status } = await registry.publish(`name=${name}&version=1.0.0&runtime=static`, await archiveBytes(files));
  expect(status).toBe(201);
}

async function search(...words: string[]): Promise<SvcEnd> {
  return await svc(workspace, ['search', ...words], { env });
}

function names({ stdout }: SvcEnd): string[] {
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { name: string }).name);
}

describe('svc search', () => {
  beforeEach(async () => {
    await add('style', 'How to write Prose.', '[text, english]');
    await add('tone', 'How to sound.', '[text]');
    await add('maps', 'Where things are.', '[]');
  });

  it('finds what has all the words in its name, description or tags, in any case', async () => {
    expect(names(await search('--json', 'HOW'))).toEqual(['style', 'tone']);
    expect(names(await search('--json', 'text', 'prose'))).toEqual(['style']);
    expect(names(await search('--json', 'map'))).toEqual(['maps']);
    expect(names(await search('--json'))).toEqual(['maps', 'style', 'tone']);
    expect(await search('text', 'nowhere')).toEqual({
      code: 0,
      signal: null,
      stdout: '',
      stderr: 'nothing is found\n',
    });
  });

  it('shows a table, or what the index says as JSON', async () => {
    expect((await search('style')).stdout).toBe(
      'NAME   VERSION  KIND   PLATFORM  TAGS          DESCRIPTION\n' +
        'style  1.0.0    skill  -         text english  How to write Prose.\n',
    );
    expect(JSON.parse((await search('style', '--json')).stdout)).toEqual({
      name: 'style',
      version: '1.0.0',
      kind: 'skill',
      platforms: [],
      description: 'How to write Prose.',
      tags: ['text', 'english'],
      state: 'active',
      registry: env['SVC_REGISTRY_URL'],
    });
  });

  it('says of a version that it was taken back', async () => {
    const body = Buffer.from('{"state":"yanked","reason":"old"}');
    expect((await registry.ask('PUT /v1/artifacts/style/1.0.0/state', { body })).status).toBe(200);
    expect((await search('style')).stdout).toMatch(/\nstyle {2}1\.0\.0 \(yanked\) {2}skill /);
    expect(JSON.parse((await search('style', '--json')).stdout)).toMatchObject({ state: 'yanked' });
  });
});

describe('svc search of an index', () => {
  it('ends with E-IO-003 when it cannot be understood [D3-REG-23, D3-ERR-24]', async () => {
    const server = await StandInServer.open(json(200, [{ name: 'echo', version: '1.0.0', runtime: 'wasm' }]));
    env = { ...env, SVC_REGISTRY_URL: server.url };
    expect(await search('echo')).toEqual({
      code: 1,
      signal: null,
      stdout: '',
      stderr: `error[E-IO-003]: the index of the registry ${server.url} cannot be understood: 0.artifact_runtime is missing, or not what it should be\n`,
    });
  });

  it('writes nothing to the terminal but text in one line', async () => {
    const object = { name: 'echo', version: '1.0.0', runtime: 'wasm', artifact_runtime: 'tool' };
    const description = `\u001B]0;title\u0007Says\nit ${'x'.repeat(100)}`;
    const server = await StandInServer.open(json(200, [{ ...object, description, tags: ['a\tb'] }]));
    env = { ...env, SVC_REGISTRY_URL: server.url };
    expect((await search('echo')).stdout).toBe(
      'NAME  VERSION  KIND  PLATFORM  TAGS  DESCRIPTION\n' +
        `echo  1.0.0    tool  -         a b   Says it ${'x'.repeat(100)}\n`,
    );
  });
});

describe('svc search of a registry that names what nothing can be named', () => {
  it('leaves that out, and says so', async () => {
    const object = { runtime: 'wasm', artifact_runtime: 'tool', version: '1.0.0' };
    const names = ['echo', 'echo\u001B[2J', 'status: ok', 'error[E-IO-003]: the key has expired', 'a'.repeat(5_000)];
    const odd = { ...object, name: 'tone', version: 'status: ok' };
    const server = await StandInServer.open(json(200, [...names.map((name) => Object.assign({ name }, object)), odd]));
    env = { ...env, SVC_REGISTRY_URL: server.url };
    const { stdout, stderr } = await search();
    expect({ stdout, stderr }).toEqual({
      stdout: 'NAME  VERSION  KIND  PLATFORM  TAGS  DESCRIPTION\necho  1.0.0    tool  -         -\n',
      stderr: 'left out: 5 with a name or a version that no artifact can have\n',
    });
  });
});

describe('svc search without a registry', () => {
  it('says so and searches what is on this machine', async () => {
    env = {};
    workspace.write(
      'style/svc.yaml',
      manifestText({ name: 'style', version: '3.0.0', runtime: 'skill', description: 'Edit me.' }),
    );
    workspace.write('style/skill.md', 'Be brief.');
    expect((await svc(workspace, ['install', '-g', './style'])).code).toBe(0);
    const { code, stdout, stderr } = await search('edit', '--json');
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'no registry is in use: this searches what is bundled and the stores of project and user\n',
    });
    const found = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
    expect(found).toMatchObject([
      { name: 'svc-tool-editor', kind: 'tool', registry: 'local' },
      { name: 'style', version: '3.0.0', kind: 'skill', description: 'Edit me.', registry: 'local' },
    ]);
  });
});
