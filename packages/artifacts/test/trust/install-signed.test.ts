import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import { installEntries, installPath, installRef, type InstallRequest } from '../../src/store/install.ts';
import type { ArtifactSource } from '../../src/store/installed-artifact.ts';
import { findStored, storeRoot, variantPaths } from '../../src/store/store-layout.ts';
import type { StorePlaces } from '../../src/store/store-places.ts';
import { readLock } from '../../src/store/lockfile.ts';
import { putArchive } from '../../src/store/store-put.ts';
import { resolveArtifacts } from '../../src/store/resolve.ts';
import { signaturesBeside } from '../../src/store/trust/signature-bundle.ts';
import { archiveBytes, codesOf, temporaryDirectory, toolFiles } from '../store/artifacts.ts';
import { bundleForNode } from '../store/bundle.ts';
import { acme, signedBy, stranger, trustingPlaces } from './trust-kit.ts';

const echo = { name: 'echo', version: '1.0.0' };
const entries = [{ ...echo, runtime: 'tool', config: {} }] as unknown as InstallRequest['entries'];
const byAcme = '{ names: ["*"], signed_by: { key: acme } }';
const keys = { acme, stranger };

/** A source with one archive, whose signatures can be changed. */
class OneArchive implements ArtifactSource {
  readonly name = 'one';
  bundles: readonly string[] = [];
  readonly asked: string[] = [];
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  fetch(): ReturnType<ArtifactSource['fetch']> {
    this.asked.push('archive');
    const sha256 = sha256Hex(this.#bytes);
    const bytes = (async function* (content: Buffer): AsyncGenerator<Buffer> {
      yield await Promise.resolve(content);
    })(this.#bytes);
    return Promise.resolve({ platform: null, sha256, size: this.#bytes.length, bytes, discard: () => {} });
  }

  signatures({ sha256 }: { readonly sha256: string }): Promise<readonly string[]> {
    this.asked.push(`signatures of ${sha256 === sha256Hex(this.#bytes) ? 'it' : 'another'}`);
    return Promise.resolve(this.bundles);
  }
}

interface Project {
  readonly request: InstallRequest;
  readonly source: OneArchive;
  readonly warnings: Diagnostic[];
}

async function project(rules: readonly string[], content = ''): Promise<Project> {
  const source = new OneArchive(await archiveBytes(toolFiles('echo', '1.0.0', content)));
  const places: StorePlaces = { ...trustingPlaces(rules, { keys }), sources: () => [source] };
  const warnings: Diagnostic[] = [];
  const request = {
    ...places,
    entries,
    fetching: { renewsSignatures: true },
    prepare: () => Promise.resolve(),
    onSkills: () => Promise.resolve(),
    onStored: () => {},
    onWarning: (warning: Diagnostic) => void warnings.push(warning),
  };
  return { request, source, warnings };
}

const bytesOf = async (content = ''): Promise<Buffer> => await archiveBytes(toolFiles('echo', '1.0.0', content));
const stored = ({ manifestDir }: StorePlaces): string => variantPaths(storeRoot(manifestDir), echo, null).archive;

describe('an install', () => {
  it('stores the signature beside the archive, and records who signed', async () => {
    const { request, source } = await project([byAcme]);
    const bundle = await signedBy(acme, await bytesOf());
    source.bundles = [await signedBy(stranger, await bytesOf()), bundle];
    await installEntries(request);
    expect(source.asked).toEqual(['archive', 'signatures of it']);
    expect(signaturesBeside(stored(request))).toContain(bundle);
    expect(readLock(request.manifestDir)).toMatchObject([{ signedBy: { kind: 'key', fingerprint: acme.fingerprint } }]);
  });

  it('stores nothing of what its rule refuses', async () => {
    const { request, source } = await project([byAcme]);
    expect(await codesOf(installEntries(request))).toEqual(['E-REG-011']);
    source.bundles = [await signedBy(stranger, await bytesOf())];
    expect(await codesOf(installEntries(request))).toEqual(['E-REG-009']);
    source.bundles = [await signedBy(acme, Buffer.from('other'))];
    expect(await codesOf(installRef(echo, request))).toEqual(['E-REG-012']);
    expect(existsSync(stored(request))).toBe(false);
    expect(readLock(request.manifestDir)).toBeNull();
  });

  it('asks for no signature where no rule is for the name', async () => {
    const { request, source } = await project(['{ names: ["other"], signed_by: { key: acme } }']);
    source.bundles = ['never read'];
    await installEntries(request);
    expect(source.asked).toEqual(['archive']);
    expect(existsSync(`${stored(request)}.sigstore.jsonl`)).toBe(false);
    expect(readFileSync(join(request.manifestDir, 'svc.lock'), 'utf8')).toContain('"lock_version": 1');
  });

  it('asks again for the signature of what is stored without one, and keeps what it gets', async () => {
    const { request, source } = await project([]);
    await installEntries(request);
    writeFileSync(
      join(request.userHome, '.svc', 'config.yaml'),
      `trust: { root: ./root.json, keys: { acme: ./acme.pub }, rules: [${byAcme}] }\n`,
    );
    expect(await codesOf(installEntries(request))).toEqual(['E-REG-011']);
    source.asked.length = 0;
    const bundle = await signedBy(acme, await bytesOf());
    source.bundles = [bundle];
    await installEntries(request);
    expect(source.asked).toEqual(['signatures of it']);
    expect(signaturesBeside(stored(request))).toEqual([bundle]);
    expect(readLock(request.manifestDir)).toMatchObject([{ signedBy: { fingerprint: acme.fingerprint } }]);
  });

  it('warns once for an artifact whose rule only warns', async () => {
    const { request, warnings } = await project(['{ names: ["*"], signed_by: { key: acme }, mode: warn }']);
    await installEntries(request);
    expect(warnings.map(({ code }) => code)).toEqual(['W-REG-006']);
    expect(existsSync(stored(request))).toBe(true);
    warnings.length = 0;
    await installRef(echo, request);
    expect(warnings.map(({ code }) => code)).toEqual(['W-REG-006']);
  });

  it('takes the signatures that lie beside a path', async () => {
    const { request } = await project([byAcme]);
    const path = join(temporaryDirectory(), 'x.zip');
    writeFileSync(path, await bytesOf());
    const folder = { env: {}, checkArtifact: () => Promise.resolve() };
    expect(await codesOf(installPath({ path, folder }, request))).toEqual(['E-REG-011']);
    const bundle = await signedBy(acme, await bytesOf());
    writeFileSync(`${path}.sigstore.jsonl`, `${bundle}\n`);
    await installPath({ path, folder }, request);
    expect(signaturesBeside(stored(request))).toEqual([bundle]);
  });

  it('into the user store leaves the signature where a later copy finds it', async () => {
    const { request, source } = await project([byAcme]);
    const bundle = await signedBy(acme, await bytesOf());
    source.bundles = [bundle];
    await installRef(echo, { ...request, fetching: { into: 'user' } });
    source.bundles = [];
    await installEntries(request);
    expect(signaturesBeside(stored(request))).toEqual([bundle]);
  });
});

it('an archive in the place of a signed one does not inherit its signature', async () => {
  const root = join(temporaryDirectory(), 'store');
  const put = async (content: string, signatures: readonly string[]): Promise<string> => {
    const chunks = [await bytesOf(content)];
    return (await putArchive({ root, chunks, platform: null, from: 'x', signatures })).path;
  };
  const bundle = await signedBy(acme, await bytesOf('one'));
  expect(signaturesBeside(await put('one', [bundle]))).toEqual([bundle]);
  expect(signaturesBeside(await put('two', []))).toEqual([]);
  expect(signaturesBeside(await put('one', [bundle]))).toEqual([bundle]);
  // The same bytes again are as they were, and what comes with them is added.
  const other = await signedBy(stranger, await bytesOf('one'));
  expect(signaturesBeside(await put('one', []))).toEqual([bundle]);
  expect(signaturesBeside(await put('one', [other, bundle]))).toEqual([other, bundle]);
});

describe('a run', () => {
  it('must meet the rule with what is stored, and asks nobody', async () => {
    const { request, source } = await project([byAcme]);
    source.bundles = [await signedBy(acme, await bytesOf())];
    await installEntries(request);
    source.asked.length = 0;
    const run = { ...request, fetching: {}, lock: 'hold' } as const;
    const [artifact] = await resolveArtifacts(run);
    expect(artifact?.admission).toMatchObject({ kind: 'signed' });
    rmSync(join(request.userHome, '.svc', 'cache'), { recursive: true });
    await resolveArtifacts(run);
    rmSync(join(request.userHome, '.svc', 'cache'), { recursive: true });
    rmSync(`${stored(request)}.sigstore.jsonl`);
    expect(await codesOf(resolveArtifacts(run))).toEqual(['E-REG-011']);
    expect(source.asked).toEqual([]);
  });

  it('refuses a project whose store and lock agree on what nobody signed', async () => {
    const { request } = await project([]);
    await installEntries(request);
    const lock = join(request.manifestDir, 'svc.lock');
    const claimed = JSON.parse(readFileSync(lock, 'utf8')) as { lock_version: number; artifacts: object[] };
    claimed.lock_version = 2;
    claimed.artifacts = claimed.artifacts.map((each) => ({
      ...each,
      signed_by: { key: `sha256:${acme.fingerprint}` },
    }));
    writeFileSync(lock, JSON.stringify(claimed));
    writeFileSync(
      join(request.userHome, '.svc', 'config.yaml'),
      `trust: { root: ./root.json, keys: { acme: ./acme.pub }, rules: [${byAcme}] }\n`,
    );
    expect(await codesOf(resolveArtifacts({ ...request, fetching: {}, lock: 'hold' }))).toEqual(['E-REG-011']);
  });

  it('fails where the signer is another than svc.lock records', async () => {
    const anybody = '{ names: ["*"], mode: refuse-unsigned }';
    const { request, source } = await project([anybody]);
    source.bundles = [await signedBy(acme, await bytesOf())];
    await installEntries(request);
    const lock = join(request.manifestDir, 'svc.lock');
    writeFileSync(lock, readFileSync(lock, 'utf8').replace(acme.fingerprint, stranger.fingerprint));
    for (const held of ['hold', 'frozen'] as const) {
      expect(await codesOf(resolveArtifacts({ ...request, fetching: {}, lock: held }))).toEqual(['E-REG-009']);
    }
    expect(await codesOf(installEntries(request))).toEqual(['E-REG-009']);
    await installEntries({ ...request, fetching: { acceptSigner: true } });
    await resolveArtifacts({ ...request, fetching: {}, lock: 'hold' });
  });
});

it('a store that a writer is killed in has each archive with its own signature or none that is of another', async () => {
  const script = await bundleForNode(new URL('put-signed-loop.ts', import.meta.url));
  const root = join(temporaryDirectory(), 'store');
  const files = ['a', 'b'].map((name) => join(temporaryDirectory(), `${name}.zip`));
  const hashes = new Map<string, string>();
  for (const [index, path] of files.entries()) {
    const archive = await bytesOf('ab'.charAt(index).repeat(200_000 * (index + 1)));
    writeFileSync(path, archive);
    const bundle = await signedBy(acme, archive);
    writeFileSync(`${path}.sigstore.jsonl`, bundle);
    hashes.set(sha256Hex(archive), bundle);
  }
  const met = new Set<string>();
  for (let round = 0; round < 20; round += 1) {
    const child = spawn(process.execPath, [script, root, ...files, '1000'], { stdio: ['ignore', 'pipe', 'inherit'] });
    let lines = 0;
    for await (const _ of createInterface(child.stdout)) {
      lines += 1;
      if (lines > round % 4) child.kill('SIGKILL');
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    const found = findStored(root, echo, 'linux-x86_64');
    met.add(found === null ? 'none' : 'whole');
    if (found !== null) expect(signaturesBeside(found.path)).toEqual([hashes.get(found.sha256)]);
    rmSync(join(root, 'echo', '1.0.0', '.echo-1.0.0.zip.guard'), { force: true });
  }
  expect(met.has('whole')).toBe(true);
}, 120_000);
