import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';

import { loadCapsuleManifest } from '@svc/artifacts/manifest/load.ts';
import { needsClass } from '../../packages/sandbox/test/needs-class.ts';
import { follow } from '../guide/follow.ts';
import { sectionsOf } from '../guide/listings.ts';
import { Reader } from '../guide/reader.ts';

const gallery = fileURLToPath(new URL('../../examples/gallery', import.meta.url));
const names = ['reviewer', 'changelog-keeper', 'researcher', 'two-capsules', 'team', 'nightly'];
const textOf = (...path: string[]): string => readFileSync(join(gallery, ...path), 'utf8');

/** The manifests of capsules in a folder; artifacts in it have another kind of `svc.yaml`. */
function manifestsIn(name: string): string[] {
  return readdirSync(join(gallery, name), { recursive: true, encoding: 'utf8' }).filter(
    (path) => /(^|\/)svc\.yaml$/.test(path) && textOf(name, path).includes('\ninference:'),
  );
}

/** The lines of a manifest that grant, limit or narrow: those below these keys that have a value. */
function linesThatGrant(manifest: string): string[] {
  const granting = new Set(['artifacts', 'capabilities', 'exports', 'lifecycle', 'trace']);
  let key = '';
  return manifest.split('\n').flatMap((line) => {
    if (/^\w/.test(line)) key = line.split(':')[0] ?? '';
    const limits = /^\s*max_(?:turns|session_tokens): /.test(line);
    // An artifact from a folder of the example is named by its entry; what is granted to it is below.
    const says = /^\s*(?:- )?(?:name|version|source): (?!.*,)/.test(line);
    const isWhole = /: \S/.test(line) && !line.trim().startsWith('#');
    return isWhole && !says && (granting.has(key) || limits) ? [line.trim()] : [];
  });
}

describe('examples/gallery', () => {
  it('has the examples that its page lists', () => {
    const folders = readdirSync(gallery, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(folders.map(({ name }) => name).sort()).toEqual(names.toSorted());
    const listed = [...textOf('README.md').matchAll(/^\| \[([\w-]+)\]\(\1\/README\.md\)/gm)].map(([, name]) => name);
    expect(listed).toEqual(names);
  });

  it.each(names)('%s has manifests without a warning', (name) => {
    for (const path of manifestsIn(name)) {
      expect(loadCapsuleManifest({ file: join(gallery, name, path), env: {} }).warnings, path).toEqual([]);
    }
  });

  it.each(names)(
    '%s says of each line that grants or limits what it gives, and of no line that is not there',
    (name) => {
      const explained = [...textOf(name, 'README.md').matchAll(/^\| `([^`]+)` \|/gm)].map(([, line = '']) => line);
      const granting = manifestsIn(name).flatMap((path) => linesThatGrant(textOf(name, path)));
      expect(explained.length).toBeGreaterThan(0);
      expect([...new Set(explained)].sort()).toEqual([...new Set(granting)].sort());
    },
  );

  it('asks in the workflow of the nightly task for no right but to read', () => {
    const { permissions, jobs } = parse(textOf('nightly', 'nightly.yml')) as {
      readonly permissions: unknown;
      readonly jobs: Readonly<
        Record<string, { readonly steps: readonly { readonly uses?: string; readonly run?: string }[] }>
      >;
    };
    expect(permissions).toEqual({ contents: 'read' });
    const steps = jobs['nightly']?.steps ?? [];
    for (const { uses } of steps) if (uses !== undefined) expect(uses).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
    expect(steps.some(({ run }) => run === './checkout/nightly/nightly.sh checkout')).toBe(true);
  });
});

/** How often each task asked a person, of all sessions that have a trace in a folder. */
function questionsOfTasks(folder: string): readonly number[] {
  const traces = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('trace.jsonl'),
  );
  const asked = new Map<string, number>();
  for (const path of traces) {
    for (const line of readFileSync(join(folder, path), 'utf8')
      .split('\n')
      .filter((text) => text !== '')) {
      const { event_type: type, task_id: task } = JSON.parse(line) as Readonly<Record<string, string | undefined>>;
      if (task === undefined) continue;
      asked.set(task, (asked.get(task) ?? 0) + (type === 'task_input_required' ? 1 : 0));
    }
  }
  return [...asked.values()];
}

describe('the page of an example', { timeout: 120_000 }, () => {
  let reader: Reader | null = null;
  afterEach(async () => {
    await reader?.remove();
    reader = null;
  });

  it.for(names)(
    '%s shows what its commands do, and its tasks ask at most one question by the median',
    async (name, context) => {
      await needsClass(context, 'sealed');
      reader = new Reader({ holds: 'as the host can' });
      reader.take(join(gallery, name));
      const listings = sectionsOf(textOf(name, 'README.md')).flatMap((section) => section.listings);
      expect(listings.length).toBeGreaterThan(0);
      for (const listing of listings) expect(await follow(reader, listing)).toBeNull();
      const questions = questionsOfTasks(reader.folder).toSorted((one, other) => one - other);
      expect(questions.length).toBeGreaterThan(0);
      expect(questions[Math.floor(questions.length / 2)]).toBeLessThanOrEqual(1);
    },
  );
});
