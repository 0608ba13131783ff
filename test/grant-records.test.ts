import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { eachFlag, type FlagGrant, flagPath } from '@svc/artifacts/grants/flag-grants.ts';
import { allLists, type ListGrant, listKeys, listPath } from '@svc/artifacts/grants/list-grants.ts';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
/** What enforces a grant is another place for each; one command tries programs with grants of its own. */
const enforcing = /^(?:sandbox|sandbox-check)\/|^svc\/src\/machine\/doctor-programs\.ts$/;

/** Source files by their paths below `packages`, those of tests and of what enforces grants aside. */
const sources = readdirSync(join(root, 'packages')).flatMap((name) =>
  readdirSync(join(root, 'packages', name), { recursive: true, encoding: 'utf8' })
    .map((path) => `${name}/${path}`)
    .filter((path) => /\/src\/.*\.tsx?$/.test(path) && !path.endsWith('.test.ts') && !enforcing.test(path)),
);

function filesWith(spelled: RegExp): readonly string[] {
  return sources.filter((path) => spelled.test(readFileSync(join(root, 'packages', path), 'utf8'))).toSorted();
}

/** Returns the files that spell a flag, as the code does or as a manifest does. */
function filesThatName(flag: FlagGrant): readonly string[] {
  const [, key] = flagPath(flag);
  return filesWith(new RegExp(`\\b(?:${flag}|has${flag[0]?.toUpperCase()}${flag.slice(1)}|${key})\\b`));
}

const named = [
  'artifacts/src/grants/flag-grants.ts',
  'artifacts/src/manifest/capabilities.ts',
  'artifacts/src/manifest/json-schema.ts',
  'view-server/src/not-stopped.ts',
  'view-server/src/recorded-grants.ts',
];

describe('a grant that is given or not', () => {
  it.each(Object.keys(eachFlag(() => null)) as FlagGrant[])(
    'stands in five files and in its enforcement: %s',
    (flag) => {
      expect(filesThatName(flag)).toEqual(named);
    },
  );

  it('has these files in its recipe in CONTRIBUTING.md', () => {
    const page = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');
    const [, recipe = ''] = /^### A manifest key with a grant\n([^]*?)^### /m.exec(page) ?? [];
    expect(named.filter((path) => !recipe.includes(`packages/${path}`))).toEqual([]);
  });
});

/** What shows, narrows, compares or reads all lists. What is done with one of them is another place for each. */
const forAllLists =
  /^(?:artifacts\/src\/grants|viewer\/src)\/|^svc\/src\/run\/scope-report\.ts|^view-server\/src\/recorded-(?:scope|grants)\.ts/;

describe('a grant that is a list', () => {
  // These places say more of hosts and commands than that they are granted.
  it.each(allLists.filter((list) => list !== 'networkAllow' && list !== 'shellAllow'))(
    'stands in its record, and in the page for its words: %s',
    (list: ListGrant) => {
      const [section, key] = listPath(list);
      const field = key === 'allow' ? `${section}_allow` : key;
      const isReported = (listKeys as readonly string[]).includes(field);
      expect(filesWith(new RegExp(`\\b(?:${list}|${field})\\b`)).filter((path) => forAllLists.test(path))).toEqual([
        'artifacts/src/grants/list-grants.ts',
        ...(isReported ? ['view-server/src/recorded-grants.ts'] : []),
      ]);
    },
  );

  it('has at most eight files in the list of docs/architecture.md', () => {
    const page = readFileSync(join(root, 'docs', 'architecture.md'), 'utf8');
    const row = page.split('\n').find((line) => line.startsWith('| grant something that is a list |')) ?? '';
    const [, files = ''] = /^\| [^|]* \| (.*?)\. /.exec(row) ?? [];
    expect(files.match(/`[^`]*\.ts`/g)).toEqual([
      '`artifacts/manifest/capabilities.ts`',
      '`artifacts/manifest/json-schema.ts`',
      '`artifacts/grants/list-grants.ts`',
      '`sandbox/launch/compose-plan.ts`',
      '`sandbox/launch/process-grants.ts`',
      '`capsule/stage/stage-parts.ts`',
      '`view-server/not-stopped.ts`',
      '`view-server/recorded-grants.ts`',
    ]);
  });
});
