// @ts-check
// Tries svc with what test/compatibility.yaml lists, records what held, and writes docs/compatibility.md:
// node scripts/compatibility.mjs [<part of a name>...]
// What cannot be tried on this machine stays as it was recorded. A failure is recorded nowhere, and ends with status 1.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { startVitest } from 'vitest/node';
import { parse } from 'yaml';

const root = fileURLToPath(new URL('..', import.meta.url));
const recordsFile = join(root, 'test/compatibility.json');
export const pageFile = join(root, 'docs/compatibility.md');

/**
 * @typedef {object} Row
 * @property {string} name
 * @property {'client' | 'provider' | 'server' | 'toolchain' | 'registry'} kind
 * @property {{ readonly file: string, readonly as: string }} [pinned] Where its version stands, and a pattern with one group.
 * @property {string} [machine] Prints the version of what this machine has.
 * @property {readonly string[]} [tests]
 * @property {string} [only] Part of the names of those that count.
 * @property {string} [command] Run in place of tests.
 * @property {string} tried
 *
 * @typedef {object} Held
 * @property {string} version
 * @property {number} passed Tests, or 1 for a command.
 * @property {number} skipped
 */

/** What is tried, as it is listed. @returns {readonly Row[]} */
export function rows() {
  return parse(readFileSync(join(root, 'test/compatibility.yaml'), 'utf8'));
}

/** Those with one of the parts in their name or as their kind, all without one. Throws for a part that none has. @param {readonly string[]} parts */
export function chosenRows(parts) {
  /** @param {Row} row @param {string} part */
  const has = (row, part) => row.name.includes(part) || row.kind === part;
  const unknown = parts.find((part) => !rows().some((row) => has(row, part)));
  if (unknown !== undefined) throw new Error(`nothing in test/compatibility.yaml has ${unknown} in its name`);
  return rows().filter((row) => parts.length === 0 || parts.some((part) => has(row, part)));
}

/** The walls, which every run of the tests plays, each with the kind of what is played. */
const walls = /** @type {const} */ ({
  'mcp-clients': 'client',
  providers: 'provider',
  'mcp-servers': 'server',
  registries: 'registry',
});

/** @param {Row['kind']} kind @returns {readonly string[]} */
function wallLines(kind) {
  return Object.entries(walls)
    .filter(([, each]) => each === kind)
    .flatMap(([wall]) =>
      readdirSync(join(root, 'test/wall', wall)).map((name) => wallLine(`test/wall/${wall}/${name}`)),
    );
}

/** @param {string} path */
function wallLine(path) {
  const { source, date, ...rest } = parse(readFileSync(join(root, path), 'utf8'));
  /** @type {readonly { readonly each?: readonly string[] }[]} */
  const cases = Object.values(rest).flatMap((part) => (typeof part === 'object' ? Object.values(part) : []));
  const count = cases.reduce((sum, { each }) => sum + (each?.length ?? 1), 0);
  return `| ${source} | ${date} | \`${path.slice('test/wall/'.length)}\` | ${count} cases |`;
}

/** The version that the tests have now; null where only a run finds out. @param {Row} row */
export function pinnedVersion({ pinned }) {
  if (pinned === undefined) return null;
  const [, version] = new RegExp(pinned.as).exec(readFileSync(join(root, pinned.file), 'utf8')) ?? [];
  if (version === undefined) throw new Error(`${pinned.file} has no ${pinned.as}`);
  return version;
}

/** @returns {Record<string, Held>} By the name of a row. */
export function records() {
  return JSON.parse(readFileSync(recordsFile, 'utf8'));
}

const titles = {
  client: 'Clients',
  provider: 'Model providers',
  server: 'MCP servers',
  toolchain: 'Toolchains',
  registry: 'OCI registries',
};

/** The page: what was recorded of each row. @param {Readonly<Record<string, Held>>} held */
export function renderPage(held) {
  const tables = Object.entries(titles).map(([kind, title]) => {
    const lines = rows()
      .filter((row) => row.kind === kind)
      .map((row) => lineOf(row, held[row.name]));
    lines.push(...wallLines(/** @type {Row['kind']} */ (kind)));
    return `## ${title}\n\n| Who | Version or day | What was tried | What held |\n|---|---|---|---|\n${lines.join('\n')}\n`;
  });
  return `# What svc was tried with

\`node scripts/compatibility.mjs\` writes this page from the results of tests. A test fails when a version has changed since.
Every run of the tests plays what others sent, which is in the files of \`test/wall\`.
[CONTRIBUTING](../CONTRIBUTING.md#what-others-send) says how a report becomes a case.

${tables.join('\n')}`;
}

/** @param {Row} row @param {Held | undefined} held */
function lineOf({ name, tried, command }, held) {
  if (held === undefined) return `| ${name} | | ${tried} | not tried yet |`;
  const skipped = held.skipped === 0 ? '' : `, ${held.skipped} skipped`;
  const what =
    command === undefined ? `${held.passed} ${held.passed === 1 ? 'test' : 'tests'}${skipped}` : 'all that it should';
  return `| ${name} | ${held.version} | ${tried} | ${what} |`;
}

/** Runs what a row tries. A text says why nothing is recorded. @param {Row} row @returns {Promise<Held | string>} */
async function tryRow(row) {
  const version = pinnedVersion(row) ?? machineVersion(row.machine ?? '');
  if (version === null) return 'cannot be tried here';
  const counted = row.command === undefined ? await runTests(row) : runCommand(row.command);
  if (counted.failed) {
    process.exitCode = 1;
    return 'does not hold';
  }
  const { passed, skipped } = counted;
  return passed === 0 ? 'cannot be tried here' : { version, passed, skipped };
}

/** @param {string} command */
function machineVersion(command) {
  const [program = '', ...args] = command.split(' ');
  const { stdout } = spawnSync(program, args, { encoding: 'utf8' });
  return /\d+(?:\.\d+)+/.exec(stdout ?? '')?.[0] ?? null;
}

/** @param {string} command */
function runCommand(command) {
  const [program = '', ...args] = command.split(' ');
  const { status, stdout } = spawnSync(program, args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  console.log(stdout);
  // 69 is "unavailable": what it needs cannot be had here.
  const isSkipped = status === 69 || /\bskipped: /.test(stdout);
  return { passed: isSkipped ? 0 : 1, skipped: 0, failed: status !== 0 && !isSkipped };
}

/** @type {Map<string, readonly import('vitest/node').TestCase[]>} */
const ran = new Map();

/** @param {Row} row */
async function runTests({ tests = [], only = '' }) {
  const key = tests.join(' ');
  const cases = ran.get(key) ?? (await casesOf(tests));
  ran.set(key, cases);
  const states = cases.filter(({ fullName }) => fullName.includes(only)).map((each) => each.result().state);
  const count = (/** @type {string} */ state) => states.filter((each) => each === state).length;
  return { passed: count('passed'), skipped: count('skipped'), failed: count('failed') + count('pending') > 0 };
}

/** @param {readonly string[]} tests */
async function casesOf(tests) {
  /** @type {import('vitest/node').TestCase[]} */
  const cases = [];
  /** @type {import('vitest/node').Reporter} */
  const collector = {
    onTestRunEnd(modules) {
      for (const module of modules) cases.push(...module.children.allTests());
    },
  };
  const vitest = await startVitest('test', [...tests], { watch: false, reporters: ['default', collector] });
  await vitest.close();
  return cases;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const held = records();
  for (const row of chosenRows(process.argv.slice(2))) {
    const found = await tryRow(row);
    if (typeof found === 'string') console.log(`${row.name}: ${found}`);
    else held[row.name] = found;
  }
  const kept = rows().flatMap(({ name }) => (held[name] === undefined ? [] : [[name, held[name]]]));
  writeFileSync(recordsFile, `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`);
  writeFileSync(pageFile, renderPage(held));
}
