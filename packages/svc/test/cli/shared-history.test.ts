import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';
import { afterAll, beforeAll, expect, it } from 'vitest';

const source = fileURLToPath(new URL('../../src/cli/keyboard/history.ts', import.meta.url));
/** Opens the history of a home, and once it is told to, adds texts that begin with its own letter. */
const adder = `
import { History } from ${JSON.stringify(source)};
const [home, letter, count] = process.argv.slice(2);
const { history } = History.open(home, { isKept: true });
process.stdout.write('open');
process.stdin.once('data', () => {
  for (let index = 0; index < Number(count); index += 1) {
    const warning = history.add(letter + index);
    if (warning !== null) throw warning;
  }
  process.exit(0);
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
  const file = join(folder, '.svc', 'history');
  mkdirSync(join(folder, '.svc'));
  writeFileSync(file, Array.from({ length: 1090 }, (_, index) => `"old ${index}"\n`).join(''));
  const children: ChildProcess[] = ['a', 'b', 'c', 'd'].map((letter) =>
    spawn(process.execPath, [join(folder, 'adder.mjs'), folder, letter, '200'], { stdio: ['pipe', 'pipe', 'inherit'] }),
  );
  await Promise.all(children.map((child) => once(child.stdout!, 'data')));
  for (const child of children) child.stdin?.write('go');
  const codes = await Promise.all(children.map(async (child) => (await once(child, 'exit'))[0] as number));
  expect(codes).toEqual([0, 0, 0, 0]);
  const kept = readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as string);
  for (const letter of 'abcd') {
    // One that was added while the file was cut may stand behind the next.
    const own = new Set(kept.filter((text) => text.startsWith(letter)));
    expect(own).toEqual(new Set(Array.from({ length: 200 }, (_, index) => `${letter}${index}`)));
  }
  // It was cut, by several of them.
  expect(kept.length).toBeLessThan(1300);
  expect(kept).not.toContain('old 0');
});
