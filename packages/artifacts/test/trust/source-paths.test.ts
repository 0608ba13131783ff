import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { sha256Hex } from '@svc/kit/sha256.ts';
import type { ArtifactEntry } from '../../src/manifest/schema.ts';
import type { InstalledArtifact } from '../../src/store/installed-artifact.ts';
import type { StorePlaces } from '../../src/store/store-places.ts';
import { resolveArtifacts } from '../../src/store/resolve.ts';
import { verifyLocked } from '../../src/store/trust/verify-installed.ts';
import { archiveBytes, codesOf, toolFiles, writeFiles } from '../store/artifacts.ts';
import { acme, signedBy, stranger, trustingPlaces } from './trust-kit.ts';

const keys = { acme };
const byAcme = '{ names: ["echo"], signed_by: { key: acme } }';
const archived: ArtifactEntry = { name: 'echo', version: '1.0.0', runtime: 'tool', source: './echo.zip' };
const folder: ArtifactEntry = { ...archived, source: './echo' };

/** A project that has the tool as a folder and as an archive, both with the signatures of these beside them. */
async function project(rules: readonly string[], signers: readonly (typeof acme)[] = []): Promise<StorePlaces> {
  const places = trustingPlaces(rules, { keys });
  const bytes = await archiveBytes(toolFiles('echo'));
  const bundles = await Promise.all(signers.map(async (signer) => `${await signedBy(signer, bytes)}\n`));
  mkdirSync(places.manifestDir, { recursive: true });
  await writeFiles(
    join(places.manifestDir, 'echo'),
    Object.fromEntries(toolFiles('echo').map((f) => [f.name, f.data])),
  );
  writeFileSync(join(places.manifestDir, 'echo.zip'), bytes);
  for (const name of ['echo', 'echo.zip']) {
    if (signers.length > 0) writeFileSync(join(places.manifestDir, `${name}.sigstore.jsonl`), bundles.join(''));
  }
  return places;
}

async function taken(entry: ArtifactEntry, places: StorePlaces): Promise<InstalledArtifact | undefined> {
  return (await resolveArtifacts({ ...places, entries: [entry], lock: 'hold' }))[0];
}

async function refusal(entry: ArtifactEntry, places: StorePlaces): Promise<Diagnostic> {
  const error: unknown = await taken(entry, places).catch((reason: unknown) => reason);
  if (error instanceof Diagnostic) return error;
  throw error ?? new Error('it was not refused');
}

describe('what a manifest takes from a path', () => {
  it('fails under a rule for its name without a signature, with advice', async () => {
    const places = await project([byAcme]);
    expect(await refusal(folder, places)).toMatchObject({
      code: 'E-REG-011',
      hint: 'the manifest takes it from a folder (source), which nobody can sign: if you work on it yourself, put a rule with mode: warn for its name before that one; else name an archive that is signed, or none',
    });
    expect(await refusal(archived, places)).toMatchObject({
      code: 'E-REG-011',
      hint: expect.stringContaining('svc sign'),
    });
  });

  it('works as an archive with the signature that the rule wants beside it, which svc.lock records', async () => {
    const places = await project([byAcme], [stranger, acme]);
    const signer = { kind: 'key', fingerprint: acme.fingerprint };
    expect((await taken(archived, places))?.admission).toEqual({ kind: 'signed', signer });
    const sha256 = sha256Hex(await archiveBytes(toolFiles('echo')));
    const lock = [{ name: 'echo', version: '1.0.0', platform: null, sha256 }];
    expect(await verifyLocked(lock, { ...places, entries: [archived] })).toMatchObject([
      { origin: 'source', state: 'signed', signer },
    ]);
  });

  it('works with the file of one bundle that other tools write', async () => {
    const places = await project([byAcme]);
    const bundle = await signedBy(acme, await archiveBytes(toolFiles('echo')));
    const written = JSON.stringify(JSON.parse(bundle), null, 2);
    writeFileSync(join(places.manifestDir, 'echo.zip.sigstore.json'), written);
    expect((await taken(archived, places))?.admission).toMatchObject({ kind: 'signed' });
    const other = await project([byAcme]);
    writeFileSync(join(other.manifestDir, 'echo.zip.sigstore.json'), 'x'.repeat(100_000));
    expect((await refusal(archived, other)).code).toBe('E-REG-012');
  });

  it('fails as a folder, whatever lies beside it: its program may run other files there than are signed', async () => {
    expect((await refusal(folder, await project([byAcme], [acme]))).code).toBe('E-REG-011');
  });

  it('fails as an archive that another key has signed, or whose bytes differ', async () => {
    const other = await project([byAcme], [stranger]);
    expect(await codesOf(taken(archived, other))).toEqual(['E-REG-012']);
    const changed = await project([byAcme], [acme]);
    writeFileSync(join(changed.manifestDir, 'echo.zip'), await archiveBytes(toolFiles('echo', '1.0.0', 'evil')));
    expect(await codesOf(taken(archived, changed))).toEqual(['E-REG-012']);
  });

  it('works with a warning where an earlier rule only warns: that of its author', async () => {
    const places = await project(['{ names: ["echo"], signed_by: { key: acme }, mode: warn }', byAcme]);
    const used = await taken(folder, places);
    expect(used?.admission).toMatchObject({ kind: 'warned', warning: { code: 'W-REG-006' } });
  });

  it('works as it is where no rule is for its name', async () => {
    const places = await project(['{ names: ["other"], signed_by: { key: acme } }']);
    expect((await taken(folder, places))?.admission).toEqual({ kind: 'unchecked' });
  });

  it('appears in svc verify as the rule sees it, and unchecked without a rule', async () => {
    const lock = [{ name: 'echo', version: '1.0.0', platform: null, sha256: 'ab'.repeat(32) }];
    const ruled = await project([byAcme]);
    const [refused] = await verifyLocked(lock, { ...ruled, entries: [folder] });
    expect(refused).toMatchObject({ origin: 'source', state: 'refused', problem: { code: 'E-REG-011' } });
    const free = await project([]);
    rmSync(join(free.manifestDir, 'echo'), { recursive: true });
    expect(await verifyLocked(lock, { ...free, entries: [folder] })).toMatchObject([
      { state: 'source', problem: null },
    ]);
  });
});
