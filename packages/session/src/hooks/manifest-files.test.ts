import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { ManifestFiles } from './hook-files.ts';

let session = '';
beforeEach(() => (session = mkdtempSync(join(tmpdir(), 'svc-manifests-'))));
afterEach(() => rmSync(session, { recursive: true }));

function named(...names: readonly string[]): { name: string; content: string }[] {
  return names.map((name) => ({ name, content: name }));
}

describe('the files that hooks write at on-stage', () => {
  it.each(['', '.', '..', 'a/b', '/a', 'a\\b', 'a\0b', 'a\nb', 'C:a', 'x'.repeat(256)])(
    'cannot have the name %j',
    async (name) => {
      const files = new ManifestFiles(session);
      expect(await files.write(named('fine', name))).toMatch(/^write-manifests: the file ".*" /);
      expect(readdirSync(session)).toEqual([]);
    },
  );

  it('cannot replace those of another hook, whatever their case', async () => {
    const files = new ManifestFiles(session);
    expect(await files.write(named('a.json'))).toBeNull();
    expect(await files.write(named('b.json', 'A.json'))).toBe(
      'write-manifests: the file "A.json" collides with "a.json" in case or Unicode form',
    );
    expect(readdirSync(join(session, 'manifests'))).toEqual(['a.json']);
  });

  it('number 256 at most', async () => {
    const files = new ManifestFiles(session);
    const names = Array.from({ length: 257 }, (_, index) => `f${index}`);
    expect(await files.write(named(...names))).toBe('write-manifests: a session has at most 256 such files');
    expect(existsSync(join(session, 'manifests'))).toBe(false);
  });

  it('cause a refusal, not a bug, where they cannot be written', async () => {
    writeFileSync(join(session, 'manifests'), 'in the way');
    expect(await new ManifestFiles(session).write(named('a'))).toMatch(
      /^write-manifests: .*manifests cannot be made: /,
    );
  });
});
