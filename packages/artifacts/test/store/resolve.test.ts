import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import type { ArtifactEntry } from '../../src/manifest/schema.ts';
import type { ArtifactSource, InstalledArtifact } from '../../src/store/installed-artifact.ts';
import type { StorePlaces } from '../../src/store/store-places.ts';
import { resolveArtifacts } from '../../src/store/resolve.ts';
import { stageNative } from '@svc/capsule/stage/stage-programs.ts';
import { bundledRoot, storeRoot } from '../../src/store/store-layout.ts';
import { putArchive } from '../../src/store/store-put.ts';
import { replacementContract } from '../../../../test/support/replacement-contract.ts';
import {
  archiveBytes,
  codesOf,
  emptyPlaces,
  manifestText,
  skillFiles,
  temporaryDirectory,
  toolFiles,
  writeFiles,
} from './artifacts.ts';

const echo: ArtifactEntry = { name: 'echo', version: '1.0.0', runtime: 'tool' };
const fromSource: ArtifactEntry = { ...echo, source: 'tools/echo' };

let places: StorePlaces;
let sourceDirectory: string;
beforeEach(() => {
  places = emptyPlaces();
  mkdirSync(places.manifestDir, { recursive: true });
  sourceDirectory = join(places.manifestDir, 'tools', 'echo');
});

async function resolve(
  entries: readonly ArtifactEntry[],
  more: Partial<StorePlaces> = {},
): Promise<readonly InstalledArtifact[]> {
  return await resolveArtifacts({ ...places, ...more, entries, lock: 'ignore' });
}

async function resolveOne(entry: ArtifactEntry): Promise<InstalledArtifact> {
  const [artifact] = await resolve([entry]);
  if (artifact === undefined) throw new Error('nothing was resolved');
  return artifact;
}

async function putTool(root: string, component: string, platform: string | null = null): Promise<void> {
  const chunks = [await archiveBytes(toolFiles('echo', '1.0.0', component))];
  await putArchive({ root, chunks, platform, from: 'a test' });
}

async function componentOf(artifact: InstalledArtifact): Promise<string> {
  return (await artifact.read('component.wasm')).subarray(8).toString();
}

async function writeSource(component: string): Promise<void> {
  const files = toolFiles('echo', '1.0.0', component).map(({ name, data }) => [name, data] as const);
  await writeFiles(sourceDirectory, Object.fromEntries(files));
}

/** The way the package ships its artifacts. */
async function bundle(component: string): Promise<string> {
  await putTool(bundledRoot(places.packageRoot), component);
  const directory = join(bundledRoot(places.packageRoot), 'echo', '1.0.0');
  await writeFiles(directory, {
    'svc.yaml': manifestText({ name: 'echo', version: '1.0.0', runtime: 'tool' }),
    'compiled/component.js': '',
  });
  return directory;
}

describe('an artifact is taken from', () => {
  it('its source, then the package, then the project, then the user', async () => {
    await putTool(storeRoot(places.userHome), 'user');
    expect(await resolveOne(echo)).toMatchObject({ origin: 'user', platform: null, compiledDir: null });
    await putTool(storeRoot(places.manifestDir), 'project');
    expect(await resolveOne(echo)).toMatchObject({ origin: 'project' });
    const directory = await bundle('bundled');
    expect(await resolveOne(echo)).toMatchObject({ origin: 'bundled', compiledDir: join(directory, 'compiled') });
    await writeSource('source');
    expect(await resolveOne(fromSource)).toMatchObject({ origin: 'source', location: sourceDirectory });

    expect(await componentOf(await resolveOne(fromSource))).toBe('source');
    expect(await componentOf(await resolveOne(echo))).toBe('bundled');
    rmSync(directory, { recursive: true });
    expect(await componentOf(await resolveOne(echo))).toBe('project');
    rmSync(storeRoot(places.manifestDir), { recursive: true });
    expect(await componentOf(await resolveOne(echo))).toBe('user');
  });

  it('the package without opening the archive', async () => {
    const directory = await bundle('bundled');
    const archive = join(directory, 'echo-1.0.0.zip');
    const whole = readFileSync(archive);
    writeFileSync(archive, 'damaged');
    const artifact = await resolveOne(echo);
    expect(artifact.manifest.name).toBe('echo');
    expect(await codesOf(artifact.read('component.wasm'))).toEqual(['E-ART-006']);
    writeFileSync(archive, whole);
    expect(await componentOf(artifact)).toBe('bundled');
  });

  it('the package by the manifest that its build has read, while there is one', async () => {
    const directory = await bundle('bundled');
    const { manifest } = await resolveOne(echo);
    writeFileSync(join(directory, 'manifest.json'), JSON.stringify(manifest));
    writeFileSync(join(directory, 'svc.yaml'), '[');
    expect((await resolveOne(echo)).manifest).toEqual(manifest);
    rmSync(join(directory, 'manifest.json'));
    expect(await codesOf(resolve([echo]))).toEqual(['E-MAN-002']);
    rmSync(join(directory, 'svc.yaml'));
    expect(await codesOf(resolve([echo]))).toEqual(['E-ART-004']);
  });

  it('the variant of this platform before the generic file', async () => {
    const root = storeRoot(places.userHome);
    await putTool(root, 'generic');
    await putTool(root, 'variant', 'linux-x86_64');
    await putTool(root, 'other', 'darwin-aarch64');
    const artifact = await resolveOne(echo);
    expect(artifact.platform).toBe('linux-x86_64');
    expect(await componentOf(artifact)).toBe('variant');
  });

  it('a configured source when nobody here has it; it is in the store of the project then', async () => {
    const bytes = await archiveBytes(toolFiles('echo', '1.0.0', 'remote'));
    const right = createHash('sha256').update(bytes).digest('hex');
    const source = (hash: string): ArtifactSource => ({
      name: 'team',
      fetch: async (ref) => {
        const chunks = (async function* () {
          yield await Promise.resolve(bytes);
        })();
        const discard = (): void => undefined;
        return await Promise.resolve(
          ref.name === 'echo' ? { platform: null, sha256: hash, size: null, bytes: chunks, discard } : null,
        );
      },
    });
    expect(await codesOf(resolve([echo], { sources: () => [source('0'.repeat(64))] }))).toEqual(['E-REG-002']);
    expect(readdirSync(storeRoot(places.manifestDir))).toEqual([]);

    const [artifact] = await resolve([echo], { sources: () => [source(right)] });
    expect(artifact).toMatchObject({ origin: 'project', sha256: right });
    expect(await resolveOne(echo)).toMatchObject({ origin: 'project' });
    expect(await codesOf(resolve([{ ...echo, name: 'other' }], { sources: () => [source(right)] }))).toEqual([
      'E-REG-001',
    ]);
  });
});

describe('an artifact that is found nowhere', () => {
  it('comes with every place that was looked at', async () => {
    const refusal = await resolve([echo]).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(Diagnostic);
    expect(refusal).toMatchObject({
      code: 'E-REG-001',
      message:
        `echo@1.0.0 for linux-x86_64 is not in the bundled artifacts (${bundledRoot(places.packageRoot)}), ` +
        `the project store (${storeRoot(places.manifestDir)}), the user store (${storeRoot(places.userHome)}); ` +
        'no registry was asked',
    });
  });

  it('comes with the versions that are there', async () => {
    await putTool(storeRoot(places.userHome), 'a');
    const refusal = await resolve([{ ...echo, version: '9.0.0' }]).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ hint: 'there is echo in version 1.0.0 (user store)' });
  });

  it('comes together with everything else that is wrong', async () => {
    await putTool(storeRoot(places.userHome), 'a');
    const entries: ArtifactEntry[] = [
      { ...echo, name: 'missing' },
      { ...echo, runtime: 'hook' },
      { ...echo, name: 'away', source: 'no/such/directory' },
      echo,
    ];
    expect(await codesOf(resolve(entries))).toEqual(['E-REG-001', 'E-ART-005', 'E-IO-001']);
  });
});

describe('a source: directory', () => {
  it('serves in place, and what was read once stays', async () => {
    await writeSource('first');
    const artifact = await resolveOne(fromSource);
    await writeSource('second');
    expect(await componentOf(artifact)).toBe('first');
    expect(await componentOf(await resolveOne(fromSource))).toBe('second');
    expect(readdirSync(places.manifestDir)).toEqual(['tools']);
  });

  it('has the hash of the archive that it makes, whatever else lies in it', async () => {
    await writeSource('x');
    const { sha256 } = await resolveOne(fromSource);
    await writeFiles(sourceDirectory, { 'node_modules/x/index.js': 'x', '.env': 'SECRET=1' });
    expect((await resolveOne(fromSource)).sha256).toBe(sha256);
    writeFileSync(join(places.manifestDir, 'echo.zip'), await archiveBytes(toolFiles('echo', '1.0.0', 'x')));
    expect(await resolveOne({ ...echo, source: './echo.zip' })).toMatchObject({ origin: 'source', sha256 });
  });

  it('may not lead out of itself by a link', async () => {
    await writeFiles(sourceDirectory, {
      'svc.yaml': manifestText({ name: 'style', version: '1.0.0', runtime: 'skill' }),
    });
    const secret = join(temporaryDirectory(), 'secret');
    writeFileSync(secret, 'a secret');
    symlinkSync(secret, join(sourceDirectory, 'skill.md'));
    const entry: ArtifactEntry = { name: 'style', version: '1.0.0', runtime: 'skill', source: 'tools/echo' };
    expect(await codesOf(resolve([entry]))).toEqual(['E-ART-002']);
    rmSync(join(sourceDirectory, 'skill.md'));
    writeFileSync(join(sourceDirectory, 'text.md'), 'Be brief.');
    symlinkSync('text.md', join(sourceDirectory, 'skill.md'));
    expect((await resolve([entry]))[0]?.skillText).toBe('Be brief.');
  });

  it('says what to change where the text of a skill is not there, or has another version', async () => {
    const entry: ArtifactEntry = { name: 'style', version: '1.0.0', runtime: 'skill', source: 'tools/echo' };
    const said = async (): Promise<string> => {
      const fault: unknown = await resolve([entry]).catch((error: unknown) => error);
      if (!(fault instanceof Diagnostic || fault instanceof DiagnosticList)) throw fault;
      const [first] = fault instanceof Diagnostic ? [fault] : fault.diagnostics;
      return `${first?.message} | ${first?.hint}`;
    };
    await writeFiles(sourceDirectory, { 'Skill.md': '---\ndescription: x\n---\n' });
    expect(await said()).toMatch(/tools\/echo has neither svc\.yaml nor SKILL\.md at its root \| .*, in capitals$/);
    rmSync(join(sourceDirectory, 'Skill.md'));
    await writeFiles(sourceDirectory, { 'SKILL.md': '---\ndescription: x\nversion: 1.1.0\n---\n' });
    expect(await said()).toMatch(/is style@1\.1\.0, not style@1\.0\.0 \| set version: 1\.1\.0 on the entry of style,/);
  });

  it.each([
    ['has no svc.yaml', {}, 'E-ART-004'],
    [
      'has no component',
      { 'svc.yaml': manifestText({ name: 'echo', version: '1.0.0', runtime: 'tool' }) },
      'E-ART-004',
    ],
    ['is a capsule', { 'svc.yaml': 'name: echo\nversion: 1.0.0\ninference:\n  model: m\n' }, 'E-ART-005'],
    [
      'is of another name',
      { 'svc.yaml': manifestText({ name: 'other', version: '1.0.0', runtime: 'skill' }), 'skill.md': 'x' },
      'E-ART-005',
    ],
    [
      'has a reserved version',
      { 'svc.yaml': manifestText({ name: 'echo', version: 'latest', runtime: 'tool' }) },
      'E-MAN-003',
    ],
  ])('fails when it %s', async (_, files, code) => {
    mkdirSync(sourceDirectory, { recursive: true });
    await writeFiles(sourceDirectory, files);
    expect((await codesOf(resolve([fromSource])))[0]).toBe(code);
  });
});

describe('what an artifact holds', () => {
  it('includes the text of a skill', async () => {
    const chunks = [await archiveBytes(skillFiles('style', 'Be brief.\n'))];
    await putArchive({ root: storeRoot(places.userHome), chunks, platform: null, from: 'a test' });
    expect((await resolve([{ name: 'style', version: '1.0.0', runtime: 'skill' }]))[0]?.skillText).toBe('Be brief.\n');
  });

  it('includes the program of a native tool, staged for all to execute', async () => {
    const manifest = manifestText({ name: 'echo', version: '1.0.0', runtime: 'tool', implementation: 'native' });
    await writeFiles(sourceDirectory, { 'svc.yaml': manifest, 'bin/echo': '#!/bin/sh\necho hello\n' });
    const staging = join(places.manifestDir, '.svc', 'staging');
    const path = await stageNative(await resolveOne(fromSource), staging);
    expect(path).toBe(join(staging, 'echo'));
    expect(statSync(path).mode & 0o777).toBe(0o755);
    expect(readFileSync(path, 'utf8')).toBe('#!/bin/sh\necho hello\n');
    await stageNative(await resolveOne(fromSource), staging);
    expect(readdirSync(staging)).toEqual(['echo']);
  });

  replacementContract('of a native tool, once staged,', {
    path: 'echo',
    mode: 0o755,
    write: async (directory, variant) => {
      const manifest = manifestText({ name: 'echo', version: '1.0.0', runtime: 'tool', implementation: 'native' });
      await writeFiles(sourceDirectory, { 'svc.yaml': manifest, 'bin/echo': variant });
      await stageNative(await resolveOne(fromSource), directory);
    },
  });

  it('fails once its archive has other bytes than when it was resolved', async () => {
    const root = storeRoot(places.userHome);
    await putTool(root, 'first');
    const artifact = await resolveOne(echo);
    expect(await componentOf(artifact)).toBe('first');
    await putTool(root, 'second');
    expect(await codesOf(artifact.read('component.wasm'))).toEqual(['E-ART-006']);
  });
});

describe('svc.lock', () => {
  const hold = async (entries: readonly ArtifactEntry[], taken?: string[]): Promise<unknown> =>
    await resolveArtifacts({
      ...places,
      entries,
      lock: 'hold',
      ...(taken === undefined ? {} : { onTaken: ({ name }) => taken.push(name) }),
    });
  const frozen = async (entries: readonly ArtifactEntry[]): Promise<unknown> =>
    await resolveArtifacts({ ...places, entries, lock: 'frozen' });
  const lockPath = (): string => join(places.manifestDir, 'svc.lock');
  const archive: ArtifactEntry = { ...echo, source: 'echo.zip' };
  const style: ArtifactEntry = { name: 'style', version: '1.0.0', runtime: 'skill', source: 'style.zip' };
  const pack = async (name: string, files: Parameters<typeof archiveBytes>[0]): Promise<void> =>
    writeFileSync(join(places.manifestDir, name), await archiveBytes(files));

  it('comes from the first run, and binds the next ones', async () => {
    await pack('echo.zip', toolFiles('echo', '1.0.0', 'first'));
    await hold([archive]);
    const lock = readFileSync(lockPath(), 'utf8');
    await hold([archive]);
    await pack('echo.zip', toolFiles('echo', '1.0.0', 'second'));
    expect(await codesOf(hold([archive]))).toEqual(['E-RUN-003']);
    expect(readFileSync(lockPath(), 'utf8')).toBe(lock);
  });

  it('does not hold a folder to its bytes, which its author changes, whatever an older lock says', async () => {
    await writeSource('first');
    await hold([fromSource]);
    expect(readdirSync(places.manifestDir)).toEqual(['tools']);
    await frozen([fromSource]);
    const old = { name: 'echo', version: '1.0.0', sha256: '0'.repeat(64) };
    writeFileSync(lockPath(), JSON.stringify({ lock_version: 1, artifacts: [old] }));
    await hold([fromSource]);
    await frozen([fromSource]);
  });

  it('does not appear for a capsule without artifacts, nor where artifacts are missing', async () => {
    await hold([]);
    expect(await codesOf(hold([echo]))).toEqual(['E-REG-001']);
    expect(readdirSync(places.manifestDir)).toEqual([]);
  });

  it('may name an artifact no more wanted, and lacks a new one only where somebody hears that it is added', async () => {
    await pack('echo.zip', toolFiles('echo', '1.0.0', 'first'));
    await pack('style.zip', skillFiles('style', 'x'));
    await hold([archive, style]);
    await hold([archive]);
    rmSync(lockPath());
    expect(await codesOf(frozen([archive]))).toEqual(['E-REG-005']);
    await hold([archive]);
    expect(await codesOf(hold([archive, style]))).toEqual(['E-RUN-003']);
    expect(await codesOf(frozen([archive, style]))).toEqual(['E-REG-005']);
    const taken: string[] = [];
    await hold([archive, style], taken);
    await hold([archive, style], taken);
    expect(taken).toEqual(['style']);
    await frozen([archive, style]);
  });

  it('takes no other version and no other bytes of what it names', async () => {
    await pack('echo.zip', toolFiles('echo', '1.0.0', 'first'));
    await hold([archive]);
    const lock = readFileSync(lockPath(), 'utf8');
    const taken: string[] = [];
    await pack('echo.zip', toolFiles('echo', '1.0.0', 'second'));
    expect(await codesOf(hold([archive], taken))).toEqual(['E-RUN-003']);
    await pack('echo.zip', toolFiles('echo', '1.1.0', 'first'));
    expect(await codesOf(hold([{ ...archive, version: '1.1.0' }], taken))).toEqual(['E-RUN-003']);
    expect({ taken, lock: readFileSync(lockPath(), 'utf8') }).toEqual({ taken: [], lock });
  });
});

it('a misspelt name is refused with the one that was meant', async () => {
  await bundle('x');
  const fault = { code: 'E-REG-001', hint: 'did you mean echo?' };
  await expect(resolve([{ ...echo, name: 'ecko' }])).rejects.toMatchObject(fault);
});

it('the places are below the directories that contracts name', () => {
  expect(storeRoot('/home/x')).toBe('/home/x/.svc/artifacts');
  expect(dirname(bundledRoot('/package'))).toBe('/package/dist');
});
