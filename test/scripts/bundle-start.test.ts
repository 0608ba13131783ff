import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';
import { eachFolder } from '../support/each-folder.ts';

const script = fileURLToPath(new URL('../../scripts/bundle-start.mjs', import.meta.url));

let folder: string;
eachFolder('svc-bundle-', (made) => {
  folder = made;
  mkdirSync(join(folder, 'packages'));
});

/** Bundles `packages/main.ts` of the folder into `dist/`; with `again` only what the given sources are in. */
function bundle(
  sources: Readonly<Record<string, string>>,
  again = false,
  readTogether: readonly (readonly string[])[] = [],
): { status: number | null; stdout: string; stderr: string } {
  for (const [name, text] of Object.entries(sources)) writeFileSync(join(folder, 'packages', name), text);
  const changed = JSON.stringify(Object.keys(sources).map((name) => `packages/${name}`));
  const program = `
    import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
    import { basename } from 'node:path';
    import { bundleAgain, bundleStart } from ${JSON.stringify(script)};
    const options = { absWorkingDir: process.cwd(), write: false, outdir: 'dist', outExtension: { '.js': '.cjs' },
      bundle: true, platform: 'node', format: 'cjs', supported: { 'dynamic-import': false }, logLevel: 'silent' };
    const packagesOnDemand = () => ({ name: 'none', setup() {} });
    const request = { name: 'start', entry: 'packages/main.ts', options, sharedPackages: [], packagesOnDemand,
      readTogether: ${JSON.stringify(readTogether)} };
    const { files, plan } = ${again}
      ? { files: await bundleAgain(request, { plan: JSON.parse(readFileSync('plan.json', 'utf8')), changed: ${changed} }) }
      : await bundleStart(request);
    if (plan !== undefined) writeFileSync('plan.json', JSON.stringify(plan));
    console.log(files.map(({ path }) => basename(path)).sort().join());
    mkdirSync('dist/late', { recursive: true });
    for (const { path, text } of files) writeFileSync(path, text);
  `;
  return spawnSync(process.execPath, ['--input-type=module', '-e', program], { cwd: folder, encoding: 'utf8' });
}

/** Runs what was bundled as bin/svc.cjs does, and gives what its `main` returns. */
function run(): unknown {
  const program = `
    const { Module } = require('node:module');
    const { readFileSync } = require('node:fs');
    const { runInThisContext } = require('node:vm');
    const path = require('node:path').resolve('dist/start.cjs');
    const loaded = new Module(path);
    loaded.filename = path;
    require.cache[path] = loaded;
    runInThisContext(readFileSync(path, 'utf8'))(loaded.exports, (id) => loaded.require(id), loaded, path, 'dist');
    loaded.exports.main().then((answer) => console.log(JSON.stringify(answer)));
  `;
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', program], { cwd: folder, encoding: 'utf8' });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}

const fault = 'export class Fault extends Error {}';
const shared =
  'export class Shared {}; export let made = 0; export function make() { made += 1; return new Shared(); }';

describe('the files of svc', () => {
  it('do not require each other in a circle, in which the first to be read would be found empty', () => {
    const late = fileURLToPath(new URL('../../dist/late', import.meta.url));
    const needs = new Map(
      readdirSync(late).map((file) => {
        const text = readFileSync(join(late, file), 'utf8');
        return [file, new Set([...text.matchAll(/require\("\.\/([\w-]+\.cjs)"\)\["/g)].map(([, name = '']) => name))];
      }),
    );
    // A set is walked in the order of insertion, so what is added here is visited too.
    for (const needed of needs.values())
      for (const name of needed) for (const next of needs.get(name) ?? []) needed.add(next);
    expect([...needs].filter(([file, needed]) => needed.has(file))).toEqual([]);
    expect(needs.size).toBeGreaterThan(50);
  });

  it('have each class once, whichever of them it is reached through', () => {
    bundle({
      'fault.ts': fault,
      'shared.ts': shared,
      'first.ts': `import { Fault } from './fault.ts'; import { make } from './shared.ts';
        export const fault = () => new Fault(); export { make };`,
      'second.ts': `import { made, Shared } from './shared.ts';
        export const knows = (value: unknown) => value instanceof Shared; export const count = () => made;`,
      'main.ts': `import { Fault } from './fault.ts';
        export async function main() {
          const first = await import('./first.ts');
          const second = await import('./second.ts');
          return [first.fault() instanceof Fault, second.knows(first.make()), second.count()];
        }`,
    });
    expect(run()).toEqual([true, true, 1]);
  });

  it('have in one of them what parts that are read together share with any', () => {
    const sources = {
      'one.ts': `export const one = {};`,
      'two.ts': `import { one } from './one.ts'; export const two = { one };`,
      'first.ts': `import { one } from './one.ts'; export const first = { one };`,
      'second.ts': `import { one } from './one.ts'; import { two } from './two.ts'; export const second = { one, two };`,
      'third.ts': `import { two } from './two.ts'; export const third = { two };`,
      'main.ts': `export async function main() {
          const [{ first }, { second }, { third }] =
            [await import('./first.ts'), await import('./second.ts'), await import('./third.ts')];
          return [first.one === second.one, second.two === third.two, third.two.one === first.one];
        }`,
    };
    const shared = (): string[] =>
      readdirSync(join(folder, 'dist', 'late')).filter((name) => name.startsWith('shared'));
    bundle(sources);
    expect([run(), shared()]).toEqual([
      [true, true, true],
      ['shared-0.cjs', 'shared-1.cjs'],
    ]);
    rmSync(join(folder, 'dist'), { recursive: true });
    bundle(sources, false, [['packages/second.ts']]);
    expect([run(), shared()]).toEqual([[true, true, true], ['shared-0.cjs']]);
  });

  it('have nothing in the first of them that is imported on demand alone', () => {
    bundle({
      'late.ts': `import { deeper } from './deeper.ts'; export const late = () => 'from late and ' + deeper;`,
      'deeper.ts': `export const deeper = 'from deeper';`,
      'main.ts': `export const main = async () => (await import('./late.ts')).late();`,
    });
    expect(run()).toBe('from late and from deeper');
    expect(readFileSync(join(folder, 'dist', 'start.cjs'), 'utf8')).not.toMatch(/from (late|deeper)/);
    expect(readdirSync(join(folder, 'dist', 'late'))).toEqual(['late.cjs']);
  });

  it('lead from one that came on demand to the next', () => {
    bundle({
      'inner.ts': `export const inner = 7;`,
      'outer.ts': `export const outer = async () => (await import('./inner.ts')).inner;`,
      'main.ts': `export const main = async () => await (await import('./outer.ts')).outer();`,
    });
    expect(run()).toBe(7);
  });

  it('stay unmade when a module is imported at once and on demand', () => {
    const { status, stderr } = bundle({
      'both.ts': `export const both = 1;`,
      'main.ts': `import { both } from './both.ts';
        export const main = async () => both + (await import('./both.ts')).both;`,
    });
    expect(status).toBe(1);
    expect(stderr).toContain('imported on demand, but the start imports it at once: packages/both.ts');
  });

  it('come out one by one the same as all together', () => {
    const sources = {
      'shared.ts': 'export class Shared {}',
      'first.ts': `import { Shared } from './shared.ts'; export const first = () => new Shared();`,
      'second.ts': `import { Shared } from './shared.ts'; export const is = (value: unknown) => value instanceof Shared;`,
      'own.ts': `export const own = 'before';`,
      'main.ts': `import { own } from './own.ts';
        export async function main() {
          const [one, two] = await Promise.all([import('./first.ts'), import('./second.ts')]);
          return [own, two.is(one.first())];
        }`,
    };
    expect(bundle(sources).stdout).toBe('first.cjs,second.cjs,shared-0.cjs,start.cjs\n');
    expect(run()).toEqual(['before', true]);
    expect(bundle({ 'own.ts': `export const own = 'after';` }, true).stdout).toBe('start.cjs\n');
    expect(run()).toEqual(['after', true]);
    expect(bundle({ 'shared.ts': 'export class Shared { x = 1 }' }, true).stdout).toBe('shared-0.cjs\n');
    expect(run()).toEqual(['after', true]);
    const never = 'export const is = (_value: unknown) => false;';
    expect(bundle({ 'second.ts': never }, true).stdout).toBe('first.cjs,second.cjs\n');
    expect(run()).toEqual(['after', false]);
  });
});
