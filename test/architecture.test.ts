import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';

import { describe, expect, it } from 'vitest';

import { scope } from '../scripts/own-names.mjs';
import { importsOf, readSources, type Sources, specifier, withoutComments } from './support/package-sources.ts';

/** The packages, the lowest first, as `paths` of tsconfig.json lists them: a package imports only packages that stand before it. */
const { compilerOptions } = readJson('../tsconfig.json') as { compilerOptions: { paths: object } };
const packages = Object.keys(compilerOptions.paths).map((name) => name.slice(scope.length, -'/*'.length));

/** `svc` on one side, its two servers and the page of the viewer on the other, know each other only over HTTP. */
const apart: ReadonlySet<string> = new Set(['viewer', 'svc', 'registry', 'referee']);

/** The `floors` of a package.json, highest first: a folder imports only from floors below its own. `.` is for the files beside the folders; they are lowest where it is left out. */
const floors: Readonly<Record<string, readonly (readonly string[])[] | undefined>> = Object.fromEntries(
  packages.map((name) => [name, (readJson(`../packages/${name}/package.json`) as { floors?: string[][] }).floors]),
);

/** What nothing that the referee loads may be, however many files away: it decides and runs nothing (D2). */
const closedToReferee = ['svc/', 'sandbox/', 'sandbox-check/', 'components/', 'node:child_process'];

/** Where time, chance and the process may be read: the program, what runs a capsule, terminals, and the files that exist to be their adapter. */
const ambientPlaces = ['svc/', 'capsule/', 'terminal/'];
const ambientAdapters: ReadonlySet<string> = new Set([
  // The clock of the page, in browsers.
  'viewer/src/text/page-clock.ts',
  // The clock of all programs.
  'kit/src/system-clock.ts',
  // Asks whether another process lives.
  'kit/src/process-stat.ts',
  // What WASI gives a component is this machine's own.
  'components/src/guest/clocks.ts',
  'components/src/guest/filesystem/descriptor.ts',
  'components/src/guest/offered-imports.ts',
  // A component runs in a process of its own: what starts it and signals it, and what in it ends with the session.
  'components/src/node-process.ts',
  'components/src/channel.ts',
  // Compiled code is kept for one engine; how a path is walked safely depends on the system.
  'components/src/compiler/compile-cache.ts',
  'components/src/filesystem-guard.ts',
  // Runs inside a component, whose world has a clock.
  'guest/src/provider/guest-ports.ts',
  // What is recorded of this process, and whose files it reads.
  'record/src/sessions/recorded-process.ts',
  // What the library learns of the process that uses it: where it is, and its user.
  'record/src/index.ts',
  // Signals a group of processes.
  'sandbox/src/child-group.ts',
  // Run in a browser, and draw or ask again by its clock.
  'viewer/src/page/draw-timeline.ts',
  'viewer/src/page/live-turn.tsx',
  // What the library learns of the process that uses it: where it is, its user, its search path.
  'sandbox/src/library/own-host.ts',
  // What a program begins with: arguments, environment, streams and signals of `svc-registry`, `svc-referee` and `svc-sandbox`.
  'registry/src/main.ts',
  'referee/src/main.ts',
  'sandbox/src/program/main.ts',
]);
// Timers are in `test/session-inputs.test.ts`, which lists each reader that a session can meet with its reason.
const ambientRead =
  /\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|\bMath\.random\b|\brandom(?:Bytes|Int|UUID|FillSync)\b[^}]*\} from 'node:crypto'|\bcrypto\.getRandomValues\b|(?<![\w.'"`$-])process\.\w+|'node:process'/;

/** Who opens connections. All others ask one of these, so what is mended here is mended everywhere. */
const connectors: ReadonlySet<string> = new Set([
  // For browsers; in programs of ours it is handed what stands for `fetch`.
  'client/src/http-door.ts',
  // The page asks the server that it came from, and its policy allows no other.
  'viewer/src/worker/byte-sources.ts',
  'kit/src/net/connections.ts',
  'kit/src/net/proxy.ts',
  'kit/src/net/proxied-connections.ts',
  // What a contained command may reach: each connection goes to an address that was checked a line before.
  'sandbox/src/egress/open-upstream.ts',
  'sandbox/src/egress/egress-proxy.ts',
  'capsule/src/stage/bound-programs.ts',
]);
const opensConnection =
  /import (?:\{[^}]*(?<!type )\b(?:request|get|Agent|connect|createConnection)\b[^}]*\}|\* as \w+) from 'node:(?:https?|net|tls|http2)'|(?:await|return|=>?|\()\s*(?:globalThis\.)?fetch\(/;

const maxLines = 400;

/** The one entry of a package whose users import a single thing. */
const entries: ReadonlySet<string> = new Set([
  'capsule/src/index.ts',
  'client/src/index.ts',
  'record/src/index.ts',
  'sandbox/src/index.ts',
]);

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));
}

function violations(sources: Sources): string[] {
  const found: string[] = [];
  for (const [file, source] of sources) {
    const lines = source.trimEnd().split('\n').length;
    if (lines > maxLines) found.push(`${file} has ${lines} lines`);
    if (!isPlaced(file)) found.push(`${file} is in no known folder`);
    if (/(^|\/)index\.ts$/.test(file) && !entries.has(file)) found.push(`${file} is a barrel`);
    if (file.endsWith('.test.ts')) continue;
    if (!saysWhatFor(file, source)) found.push(`${file} does not say what it is for`);
    if (/^import [^;]*;\n\n*\/[*/]{1,2} [^\n]*\n\n*import /m.test(source))
      found.push(`${file} has a comment between its imports`);
    const mayReadAmbient = isIn(file, ambientPlaces) || ambientAdapters.has(file);
    const ambient = mayReadAmbient ? null : ambientRead.exec(withoutComments(source));
    if (ambient !== null) found.push(`${file} reads ${ambient[0]}`);
    const opened = connectors.has(file) ? null : opensConnection.exec(withoutComments(source));
    if (opened !== null) found.push(`${file} opens connections itself`);
    if (leavesPackage(file, source)) found.push(`${file} imports another package by its place`);
    for (const imported of importsOf(file, source)) {
      if (!mayImport(file, imported)) found.push(`${file} imports ${imported}`);
    }
  }
  found.push(...circlesIn(sources).map((circle) => `${circle.join(' imports ')} is a circle`));
  for (const imported of reachedFrom('referee', sources)) {
    if (closedToReferee.some((closed) => imported.startsWith(closed))) found.push(`the referee reaches ${imported}`);
  }
  return found;
}

/** A file begins with a sentence, behind what a tool has to read first. */
function saysWhatFor(file: string, source: string): boolean {
  return file.endsWith('.d.ts') || /^(?:#!.*\n)?(?:\/\/ @ts-(?:no)?check\n)?\/[*/](?! @ts-)/.test(source);
}

function mayImport(file: string, imported: string): boolean {
  if (imported.startsWith('node:') || !/\.tsx?$/.test(imported)) return true;
  const [own, other] = [packageOf(file), packageOf(imported)];
  if (own === other) return floorOf(imported) > floorOf(file) || folderOf(imported) === folderOf(file);
  const isAbove = packages.includes(other) && packages.indexOf(other) < packages.indexOf(own);
  return isAbove && !(apart.has(own) && apart.has(other));
}

/** Another package has a name. */
function leavesPackage(file: string, source: string): boolean {
  const relative = [...withoutComments(source).matchAll(specifier)].flatMap(([, path = '']) =>
    path.startsWith('.') ? [posix.join(posix.dirname(file), path)] : [],
  );
  return relative.some((path) => packages.includes(packageOf(path)) && packageOf(path) !== packageOf(file));
}

/** A package has floors, and this is on one of them, or none at all. */
function isPlaced(file: string): boolean {
  const inside = floors[packageOf(file)]?.flat();
  const folder = folderOf(file);
  return packages.includes(packageOf(file)) && (inside === undefined || folder === '.' || inside.includes(folder));
}

/** The floor's number, counted from the highest; of a package without floors all is one. */
function floorOf(file: string): number {
  const inside = floors[packageOf(file)] ?? [];
  const index = inside.findIndex((floor) => floor.includes(folderOf(file)));
  return index < 0 ? inside.length : index;
}

function reachedFrom(name: string, sources: Sources): Set<string> {
  const reached = new Set([...sources.keys()].filter((file) => packageOf(file) === name && !file.endsWith('.test.ts')));
  // A set is walked in the order of insertion, so what is added here is visited too.
  for (const file of reached) for (const imported of importsOf(file, sources.get(file) ?? '')) reached.add(imported);
  return reached;
}

/** Circles of imports between files, those of types and `import()` included; each is given once, from its first file back to it. */
function circlesIn(sources: Sources): string[][] {
  const circles: string[][] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    const from = path.indexOf(file);
    if (from >= 0) circles.push([...path.slice(from), file]);
    if (from >= 0 || done.has(file) || !sources.has(file)) return;
    for (const imported of importsOf(file, sources.get(file) ?? '')) visit(imported, [...path, file]);
    done.add(file);
  };
  for (const file of sources.keys()) if (!file.endsWith('.test.ts')) visit(file, []);
  return circles;
}

function packageOf(path: string): string {
  return path.split('/')[0] ?? '';
}

/** The folder right below `src/` of a package that has floors; `.` for a file beside the folders, and where there are no floors. */
function folderOf(path: string): string {
  const [name = '', , folder = '', ...rest] = path.split('/');
  return floors[name] !== undefined && rest.length > 0 ? folder : '.';
}

/** Places are like `svc/run/` for `svc/src/run/`. */
function isIn(file: string, places: readonly string[]): boolean {
  return places.some((place) => file.replace('/src/', '/').startsWith(place));
}

/** A command prints through an `Output`, and only what is known to be clean is made so by hand. */
const streamWriter = 'terminal/src/screen/output.ts';
const cleaners: ReadonlySet<string> = new Set([
  'svc/src/run/script/script-output.ts',
  'terminal/src/screen/shown.ts',
  'terminal/src/screen/page.ts',
  // Writes down what `svc` says of itself.
  'svc/src/program/completion/completion.ts',
  'svc/src/program/help/help.ts',
  // Renderers that clean each text that they are given, and views that lay out what `InertText` has cleaned.
  'svc/src/shown/follow-stream.ts',
  'svc/src/shown/recorded-code.ts',
  // Modes of the terminal, and no text.
  'terminal/src/keyboard/raw-terminal.ts',
  'svc/src/shown/session-view.ts',
  'terminal/src/screen/live-screen.ts',
  'terminal/src/screen/screen.ts',
  'svc/src/sessions/logs/log-printer.ts',
  'svc/src/shown/transfer-view.ts',
  'terminal/src/screen/render-failure.ts',
  'svc/src/run/run-command.ts',
  'terminal/src/screen/table.ts',
  'svc/src/look-back/test/test-report.ts',
  'svc/src/look-back/trace/diff.ts',
  'terminal/src/screen/pager.ts',
  'svc/src/shown/watch-view.ts',
]);

/** What prints. */
const printers = ['svc/', 'terminal/'];

/** Ways past the one writer of the commands. */
function printingPast(sources: Sources): string[] {
  const found: string[] = [];
  const ownStream = /(?<!std(?:out|err)|output|#out|\bthis\.#context\.stderr)\.write\(/;
  for (const [file, source] of sources) {
    if (!isIn(file, printers) || file.endsWith('.test.ts')) continue;
    const code = withoutComments(source);
    if (file !== streamWriter && ownStream.test(code)) found.push(`${file} writes to a stream`);
    if (file !== 'svc/src/command/standard-streams.ts' && /\bprocess\.std(?:out|err)\b|\bconsole\./.test(code)) {
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
    ["process.stdout.write('x');", ['svc/src/run/a.ts opens a stream']],
    ["console.log('x');", ['svc/src/run/a.ts opens a stream']],
    ['socket.write(text);', ['svc/src/run/a.ts writes to a stream']],
    ['context.stdout.write(Shown.cleaned(text));', ['svc/src/run/a.ts calls a text clean']],
    ['context.stdout.write(say`x`);', []],
  ])('does not with %s', (source, found) => {
    expect(printingPast(new Map([['svc/src/run/a.ts', source]]))).toEqual(found);
  });
});

describe('what stands beside the packages', () => {
  it.each([
    ['artifacts', 20],
    ['bench', 50],
    ['test/support', 70],
  ])('says in each file what it is for: %s', (folder, least) => {
    const root = new URL(`../${folder}/`, import.meta.url);
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
      (file) => /\.(?:ts|mjs|cjs)$/.test(file) && !/(?:^|\/)node_modules\/|\.test\.ts$/.test(file),
    );
    expect(files.length).toBeGreaterThanOrEqual(least);
    expect(files.filter((file) => !saysWhatFor(file, readFileSync(new URL(file, root), 'utf8')))).toEqual([]);
  });

  it.each([
    ['// @ts-check\nimport { connect } from "node:net";', false],
    ['import { connect } from "node:net";', false],
    ['// @ts-check\n// Connects.\n', true],
    ['#!/usr/bin/env node\n// Serves.\n', true],
    ['/** Connects. */\n', true],
  ])('does so with %j: %s', (source, says) => {
    expect(saysWhatFor('a.ts', source)).toBe(says);
  });
});

describe('the architecture', () => {
  it('holds in every file', () => {
    expect(violations(readSources())).toEqual([]);
  });

  it.each([
    [
      'session/src/tools/a.ts',
      "import { b } from '../loop/b.ts';",
      'session/src/tools/a.ts imports session/src/loop/b.ts',
    ],
    ['session/src/tools/a.ts', "import type { B } from '../b.ts';", 'session/src/tools/a.ts imports session/src/b.ts'],
    [
      'session/src/tools/a.ts',
      "import { b } from '../model/b.ts';",
      'session/src/tools/a.ts imports session/src/model/b.ts',
    ],
    ['kit/src/files/a.ts', "import { b } from '../net/b.ts';", 'kit/src/files/a.ts imports kit/src/net/b.ts'],
    ['kit/src/a.ts', "import { b } from './files/b.ts';", 'kit/src/a.ts imports kit/src/files/b.ts'],
    [
      'artifacts/src/grants/a.ts',
      "import { b } from '../store/b.ts';",
      'artifacts/src/grants/a.ts imports artifacts/src/store/b.ts',
    ],
    [
      'protocol/src/a.ts',
      `import { b } from '${scope}kit/files/b.ts';`,
      'protocol/src/a.ts imports kit/src/files/b.ts',
    ],
    ['client/src/a.ts', `import { b } from '${scope}kit/files/b.ts';`, 'client/src/a.ts imports kit/src/files/b.ts'],
    ['sandbox/src/a.ts', `export * from '${scope}components/b.ts';`, 'sandbox/src/a.ts imports components/src/b.ts'],
    [
      'svc/src/run/a.ts',
      `const b = await import('${scope}referee/b.ts');`,
      'svc/src/run/a.ts imports referee/src/b.ts',
    ],
    ['registry/src/a.ts', `import { b } from '${scope}svc/run/b.ts';`, 'registry/src/a.ts imports svc/src/run/b.ts'],
    ['registry/src/a.ts', `export * from '${scope}referee/b.ts';`, 'registry/src/a.ts imports referee/src/b.ts'],
    [
      'svc/src/run/a.ts',
      "import '../../../kit/src/files/b.ts';",
      'svc/src/run/a.ts imports another package by its place',
    ],
    ['protocol/src/a.ts', "import '../../../bench/b.ts';", 'protocol/src/a.ts imports ../bench/b.ts'],
    ['referee/src/a.ts', "import { spawn } from 'node:child_process';", 'the referee reaches node:child_process'],
    ['session/src/task/a.ts', 'const at = Date.now();', 'session/src/task/a.ts reads Date.now'],
    ['session/src/task/a.ts', 'const at = new Date();', 'session/src/task/a.ts reads new Date()'],
    ['session/src/task/a.ts', 'const id = Math.random();', 'session/src/task/a.ts reads Math.random'],
    ['registry/src/a.ts', 'const at = performance.now();', 'registry/src/a.ts reads performance.now'],
    [
      'registry/src/a.ts',
      "import { createHash, randomBytes } from 'node:crypto';",
      "registry/src/a.ts reads randomBytes } from 'node:crypto'",
    ],
    ['artifacts/src/grants/a.ts', 'const home = process.env.HOME;', 'artifacts/src/grants/a.ts reads process.env'],
    [
      'artifacts/src/grants/a.ts',
      "import { env } from 'node:process';",
      "artifacts/src/grants/a.ts reads 'node:process'",
    ],
    ['svc/src/run/a.ts', "import { request } from 'node:http';", 'svc/src/run/a.ts opens connections itself'],
    ['registry/src/a.ts', "import * as https from 'node:https';", 'registry/src/a.ts opens connections itself'],
    ['svc/src/run/a.ts', 'const answer = await fetch(url);', 'svc/src/run/a.ts opens connections itself'],
    ['kit/src/files/a.ts', 'const a = 1;', 'kit/src/files/a.ts does not say what it is for'],
    [
      'svc/src/run/a.ts',
      "/** Runs. */\n\nimport { b } from './b.ts';\n\n/** Was run. */\n\nimport { c } from './c.ts';",
      'svc/src/run/a.ts has a comment between its imports',
    ],
    ['artifacts/src/store/index.ts', '', 'artifacts/src/store/index.ts is a barrel'],
    ['session/src/misc/a.ts', '', 'session/src/misc/a.ts is in no known folder'],
    ['misc/src/a.ts', '', 'misc/src/a.ts is in no known folder'],
    ['viewer/src/a.ts', `import { b } from '${scope}svc/run/b.ts';`, 'viewer/src/a.ts imports svc/src/run/b.ts'],
    [
      'viewer/src/text/a.tsx',
      "import { b } from '../page/b.tsx';",
      'viewer/src/text/a.tsx imports viewer/src/page/b.tsx',
    ],
  ])('breaks when %s holds %j', (file, source, violation) => {
    expect(violations(new Map([[file, source]]))).toContain(violation);
  });

  it('breaks with a file of more than 400 lines', () => {
    expect(violations(new Map([['sandbox/src/a.ts', `/** Is long. */${'\n'.repeat(400)}x`]]))).toEqual([
      'sandbox/src/a.ts has 401 lines',
    ]);
  });

  it('breaks with files that import each other, by types or later', () => {
    const sources = new Map([
      ['kit/src/a.ts', "/** Asks. */ import type { B } from './b.ts';"],
      ['kit/src/b.ts', "/** Passes on. */ export { c } from './c.ts';"],
      ['kit/src/c.ts', "/** Answers. */ const a = await import('./a.ts');"],
    ]);
    expect(violations(sources)).toEqual([
      'kit/src/a.ts imports kit/src/b.ts imports kit/src/c.ts imports kit/src/a.ts is a circle',
    ]);
  });

  it('breaks with a referee that reaches a closed folder through an open one', () => {
    const sources = new Map([
      ['referee/src/a.ts', `/** Asks. */ import { b } from '${scope}artifacts/grants/b.ts';`],
      ['artifacts/src/grants/b.ts', "/** Starts. */ import { spawn } from 'node:child_process';"],
    ]);
    expect(violations(sources)).toEqual(['the referee reaches node:child_process']);
  });

  it('allows a comment, a lower floor, a lower package, an installed one or a date of a given moment', () => {
    const source = [
      '/* process.env is for others */ // Date.now()',
      "import { z } from 'zod';",
      "import { b } from '../tools/b.ts';",
      `import { c } from '${scope}protocol/c.ts';`,
      'const day = new Date(ms);',
    ].join('\n');
    expect(violations(new Map([['session/src/task/a.ts', source]]))).toEqual([]);
  });
});
