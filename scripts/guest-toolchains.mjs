// @ts-check
// Brings what makes components of other languages, for the tests of tools in them: node scripts/guest-toolchains.mjs [rust ...]
// Of each language it prints the folders that go in front of PATH, or why this machine cannot have it.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const cache = fileURLToPath(new URL('../node_modules/.cache/guest-toolchains/', import.meta.url));

/**
 * Installs what is not there yet.
 * @typedef {{ readonly path: readonly string[] } | { readonly reason: string }} Brought Folders for PATH, or the reason to skip.
 * @type {Readonly<Record<string, () => Brought>>}
 */
const toolchains = {
  rust: () => {
    const target = 'wasm32-wasip2';
    const libraries = run('rustc', '--print', 'target-libdir', '--target', target);
    if (libraries.failed !== null) return { reason: `needs Rust: ${libraries.failed}` };
    if (existsSync(libraries.printed)) return { path: [] };
    const { failed } = run('rustup', 'target', 'add', target);
    return failed === null ? { path: [] } : { reason: `needs the target ${target} of Rust: ${failed}` };
  },
  python: () => {
    const programs = join(cache, 'python', 'bin');
    const wanted = 'componentize-py==0.25.1';
    if (run(join(programs, 'componentize-py'), '--version').printed === wanted.replace('==', ' '))
      return { path: [programs] };
    const { failed } = oneAfterAnother(
      ['python3', '-m', 'venv', join(cache, 'python')],
      [join(programs, 'python'), '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', wanted],
    );
    return failed === null ? { path: [programs] } : { reason: `needs ${wanted}: ${failed}` };
  },
};

/**
 * @param {string} language
 * @returns {Brought}
 */
export function bringToolchain(language) {
  const bring = toolchains[language];
  return bring === undefined ? { reason: `nothing is known of the language ${language}` } : bring();
}

/**
 * Runs a program to its end: what it printed, or in one line why it failed.
 * @param {string} program
 * @param {readonly string[]} args
 */
function run(program, ...args) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 2 ** 26 });
  const failed = error?.message ?? (status === 0 ? null : (stderr.trim().split('\n').at(-1) ?? `ended with ${status}`));
  return { printed: (stdout ?? '').trim(), failed };
}

/**
 * The first that fails is the last.
 * @param {readonly [string, ...string[]][]} commands
 */
function oneAfterAnother(...commands) {
  for (const command of commands) {
    const { failed } = run(...command);
    if (failed !== null) return { failed };
  }
  return { failed: null };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const asked = process.argv.slice(2);
  for (const language of asked.length === 0 ? Object.keys(toolchains) : asked) {
    const brought = bringToolchain(language);
    console.log(
      `${language}: ${'reason' in brought ? `skipped: ${brought.reason}` : `ready ${brought.path.join(':')}`}`,
    );
  }
}
