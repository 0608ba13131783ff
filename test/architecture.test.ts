import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';

import { describe, expect, it } from 'vitest';

/** The floors of the house, highest first. A folder imports only from floors below its own. */
const floors = [
  ['cli'],
  ['capsule'],
  ['referee', 'registry'],
  ['listener'],
  ['session'],
  ['delegation', 'resources'],
  ['hooks'],
  ['tools', 'inference'],
  ['components'],
  ['containment'],
  ['store'],
  ['grants'],
  ['trace', 'manifest'],
  ['http'],
  ['wire', 'diagnostics'],
];

/** Beside the floors: `svc` on one side, its two servers on the other, know each other only over HTTP. */
const neverFrom: Record<string, readonly string[]> = {
  cli: ['referee', 'registry'],
  capsule: ['referee', 'registry'],
  referee: ['registry'],
  registry: ['referee'],
};

/** What nothing that the referee loads may be, however many files away: it decides and runs nothing (D2). */
const closedToReferee = ['session/', 'tools/', 'containment/', 'node:child_process'];

/** Where time, chance and the process may be read: the two top floors, and the files that exist to be their adapter. */
const ambientFolders = new Set(['cli', 'capsule']);
const ambientAdapters: ReadonlySet<string> = new Set([
  // What WASI gives a component is this machine's own.
  'components/guest/clocks.ts',
  'components/guest/filesystem/descriptor.ts',
  'components/guest/random.ts',
  'components/guest/offered-imports.ts',
  // A component runs in a process of its own: what starts it and signals it, and what in it ends with the session.
  'components/node-process.ts',
  'components/channel.ts',
  // Compiled code is kept for one engine; how a path is walked safely depends on the system.
  'components/compiler/compile-cache.ts',
  'components/filesystem-guard.ts',
  // Signals a group of processes.
  'containment/child-group.ts',
  // What a program begins with: arguments, environment, streams and signals of `svc-registry` and `svc-referee`.
  'registry/main.ts',
  'referee/main.ts',
]);
const ambientRead = /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|(?<![\w.'"`$-])process\.\w+|'node:process'/;

const maxLines = 400;

/** Path below `src/` to source text. */
type Sources = ReadonlyMap<string, string>;

function violations(sources: Sources): string[] {
  const found: string[] = [];
  for (const [file, source] of sources) {
    const folder = folderOf(file);
    const lines = source.trimEnd().split('\n').length;
    if (lines > maxLines) found.push(`${file} has ${lines} lines`);
    if (!floors.flat().includes(folder)) found.push(`${file} is in no known folder`);
    if (/(^|\/)index\.ts$/.test(file)) found.push(`${file} is a barrel`);
    if (file.endsWith('.test.ts')) continue;
    const mayReadAmbient = ambientFolders.has(folder) || ambientAdapters.has(file);
    const ambient = mayReadAmbient ? null : ambientRead.exec(withoutComments(source));
    if (ambient !== null) found.push(`${file} reads ${ambient[0]}`);
    for (const imported of importsOf(file, source)) {
      if (!mayImport(folder, imported)) found.push(`${file} imports ${imported}`);
    }
  }
  for (const imported of reachedFrom('referee', sources)) {
    if (closedToReferee.some((closed) => imported.startsWith(closed))) found.push(`the referee reaches ${imported}`);
  }
  return found;
}

function mayImport(folder: string, imported: string): boolean {
  const target = folderOf(imported);
  const own = floors.findIndex((floor) => floor.includes(folder));
  const other = floors.findIndex((floor) => floor.includes(target));
  if (imported.startsWith('node:') || !imported.endsWith('.ts') || target === folder) return true;
  return other > own && !(neverFrom[folder] ?? []).includes(target);
}

function reachedFrom(folder: string, sources: Sources): Set<string> {
  const reached = new Set(
    [...sources.keys()].filter((file) => folderOf(file) === folder && !file.endsWith('.test.ts')),
  );
  // A set is walked in the order of insertion, so what is added here is visited too.
  for (const file of reached) for (const imported of importsOf(file, sources.get(file) ?? '')) reached.add(imported);
  return reached;
}

/** What a file imports: a path below `src/`, or a package's or built-in module's name. */
function importsOf(file: string, source: string): string[] {
  const specifiers = withoutComments(source).matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\(\s*)'([^']+)'/g);
  return [...specifiers].map(([, specifier = '']) =>
    specifier.startsWith('.') ? posix.join(posix.dirname(file), specifier) : specifier,
  );
}

function folderOf(path: string): string {
  return path.split('/')[0] ?? '';
}

function withoutComments(source: string): string {
  return source.replaceAll(/\/\*[^]*?\*\//g, '').replaceAll(/(?<!:)\/\/.*$/gm, '');
}

function readSources(): Sources {
  const root = new URL('../src/', import.meta.url);
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  return new Map(files.map((file) => [file, readFileSync(new URL(file, root), 'utf8')]));
}

/** A command prints through an `Output`, and only what is known to be clean is made so by hand. */
const streamWriter = 'cli/terminal/output.ts';
const cleaners: ReadonlySet<string> = new Set([
  'cli/terminal/shown.ts',
  // Renderers that clean each text that they are given, and views that lay out what `InertText` has cleaned.
  'cli/follow-stream.ts',
  'cli/live-view.ts',
  'cli/progress-line.ts',
  'cli/render-failure.ts',
  'cli/run.ts',
  'cli/table.ts',
  'cli/watch-view.ts',
]);

/** Ways past the one writer of the commands. */
function printingPast(sources: Sources): string[] {
  const found: string[] = [];
  const ownStream = /(?<!std(?:out|err)|output|#out|\bthis\.#context\.stderr)\.write\(/;
  for (const [file, source] of sources) {
    if (folderOf(file) !== 'cli' || file.endsWith('.test.ts')) continue;
    const code = withoutComments(source);
    if (file !== streamWriter && ownStream.test(code)) found.push(`${file} writes to a stream`);
    if (file !== 'cli/standard-streams.ts' && /\bprocess\.std(?:out|err)\b|\bconsole\./.test(code)) {
      found.push(`${file} opens a stream`);
    }
    if (!cleaners.has(file) && /\bShown\.cleaned\(/.test(code)) found.push(`${file} calls a text clean`);
  }
  return found;
}

describe('what a command prints', () => {
  it('goes through one writer, which takes no plain text', () => {
    expect(printingPast(readSources())).toEqual([]);
  });

  it.each([
    ["process.stdout.write('x');", ['cli/a.ts opens a stream']],
    ["console.log('x');", ['cli/a.ts opens a stream']],
    ['socket.write(text);', ['cli/a.ts writes to a stream']],
    ['context.stdout.write(Shown.cleaned(text));', ['cli/a.ts calls a text clean']],
    ['context.stdout.write(say`x`);', []],
  ])('does not with %s', (source, found) => {
    expect(printingPast(new Map([['cli/a.ts', source]]))).toEqual(found);
  });
});

describe('the architecture', () => {
  it('holds in every file', () => {
    expect(violations(readSources())).toEqual([]);
  });

  it.each([
    ['wire/a.ts', "import { b } from '../cli/b.ts';", 'wire/a.ts imports cli/b.ts'],
    ['tools/a.ts', "import type { B } from '../hooks/b.ts';", 'tools/a.ts imports hooks/b.ts'],
    ['cli/a.ts', "const b = await import('../referee/b.ts');", 'cli/a.ts imports referee/b.ts'],
    ['registry/a.ts', "export * from '../referee/b.ts';", 'registry/a.ts imports referee/b.ts'],
    ['wire/a.ts', "import '../../bench/b.ts';", 'wire/a.ts imports ../bench/b.ts'],
    ['referee/a.ts', "import { spawn } from 'node:child_process';", 'the referee reaches node:child_process'],
    ['session/a.ts', 'const at = Date.now();', 'session/a.ts reads Date.now'],
    ['session/a.ts', 'const at = new Date();', 'session/a.ts reads new Date()'],
    ['session/a.ts', 'const id = Math.random();', 'session/a.ts reads Math.random'],
    ['grants/a.ts', 'const home = process.env.HOME;', 'grants/a.ts reads process.env'],
    ['grants/a.ts', "import { env } from 'node:process';", "grants/a.ts reads 'node:process'"],
    ['store/index.ts', '', 'store/index.ts is a barrel'],
    ['misc/a.ts', '', 'misc/a.ts is in no known folder'],
  ])('is broken when %s holds %j', (file, source, violation) => {
    expect(violations(new Map([[file, source]]))).toContain(violation);
  });

  it('is broken by a file of more than 400 lines', () => {
    expect(violations(new Map([['store/a.ts', `${'\n'.repeat(400)}x`]]))).toEqual(['store/a.ts has 401 lines']);
  });

  it('is broken by a referee that reaches a closed folder through an open one', () => {
    const sources = new Map([
      ['referee/a.ts', "import { b } from '../grants/b.ts';"],
      ['grants/b.ts', "import { spawn } from 'node:child_process';"],
    ]);
    expect(violations(sources)).toEqual(['the referee reaches node:child_process']);
  });

  it('is not broken by a comment, a lower floor, a package or a date of a given moment', () => {
    const source = [
      '/* process.env is for others */ // Date.now()',
      "import { z } from 'zod';",
      "import { b } from '../wire/b.ts';",
      'const day = new Date(ms);',
    ].join('\n');
    expect(violations(new Map([['session/a.ts', source]]))).toEqual([]);
  });
});
