import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, describe, expect, it } from 'vitest';

import { ProgramProcess } from '../support/program-process.ts';
import { svc } from '../support/svc-process.ts';
import { makeWorkspace } from '../support/workspace.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** `npm run test:long -- tests` builds everything so often; otherwise two components are built once more. */
const rounds = Number(process.env['REPEATABLE_ROUNDS'] ?? '1');
const isWhole = 'REPEATABLE_ROUNDS' in process.env;
const few = new Set(['svc-driver-script', 'svc-tool-editor']);

const zones = ['Asia/Tokyo', 'America/St_Johns', 'Pacific/Chatham', 'UTC'];
const locales = ['tr_TR.UTF-8', 'C', 'ja_JP.UTF-8'];

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A copy of this checkout, built where paths, time zone, locale, home and temporary directory differ. */
function otherCheckout(round: number): string {
  const base = mkdtempSync(join(tmpdir(), 'svc-checkout-'));
  folders.push(base);
  const checkout = join(
    base,
    'a'.repeat(1 + round * 7),
    ...Array.from({ length: round }, () => 'deeper'),
    `round ${round}`,
  );
  mkdirSync(join(checkout, 'node_modules'), { recursive: true });
  for (const name of [
    'LICENSE',
    'artifacts',
    'bin',
    'docs',
    'native',
    'scripts',
    'packages',
    'package.json',
    'package-lock.json',
    'tsconfig.json',
  ]) {
    const isBuilt = (path: string): boolean => /packages\/[^/]+\/dist$/.test(path);
    cpSync(join(root, name), join(checkout, name), { recursive: true, filter: (path) => !isBuilt(path) });
  }
  const wanted = isWhole
    ? []
    : readdirSync(join(root, 'artifacts')).filter((name) => name.startsWith('svc-') && !few.has(name));
  for (const name of wanted) rmSync(join(checkout, 'artifacts', name), { recursive: true });
  // The packages are the same, what was built of them before is not taken along.
  for (const name of readdirSync(join(root, 'node_modules')).filter((name) => name !== '.cache')) {
    symlinkSync(join(root, 'node_modules', name), join(checkout, 'node_modules', name));
  }
  const temporary = join(base, 'tmp');
  mkdirSync(temporary);
  const { status, stderr } = spawnSync(process.execPath, [join(checkout, 'scripts', 'build.mjs')], {
    cwd: base,
    env: {
      PATH: process.env['PATH'],
      HOME: base,
      TMPDIR: temporary,
      TZ: zones[round % zones.length],
      LANG: locales[round % locales.length],
    },
    encoding: 'utf8',
  });
  expect(status, stderr).toBe(0);
  return checkout;
}

/** The hash of each archive in `dist/bundled`, as `artifacts/sums.json` has them. */
function archivesOf(checkout: string): Record<string, string> {
  const bundled = join(checkout, 'dist', 'bundled');
  return Object.fromEntries(
    readdirSync(bundled).flatMap((name) =>
      readdirSync(join(bundled, name)).map((version) => {
        const record = readFileSync(join(bundled, name, version, `${name}-${version}.zip.sha256`), 'utf8');
        return [`${name}@${version}`, record.split(' ')[0] ?? ''];
      }),
    ),
  );
}

/** The hash of every file that the programs are made of. */
function programsOf(checkout: string): Record<string, string> {
  const dist = join(checkout, 'dist');
  const names = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter(
    (name) =>
      /^(?:[\w-]+\.cjs|(?:late|packages|viewer|compiler)\/.*)$/.test(name) && statSync(join(dist, name)).isFile(),
  );
  const hashOf = (name: string): string => {
    const code = readFileSync(join(dist, name), 'latin1');
    // The packages of the other checkout are links to those of this one, whose paths esbuild writes; the first line is a hash of them.
    const settled = code.replaceAll(/"[^"\n]*?node_modules\//g, '"node_modules/').replace(/^\/\*[0-9a-f]{16}\*\//, '');
    return createHash('sha256').update(settled).digest('hex');
  };
  return Object.fromEntries(names.sort().map((name) => [name, hashOf(name)]));
}

const manifest = `name: c
version: 1.0.0
artifacts: [{ name: svc-tool-editor, version: 1.0.0 }]
inference: { model: script, driver: { artifact: svc-driver-script, config: { script: script.yaml } } }
`;
const script = '- content: [{ type: text, text: Done. }]\n  stop_reason: end_turn\n';

describe('another checkout of the same commit', { timeout: 1_200_000 }, () => {
  it('has programs, bundled artifacts and a tarball of the guest of the same bytes, and takes a svc.lock that this one made', async () => {
    const recorded = JSON.parse(readFileSync(join(root, 'artifacts', 'sums.json'), 'utf8')) as Record<string, string>;
    const names = Object.keys(recorded).filter((ref) => isWhole || few.has(ref.split('@')[0] ?? ''));
    const wanted = Object.fromEntries(names.map((ref) => [ref, recorded[ref]]));
    for (let round = 1; round <= rounds; round += 1) {
      const checkout = otherCheckout(round);
      expect(archivesOf(checkout), `round ${round}`).toEqual(wanted);
      expect(programsOf(checkout), `round ${round}`).toEqual(programsOf(root));
      expect(readdirSync(join(checkout, 'dist', 'guest'))).toEqual(readdirSync(join(root, 'dist', 'guest')));
      for (const tarball of readdirSync(join(root, 'dist', 'guest'))) {
        expect(readFileSync(join(checkout, 'dist', 'guest', tarball))).toEqual(
          readFileSync(join(root, 'dist', 'guest', tarball)),
        );
      }
      if (round === rounds) await expectLockTaken(checkout);
      rmSync(checkout, { recursive: true });
    }
  });
});

async function expectLockTaken(checkout: string): Promise<void> {
  const workspace = makeWorkspace({ 'svc.yaml': manifest, 'script.yaml': script });
  try {
    expect((await svc(workspace, ['install'])).code).toBe(0);
    const lock = readFileSync(join(workspace.folder, 'svc.lock'), 'utf8');
    rmSync(join(workspace.folder, '.svc'), { recursive: true });
    const env = { PATH: process.env['PATH'], HOME: workspace.home, SVC_CONTAINMENT_CEILING: 'advisory' };
    for (const args of [
      ['install', '--frozen'],
      ['run', '--task', 'x'],
    ]) {
      const program = join(checkout, 'bin', 'svc.cjs');
      const { code, stderr } = await new ProgramProcess(program, args, { cwd: workspace.folder, env }).ended;
      expect(code, stderr).toBe(0);
    }
    expect(readFileSync(join(workspace.folder, 'svc.lock'), 'utf8')).toBe(lock);
  } finally {
    workspace.remove();
  }
}
