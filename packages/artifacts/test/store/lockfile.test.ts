import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { lockFaults } from '../../src/store/lock-faults.ts';
import { createLock, type LockedArtifact, readLock, upsertLock } from '../../src/store/lockfile.ts';
import { codesOf, temporaryDirectory } from './artifacts.ts';

const a: LockedArtifact = { name: 'a', version: '1.0.0', platform: null, sha256: 'a'.repeat(64) };
const b: LockedArtifact = { name: 'b', version: '1.0.0', platform: 'linux-x86_64', sha256: 'b'.repeat(64) };

let project: string;
let path: string;
beforeEach(() => {
  project = temporaryDirectory();
  path = join(project, 'svc.lock');
});

describe('svc.lock', () => {
  it('holds name, version, platform and hash, sorted, and nothing that changes by itself', async () => {
    await createLock(project, [b, a]);
    expect(readFileSync(path, 'utf8')).toBe(`{
  "lock_version": 1,
  "artifacts": [
    {
      "name": "a",
      "version": "1.0.0",
      "sha256": "${'a'.repeat(64)}"
    },
    {
      "name": "b",
      "version": "1.0.0",
      "platform": "linux-x86_64",
      "sha256": "${'b'.repeat(64)}"
    }
  ]
}
`);
    expect(readLock(project)).toEqual([a, b]);
    expect(readdirSync(project)).toEqual(['svc.lock']);
  });

  it('holds what a skill asks for, in a version of its own', async () => {
    const skill = { allowed: ['Read', 'Bash(git:*)'], scripts: { 'scripts/a.py': 'python3' }, compatibility: 'x' };
    const plain = { allowed: null, scripts: {}, compatibility: null };
    await upsertLock(project, [a]);
    await upsertLock(project, [{ ...a, skill: plain }]);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ lock_version: 3, artifacts: [{ skill: {} }] });
    expect(readLock(project)).toEqual([{ ...a, skill: plain }]);
    await upsertLock(project, [{ ...a, skill }]);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({
      artifacts: [
        {
          skill: {
            allowed_tools: ['Read', 'Bash(git:*)'],
            scripts: { 'scripts/a.py': 'python3' },
            compatibility: 'x',
          },
        },
      ],
    });
    expect(readLock(project)).toEqual([{ ...a, skill }]);
    await upsertLock(project, [{ name: 'a', version: '1.0.0', platform: null, sha256: a.sha256 }]);
    expect(readLock(project)).toEqual([{ ...a, skill }]);
  });

  it('stays as the first writer made it', async () => {
    await createLock(project, [a]);
    expect(await createLock(project, [b])).toEqual([a]);
    expect(readLock(project)).toEqual([a]);
  });

  it('follows what is installed, and keeps the rest and the other platforms', async () => {
    const mac = { ...b, platform: 'darwin-aarch64', sha256: 'd'.repeat(64) };
    await upsertLock(project, [a, b, mac]);
    const changed = { ...b, sha256: 'c'.repeat(64) };
    await upsertLock(project, [changed]);
    expect(readLock(project)).toEqual([a, mac, changed]);
    const next = { ...b, version: '2.0.0' };
    await upsertLock(project, [next]);
    expect(readLock(project)).toEqual([a, next]);
  });

  it('loses nothing when several install at once', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `artifact-${index + 10}`);
    await Promise.all(names.map(async (name) => await upsertLock(project, [{ ...a, name }])));
    expect(readLock(project)?.map(({ name }) => name)).toEqual(names);
    expect(readdirSync(project)).toEqual(['svc.lock']);
  });

  it('reads as null when absent', () => {
    expect(readLock(project)).toBeNull();
    expect(readLock(join(project, 'nowhere'))).toBeNull();
  });

  it.each([
    ['empty', ''],
    ['no JSON', '<<<<<<< HEAD\n'],
    ['another shape', '[]'],
    ['a newer format', '{ "lock_version": 4, "artifacts": [] }'],
    [
      'an older format with what a skill asks for',
      `{ "lock_version": 2, "artifacts": [${JSON.stringify({ name: 'a', version: '1', sha256: '0'.repeat(64), skill: {} })}] }`,
    ],
    ...[
      [],
      'x',
      null,
      { allowed_tools: [] },
      { allowed_tools: ['Read', 7] },
      { allowed_tools: 'Read' },
      { scripts: { a: 1 } },
      { scripts: [] },
      { compatibility: {} },
      { more: 1 },
    ].map((skill): [string, string] => [
      `a skill that asks for ${JSON.stringify(skill)}`,
      `{ "lock_version": 3, "artifacts": [${JSON.stringify({ name: 'a', version: '1', sha256: '0'.repeat(64), skill })}] }`,
    ]),
    [
      'an older format with a signer',
      `{ "lock_version": 1, "artifacts": [${JSON.stringify({ name: 'a', version: '1', sha256: '0'.repeat(64), signed_by: { issuer: 'i', identity: 'x' } })}] }`,
    ],
    ...[
      {},
      { issuer: 'i' },
      { key: 'acme' },
      { issuer: 'i', identity: 'x', more: 1 },
      { issuer: 'i', identity: 'x\u0000' },
      'x',
    ].map((by): [string, string] => [
      `signed by ${JSON.stringify(by)}`,
      `{ "lock_version": 2, "artifacts": [${JSON.stringify({ name: 'a', version: '1', sha256: '0'.repeat(64), signed_by: by })}] }`,
    ]),
    [
      'an older format with a place',
      `{ "lock_version": 1, "artifacts": [${JSON.stringify({ name: 'a', version: '1', sha256: '0'.repeat(64), from: `oci://h/r@sha256:${'0'.repeat(64)}` })}] }`,
    ],
    ...[
      'oci://registry.example/acme/a',
      'oci://registry.example/acme/a:1.0.0',
      `oci://registry.example/acme/a:1.0.0@sha256:${'0'.repeat(64)}`,
      `oci://registry.example/../a@sha256:${'0'.repeat(64)}`,
      `oci://user:password@registry.example/a@sha256:${'0'.repeat(64)}`,
      `https://registry.example/a@sha256:${'0'.repeat(64)}`,
      `oci://registry.example/a@sha256:${'0'.repeat(63)}`,
      7,
      null,
    ].map((from): [string, string] => [
      `from ${JSON.stringify(from)}`,
      `{ "lock_version": 2, "artifacts": [${JSON.stringify({ name: 'a', version: '1', sha256: '0'.repeat(64), from })}] }`,
    ]),
    ['a hash that is none', '{ "lock_version": 1, "artifacts": [{ "name": "a", "version": "1", "sha256": "x" }] }'],
    [
      'a name that is a path',
      `{ "lock_version": 1, "artifacts": [{ "name": "../a", "version": "1", "sha256": "${'0'.repeat(64)}" }] }`,
    ],
    [
      'an artifact twice',
      `{ "lock_version": 1, "artifacts": [${JSON.stringify({ name: 'a', version: '1', sha256: '0'.repeat(64) })}, ${JSON.stringify({ name: 'a', version: '1', sha256: '1'.repeat(64) })}] }`,
    ],
  ])('fails when it is %s, and stays as it is', async (_, text) => {
    writeFileSync(path, text);
    expect(await codesOf(Promise.resolve().then(() => readLock(project)))).toEqual(['E-ART-007']);
    expect(await codesOf(upsertLock(project, [a]))).toEqual(['E-ART-007']);
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  it('fails with a reason in another format', () => {
    writeFileSync(path, '{ "lock_version": 4, "artifacts": [] }');
    expect(() => readLock(project)).toThrow(
      `cannot understand ${path}: lock_version is neither 1 nor 2 nor 3, those that this svc knows`,
    );
  });

  it('has version 2 once a signer is known, and says who it is', async () => {
    const issuer = 'https://issuer.example';
    const signedBy = { kind: 'identity', issuer, identity: 'https://github.com/acme/x' } as const;
    const keyed = { ...b, signedBy: { kind: 'key', fingerprint: '1'.repeat(64) } as const };
    await upsertLock(project, [{ ...a, signedBy }, keyed]);
    const written = JSON.parse(readFileSync(path, 'utf8')) as { lock_version: number; artifacts: object[] };
    expect(written.lock_version).toBe(2);
    expect(written.artifacts).toMatchObject([
      { name: 'a', signed_by: { issuer, identity: 'https://github.com/acme/x' } },
      { name: 'b', signed_by: { key: `sha256:${'1'.repeat(64)}` } },
    ]);
    expect(readLock(project)).toEqual([{ ...a, signedBy }, keyed]);
  });

  it('has version 2 once a place is known, which stays as long as the bytes are the same', async () => {
    const from = `oci://registry.example/acme/a@sha256:${'e'.repeat(64)}`;
    await upsertLock(project, [b, { ...a, from }]);
    expect(readFileSync(path, 'utf8')).toBe(`{
  "lock_version": 2,
  "artifacts": [
    {
      "name": "a",
      "version": "1.0.0",
      "sha256": "${'a'.repeat(64)}",
      "from": "oci://registry.example/acme/a@sha256:${'e'.repeat(64)}"
    },
    {
      "name": "b",
      "version": "1.0.0",
      "platform": "linux-x86_64",
      "sha256": "${'b'.repeat(64)}"
    }
  ]
}
`);
    expect(readLock(project)).toEqual([{ ...a, from }, b]);
    const signedBy = { kind: 'key', fingerprint: '1'.repeat(64) } as const;
    await upsertLock(project, [{ ...a, signedBy }]);
    expect(readLock(project)).toEqual([{ ...a, from, signedBy }, b]);
    const elsewhere = from.replace('acme', 'copies');
    await upsertLock(project, [{ ...a, from: elsewhere }]);
    expect(readLock(project)).toEqual([{ ...a, from: elsewhere, signedBy }, b]);
    await upsertLock(project, [{ ...a, sha256: 'c'.repeat(64) }]);
    expect(readLock(project)).toEqual([{ ...a, sha256: 'c'.repeat(64) }, b]);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ lock_version: 1 });
  });

  it('keeps a signer for those who have no policy, as long as the bytes are the same', async () => {
    const signedBy = { kind: 'key', fingerprint: '1'.repeat(64) } as const;
    await upsertLock(project, [{ ...a, signedBy }]);
    await upsertLock(project, [a]);
    expect(readLock(project)).toEqual([{ ...a, signedBy }]);
    await upsertLock(project, [{ ...a, sha256: 'c'.repeat(64) }]);
    expect(readLock(project)).toEqual([{ ...a, sha256: 'c'.repeat(64) }]);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ lock_version: 1 });
  });

  it('cannot be read when it is a directory', async () => {
    mkdirSync(path);
    expect(await codesOf(Promise.resolve().then(() => readLock(project)))).toEqual(['E-IO-001']);
  });
});

describe('what differs from the lock', () => {
  const found = { ...a, location: '/store/a.zip' };
  const messages = (lock: readonly LockedArtifact[], artifact: LockedArtifact): string[] =>
    lockFaults(lock, [{ ...artifact, location: '/store/a.zip' }]).map(({ code, message }) => `${code} ${message}`);

  it('comes to nothing when the hash is the recorded one', () => {
    expect(lockFaults([b, a], [found])).toEqual([]);
  });

  it('comes with both hashes', () => {
    const [fault] = lockFaults([{ ...a, sha256: 'f'.repeat(64) }], [found]);
    expect(fault?.code).toBe('E-RUN-003');
    expect(fault?.message).toBe(
      `artifact a@1.0.0 has sha256 ${'a'.repeat(64)} (/store/a.zip), but svc.lock records ${'f'.repeat(64)}`,
    );
    expect(fault?.hint).toContain('svc install');
  });

  it('includes an artifact, a version or a platform that the lock does not name', () => {
    expect(messages([b], a)[0]).toMatch(/^E-RUN-003 artifact a@1\.0\.0 .* records nothing for it$/);
    expect(messages([{ ...a, version: '0.9.0' }], a)[0]).toMatch(/records a@0\.9\.0 for it$/);
    expect(messages([b], { ...b, platform: 'darwin-aarch64' })[0]).toMatch(
      /b@1\.0\.0 for darwin-aarch64 .* records nothing/,
    );
  });
});
