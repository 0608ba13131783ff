import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';
import { afterAll, beforeAll, expect, it } from 'vitest';

const source = fileURLToPath(new URL('../../../terminal/src/keyboard/history.ts', import.meta.url));
/** Opens the history of a home, and on a word adds texts that begin with its own letter. Prints its warnings, and the newest text. */
const adder = `
import { History } from ${JSON.stringify(source)};
const [home, letter, count] = process.argv.slice(2);
const { history } = History.open(home, { isKept: true });
process.stdout.write('open ');
process.stdin.once('data', () => {
  const warnings = [];
  for (let index = 0; index < Number(count); index += 1) {
    const warning = history.add(letter + index);
    if (warning !== null) warnings.push(warning.code + ' ' + warning.message);
  }
  process.stdout.write(JSON.stringify({ warnings, newest: history.previous('') }), () => process.exit(0));
});
`;

let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-history-'));
  await build({
    stdin: { contents: adder, resolveDir: folder, loader: 'ts' },
    outfile: join(folder, 'adder.mjs'),
    tsconfig: fileURLToPath(new URL('../../../../tsconfig.json', import.meta.url)),
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('the history of several chats at once loses no text, also while one of them cuts the file', async () => {
  const home = mkdtempSync(join(folder, 'home-'));
  const file = join(home, '.svc', 'history');
  mkdirSync(join(home, '.svc'));
  writeFileSync(file, Array.from({ length: 1090 }, (_, index) => `"old ${index}"\n`).join(''));
  const children: ChildProcess[] = ['a', 'b', 'c', 'd'].map((letter) =>
    spawn(process.execPath, [join(folder, 'adder.mjs'), home, letter, '200'], { stdio: ['pipe', 'pipe', 'inherit'] }),
  );
  await Promise.all(children.map((child) => once(child.stdout!, 'data')));
  for (const child of children) child.stdin?.write('go');
  const codes = await Promise.all(children.map(async (child) => (await once(child, 'exit'))[0] as number));
  expect(codes).toEqual([0, 0, 0, 0]);
  const kept = readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    // A line that seemed to be written in part was ended first.
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as string);
  for (const letter of 'abcd') {
    // A line that was added while the file was cut may stand behind the next one.
    const own = new Set(kept.filter((text) => text.startsWith(letter)));
    expect(own).toEqual(new Set(Array.from({ length: 200 }, (_, index) => `${letter}${index}`)));
  }
  // It was cut, by several of them.
  expect(kept.length).toBeLessThan(1300);
  expect(kept).not.toContain('old 0');
});

/** Whether a file system of its own can be made for a process. */
function canMount(): boolean {
  try {
    execFileSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'none', '/mnt'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

it.skipIf(!canMount()).each([
  ['is full', '', 'W-RUN-128 ~/.svc/history cannot be written: no space left on the device'],
  [
    'is read-only',
    'mount -o remount,ro "$1" &&',
    'W-RUN-128 ~/.svc/history cannot be written: the file system is read-only',
  ],
])(
  'the history of a chat on a file system that %s warns once and goes on (skipped without unshare)',
  (_name, also, message) => {
    const home = join(folder, 'small');
    mkdirSync(home, { recursive: true });
    const script = `mount -t tmpfs -o size=12k none "$1" && mkdir "$1/.svc" && ${also} echo go | "$2" "$3" "$1" x 2000`;
    const args = ['-rm', 'sh', '-c', script, 'sh', home, process.execPath, join(folder, 'adder.mjs')];
    const told = execFileSync('unshare', args, { encoding: 'utf8' });
    expect(told).toBe(`open ${JSON.stringify({ warnings: [message], newest: 'x1999' })}`);
  },
);
