// @ts-check
// Brings what makes components of other languages, for the tests of tools in them: node scripts/guest-toolchains.mjs [rust ...]
// For each language it prints the folders that go in front of PATH, or why this machine cannot have it.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

// Not below the checkout: the next one need not compile them again, and npm would link to packages of the checkout.
const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'svc-guest-toolchains');

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
  c: () => {
    const compiler = whyNotInstalled(['clang-19', 'lld-19', 'libclang-rt-19-dev-wasm32', 'wasi-libc']);
    if (compiler !== null) return { reason: compiler };
    const [crate, version, folder] = ['wit-bindgen-cli', '0.57.1', join(cache, 'c')];
    const path = [join(folder, 'bin')];
    if (run(join(folder, 'bin', 'wit-bindgen'), '--version').printed === `${crate} ${version}`) return { path };
    // The debug profile compiles in a third of the time.
    const options = ['--debug', '--locked', '--root', folder, '--no-default-features', '--features', 'c'];
    const { failed } = run('cargo', 'install', ...options, '--version', version, crate);
    return failed === null ? { path } : { reason: `needs ${crate} ${version}: ${failed}` };
  },
  starlingmonkey: () => {
    const folder = join(cache, 'starlingmonkey');
    // It imports the shim and does not say that it depends on it.
    const wanted = ['@bytecodealliance/componentize-js@0.23.0', '@bytecodealliance/preview2-shim@0.25.0'];
    const path = [join(folder, 'node_modules', '.bin')];
    const options = ['--no-save', '--no-package-lock', '--prefer-offline', '--prefix', folder];
    const { failed } = run('npm', 'install', ...options, ...wanted);
    return failed === null ? { path } : { reason: `needs ${wanted.join(' and ')}: ${failed}` };
  },
};

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
 * Installs packages of Debian where root can: null, or why they cannot be had.
 * @param {readonly string[]} packages
 */
function whyNotInstalled(packages) {
  const missing = `needs ${packages.join(', ')}`;
  if (packages.every((each) => run('dpkg', '--status', each).failed === null)) return null;
  if (process.getuid?.() !== 0) return `${missing}, which only root can install`;
  const { failed } = oneAfterAnother(
    ['apt-get', '-q', 'update'],
    ['apt-get', '-q', '-o', 'DPkg::Lock::Timeout=120', 'install', '-y', '--no-install-recommends', ...packages],
  );
  return failed === null ? null : `${missing}: ${failed}`;
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

const asked = process.argv.slice(2);
for (const language of asked.length === 0 ? Object.keys(toolchains) : asked) {
  const brought = toolchains[language]?.() ?? { reason: 'no such language is known' };
  console.log(`${language} ${'reason' in brought ? `skipped: ${brought.reason}` : `ready: ${brought.path.join(':')}`}`);
}
