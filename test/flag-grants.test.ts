import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { eachFlag, type FlagGrant, flagPath } from '@svc/artifacts/grants/flag-grants.ts';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
/** What enforces a grant is another place for each. */
const enforcing = /^(?:sandbox|sandbox-check)\//;

/** Source files by their paths below `packages`, those of tests and of what enforces grants aside. */
const sources = readdirSync(join(root, 'packages')).flatMap((name) =>
  readdirSync(join(root, 'packages', name), { recursive: true, encoding: 'utf8' })
    .map((path) => `${name}/${path}`)
    .filter((path) => /\/src\/.*\.tsx?$/.test(path) && !path.endsWith('.test.ts') && !enforcing.test(path)),
);

/** Those that spell a flag, as the code does or as a manifest does. */
function filesThatName(flag: FlagGrant): readonly string[] {
  const [, key] = flagPath(flag);
  const spelled = new RegExp(`\\b(?:${flag}|has${flag[0]?.toUpperCase()}${flag.slice(1)}|${key})\\b`);
  return sources.filter((path) => spelled.test(readFileSync(join(root, 'packages', path), 'utf8'))).toSorted();
}

const named = [
  'artifacts/src/grants/flag-grants.ts',
  'artifacts/src/manifest/capabilities.ts',
  'artifacts/src/manifest/json-schema.ts',
  'svc/src/cli/not-stopped.ts',
  'svc/src/cli/view/recorded-grants.ts',
];

describe('a grant that is given or not', () => {
  it.each(Object.keys(eachFlag(() => null)) as FlagGrant[])(
    'is named in five files beside what enforces it: %s',
    (flag) => {
      expect(filesThatName(flag)).toEqual(named);
    },
  );

  it('has these files in the list of docs/architecture.md', () => {
    const page = readFileSync(join(root, 'docs', 'architecture.md'), 'utf8');
    const row = page.split('\n').find((line) => line.startsWith('| grant something that is given or not |')) ?? '';
    for (const path of named) expect(row).toContain(path.replace(/^(?:artifacts|svc)\//, '').replace('src/', ''));
  });
});
