// @ts-check
// A copy of the checkout in which mutations are made, built and tested, so that the checkout itself is never touched.

import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { mayName } from './mutation-list.mjs';

/**
 * @typedef {{ file: string, title: string, state: 'passed' | 'failed' | 'skipped', message: string }} TestOutcome
 * @typedef {{ tests: TestOutcome[], broken: string[], hung: boolean }} TestRun `broken` says which files could not be run at all.
 */

/** A run of the tests of one clause that takes longer has come to a stand. */
const maxRunMs = 300_000;

export class CheckoutCopy {
  /** @type {string} */
  folder;
  /** What runs then is ended, as of `performance.now()`. */
  deadline = Infinity;
  /** @type {string[]} */
  #testFiles;
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #running;

  /** @param {string} checkout */
  constructor(checkout) {
    this.folder = mkdtempSync(join(tmpdir(), 'svc-mutate-'));
    const listed = spawnSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
      cwd: checkout,
      encoding: 'utf8',
    });
    if (listed.status !== 0) throw new Error(`git cannot list the files of ${checkout}: ${listed.stderr}`);
    for (const file of listed.stdout.split('\0').filter((path) => path !== '')) {
      // A file that was deleted and not committed is listed too.
      if (!existsSync(join(checkout, file))) continue;
      mkdirSync(dirname(join(this.folder, file)), { recursive: true });
      cpSync(join(checkout, file), join(this.folder, file), { verbatimSymlinks: true });
    }
    symlinkSync(join(checkout, 'node_modules'), join(this.folder, 'node_modules'));
    // Built anew where it does not fit; copied first, since most of it does.
    if (existsSync(join(checkout, 'dist')))
      cpSync(join(checkout, 'dist'), join(this.folder, 'dist'), { recursive: true });
    this.#testFiles = ['packages', 'test', 'artifacts'].flatMap((root) =>
      readdirSync(join(this.folder, root), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.test.ts'))
        .map((file) => join(root, file)),
    );
  }

  /** @param {string} file */
  read(file) {
    return readFileSync(join(this.folder, file), 'utf8');
  }

  /**
   * @param {string} file
   * @param {string} text
   */
  write(file, text) {
    writeFileSync(join(this.folder, file), text);
  }

  /** @param {string} file */
  has(file) {
    return existsSync(join(this.folder, file));
  }

  /**
   * The test files in which the clause is named.
   * @param {string} clause
   */
  filesNaming(clause) {
    return this.#testFiles.filter((file) => mayName(this.read(file), clause));
  }

  /**
   * Builds what has changed since the last time, all of it at first. What the build says when it fails, else null. The build runs a
   * capsule, so a program that can no longer do that has not been built either.
   */
  async build() {
    const { code, output } = await this.#run(['scripts/build.mjs', '--plan=mutation-plan.json'], {});
    return code === 0 ? null : output;
  }

  /**
   * The test files, as far as they are there. One of them has to fail.
   * @param {Pick<import('./mutation-list.mjs').Mutation, 'clause' | 'tests'>} mutation
   */
  filesOf({ clause, tests }) {
    return clause === '' ? tests.filter((file) => this.#testFiles.includes(file)) : this.filesNaming(clause);
  }

  /**
   * Runs the tests of these files whose titles name one of the clauses, or all of them without clauses; with `untilFailed` no more once one has failed. `hung` when they
   * were ended: at the deadline, or those of a single clause after five minutes.
   * @param {readonly string[]} files
   * @param {readonly string[]} clauses
   * @param {{ untilFailed?: boolean }} [options]
   * @returns {Promise<TestRun>}
   */
  async test(files, clauses, { untilFailed = false } = {}) {
    const report = join(this.folder, 'mutation-report.json');
    rmSync(report, { force: true });
    const { code, output } = await this.#run(
      [
        'node_modules/vitest/vitest.mjs',
        'run',
        ...files,
        ...(clauses.length === 0 ? [] : ['--testNamePattern', `\\[[^\\]]*\\b(${clauses.join('|')})\\b[^\\]]*\\]`]),
        '--retry=0',
        '--reporter=json',
        `--outputFile=${report}`,
        ...(untilFailed ? ['--bail=1'] : []),
      ],
      { SVC_TEST_DIST: 'built' },
      clauses.length <= 1 ? maxRunMs : undefined,
    );
    if (code === null) return { tests: [], broken: [], hung: true };
    if (!existsSync(report)) return { tests: [], broken: [`the tests could not be run:\n${output}`], hung: false };
    return readReport(this.folder, readFileSync(report, 'utf8'));
  }

  /** Ends what runs in the copy, and removes it. */
  remove() {
    endGroup(this.#running?.pid);
    // What was ended a moment ago may still be writing.
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }

  /**
   * @param {readonly string[]} args of Node
   * @param {Record<string, string>} env
   * @param {number} [limitMs]
   * @returns {Promise<{ code: number | null, output: string }>} No code when it took longer than the limit, or the deadline passed.
   */
  async #run(args, env, limitMs = Infinity) {
    return await new Promise((resolve, reject) => {
      // A group of its own: what the tests started ends with them.
      const child = spawn(process.execPath, args, {
        cwd: this.folder,
        env: { ...process.env, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      });
      this.#running = child;
      let output = '';
      let hung = false;
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
      const limit = Math.min(limitMs, Math.max(1, this.deadline - performance.now()));
      const timer = limit === Infinity ? undefined : setTimeout(() => ((hung = true), endGroup(child.pid)), limit);
      child.once('error', reject);
      child.once('exit', (code, signal) => {
        clearTimeout(timer);
        endGroup(child.pid);
        resolve({ code: hung ? null : (code ?? (signal === null ? 0 : 1)), output });
      });
    });
  }
}

/** @param {number | undefined} pid */
function endGroup(pid) {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nothing of it is left.
  }
}

/**
 * @param {string} folder
 * @param {string} json
 * @returns {TestRun}
 */
function readReport(folder, json) {
  /** @type {{ testResults: { name: string, status: string, message: string, assertionResults: { fullName: string, status: string, failureMessages?: string[] }[] }[] }} */
  const report = JSON.parse(json);
  const broken = report.testResults
    .filter(
      ({ status, assertionResults }) =>
        status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
    )
    .map(({ name, message }) => `${name.slice(folder.length + 1)} could not be run: ${message.split('\n')[0]}`);
  const tests = report.testResults.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'passed' || status === 'failed')
      .map((test) => ({
        file: name.slice(folder.length + 1),
        title: test.fullName,
        state: /** @type {'passed' | 'failed'} */ (test.status),
        message: test.failureMessages?.[0] ?? '',
      })),
  );
  return { tests, broken, hung: false };
}
