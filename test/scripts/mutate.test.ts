import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const programs = ['mutate', 'mutation-copy', 'mutation-list', 'mutation-verdict', 'conformance-count'];

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const seesIt = `it('says yes [D9-ONE-01]', () => expect(answer()).toBe('yes'));`;
const missesIt = `it('says something [D9-ONE-01]', () => expect(answer()).toBeTypeOf('string'));`;
const neverEnds = `it('waits [D9-ONE-01]', { timeout: 50 }, () => new Promise(() => {}));`;
/** What it does the first time, and what from then on. */
const atFirst = (first: string): string => `it('says yes, later [D9-ONE-01]', { timeout: 300 }, async () => {
  const isFirst = !existsSync(process.env.MARK + '/been');
  writeFileSync(process.env.MARK + '/been', '');
  if (isFirst) ${first};
  expect(answer()).toBe('yes');
});`;

/** `npm run mutate` in a project of one source, one test and one mutation. */
function mutating(
  test: string,
  { old = `'yes'`, within = '300', tests }: { old?: string; within?: string; tests?: readonly string[] } = {},
): { code: number | null; said: string } {
  const folder = mkdtempSync(join(tmpdir(), 'svc-mutating-'));
  const mark = mkdtempSync(join(tmpdir(), 'svc-mutating-'));
  folders.push(folder, mark);
  const of = tests === undefined ? { clause: 'D9-ONE-01' } : { tests };
  const mutation = { ...of, breaks: 'It says no.', file: 'packages/answer.ts', old, new: `'no'` };
  const files = {
    '.gitignore': 'node_modules\n',
    'package.json': '{ "type": "module" }\n',
    'scripts/build.mjs': '',
    'docs/conformance/clauses.tsv': 'id\tclause\nD9-ONE-01\tIt says yes.\n',
    'test/mutations/D9-ONE.yaml': JSON.stringify([mutation]),
    'artifacts/none.txt': '',
    'packages/answer.ts': `export const answer = (): string => 'yes';\n`,
    'packages/answer.test.ts': `import { existsSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { answer } from './answer.ts';
${test}\n`,
  };
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  for (const name of programs) cpSync(`${root}scripts/${name}.mjs`, join(folder, 'scripts', `${name}.mjs`));
  symlinkSync(`${root}node_modules`, join(folder, 'node_modules'));
  spawnSync('git', ['init', '-q', folder]);
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(folder, 'scripts/mutate.mjs'), '--sample', '1', '--seed', 'one', '--within', within],
    { encoding: 'utf8', env: { ...process.env, MARK: mark } },
  );
  return { code: status, said: `${stdout}${stderr}` };
}

describe('a sample of mutations', { timeout: 120_000 }, () => {
  it('passes when a test that names the clause fails with it', () => {
    const { code, said } = mutating(seesIt);
    expect(said).toMatch(/^killed +D9-ONE-01 .*packages\/answer\.test\.ts: says yes \[D9-ONE-01\]$/m);
    expect(said).toContain('1 killed (100.0 % of 1), 0 survived, 0 errors');
    expect(code).toBe(0);
  });

  it.each([
    ['no test misses the clause', missesIt, {}, /^survived D9-ONE-01 /m],
    ['its text is gone', seesIt, { old: `'perhaps'` }, /^error +D9-ONE-01 +not applicable/m],
    ['no test names the clause', `it('says nothing', () => {});`, {}, /^error +D9-ONE-01 +no test names/m],
    [
      'one of the files of its tests is gone',
      seesIt,
      { tests: ['packages/answer.test.ts', 'packages/gone.test.ts'] },
      /^error +D9-ONE-1 +not applicable: there is no packages\/gone\.test\.ts$/m,
    ],
    [
      'a test fails without it, alone too',
      `it('is wrong [D9-ONE-01]', () => expect(answer()).toBe('no'));`,
      {},
      /^error +D9-ONE-01 .*fails without it, twice: packages\/answer\.test\.ts: is wrong/m,
    ],
  ])('fails when %s', (_why, test, options, told) => {
    const { code, said } = mutating(test, options);
    expect(said).toMatch(told);
    expect(code).toBe(1);
  });

  it.each([
    ['was too slow', 'await new Promise(() => {})'],
    ['failed', 'throw new Error("no port was free")'],
  ])('runs a test that %s without a mutation once more, alone, and says so', (how, first) => {
    const { code, said } = mutating(atFirst(first));
    expect(said).toContain(
      `without a mutation: packages/answer.test.ts: says yes, later [D9-ONE-01] ${how} once, and passed alone`,
    );
    expect(said).toContain('1 killed');
    expect(code).toBe(0);
  });

  it('fails nothing for a test that is too slow alone too', () => {
    const { code, said } = mutating(neverEnds);
    expect(said).toMatch(/^unjudged D9-ONE-01 .*too slow without it, twice: packages\/answer\.test\.ts: waits/m);
    expect(said).toContain('1 too slow to judge');
    expect(code).toBe(0);
  });

  it('ends when its time is up, and counts what it did not come to', () => {
    const { code, said } = mutating(neverEnds.replace('50', '600_000'), { within: '4' });
    expect(said).toContain('1 not reached');
    expect(said).toContain('Nothing was judged in that time');
    expect(code).toBe(0);
  });
});
