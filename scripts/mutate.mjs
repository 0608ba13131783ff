// @ts-check
// Breaks clauses one at a time, in a copy of the checkout, and wants the tests that name each to fail.
// npm run mutate -- <topic, clause or mutation>... | --all [--sample <n>] [--seed <text>] [--within <seconds>]

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { parseClauses } from './conformance-count.mjs';
import { CheckoutCopy } from './mutation-copy.mjs';
import { choose, mutate, readMutations } from './mutation-list.mjs';

/**
 * @typedef {import('./mutation-list.mjs').Mutation} Mutation
 * @typedef {{ kind: 'killed' | 'survived' | 'skipped' | 'error', text: string }} Verdict
 */

const checkout = fileURLToPath(new URL('..', import.meta.url));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: 'boolean', default: false },
    sample: { type: 'string' },
    seed: { type: 'string' },
    within: { type: 'string' },
  },
});
if (values.all === positionals.length > 0 && values.sample === undefined) {
  console.error('Name topics (D1-CARD), clauses or mutations, or say --all or --sample <n>.');
  process.exit(2);
}
const seed = values.seed ?? spawnSync('git', ['rev-parse', 'HEAD'], { cwd: checkout, encoding: 'utf8' }).stdout.trim();
const sample = values.sample === undefined ? undefined : Number(values.sample);
const chosen = choose(readMutations(`${checkout}/test/mutations`), { topics: positionals, sample, seed });
const clauses = new Set(
  parseClauses(readFileSync(`${checkout}/docs/conformance/clauses.tsv`, 'utf8')).map(({ id }) => id),
);
const begun = performance.now();
const withinMs = values.within === undefined ? Infinity : Number(values.within) * 1000;

const copy = new CheckoutCopy(checkout);
process.once('exit', () => copy.remove());
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

/** @type {Map<Mutation, Verdict>} */
const verdicts = new Map();
const sampled = sample === undefined ? '' : `, drawn with the seed ${seed}`;
console.log(`${chosen.length} mutations${sampled}`);
for (const mutation of chosen) {
  const odd = whyNotApplicable(mutation);
  if (odd !== null) tell(mutation, { kind: 'error', text: odd });
}
const failsWithout = await runWithoutMutations();
for (const mutation of remaining()) {
  if (performance.now() - begun > withinMs) break;
  const started = performance.now();
  const verdict = await judge(mutation);
  tell(mutation, verdict, performance.now() - started);
}
process.exitCode = summarize();

/** @param {Mutation} mutation */
function whyNotApplicable({ clause, file, old, new: replacement }) {
  if (!clauses.has(clause)) return 'no document has this clause';
  if (!copy.has(file)) return `not applicable: there is no ${file}`;
  const source = copy.read(file);
  const mutated = mutate(source, { clause, file, old, new: replacement, name: '', breaks: '' });
  if (mutated === null) return `not applicable: ${file} does not hold, exactly once: ${old.trim()}`;
  if (mutated === source) return 'changes nothing';
  return copy.filesNaming(clause).length === 0 ? 'no test names this clause' : null;
}

/** Those that nothing has been said about. */
function remaining() {
  return chosen.filter((mutation) => !verdicts.has(mutation));
}

/**
 * Makes the mutation in the copy; the returned function takes it back.
 * @param {Mutation} mutation
 */
function apply(mutation) {
  const source = copy.read(mutation.file);
  const mutated = mutate(source, mutation);
  if (mutated === null) throw new Error(`${mutation.name} was applicable a moment ago`);
  copy.write(mutation.file, mutated);
  return () => copy.write(mutation.file, source);
}

/** The tests without any mutation: what fails then says nothing about one. */
async function runWithoutMutations() {
  const ids = [...new Set(remaining().map(({ clause }) => clause))];
  const files = [...new Set(ids.flatMap((id) => copy.filesNaming(id)))];
  const output = files.length === 0 ? null : await copy.build();
  if (output !== null) throw new Error(`the checkout cannot be built:\n${output}`);
  const { tests, broken } = files.length === 0 ? { tests: [], broken: [] } : await copy.test(files, ids);
  for (const fault of broken) console.log(`without a mutation: ${fault}`);
  return [
    ...tests.filter(({ state }) => state === 'failed').map(({ file, title }) => ({ file, title })),
    ...broken.map((fault) => ({ file: fault.split(' ')[0] ?? '', title: '' })),
  ];
}

/**
 * @param {Mutation} mutation
 * @returns {Promise<Verdict>}
 */
async function judge(mutation) {
  const files = copy.filesNaming(mutation.clause);
  const failing = failsWithout.filter(
    ({ file, title }) => files.includes(file) && (title === '' || title.includes(mutation.clause)),
  );
  if (failing.length > 0) return { kind: 'error', text: `fails without it: ${failing[0]?.file}: ${failing[0]?.title}` };
  const restore = apply(mutation);
  try {
    const output = await copy.build();
    if (output !== null) return { kind: 'error', text: `does not build, or runs no capsule:\n${output}` };
    return verdictOf(await copy.test(files, [mutation.clause], { untilFailed: true }));
  } finally {
    restore();
  }
}

/**
 * @param {import('./mutation-copy.mjs').TestRun} run
 * @returns {Verdict}
 */
function verdictOf({ tests, broken, hung }) {
  if (hung) return { kind: 'error', text: 'its tests come to no end' };
  const failed = tests.find(({ state }) => state === 'failed');
  if (failed !== undefined) {
    const how = /^Error: (Test|Hook) timed out/.test(failed.message) ? ' (by its time limit)' : '';
    return { kind: 'killed', text: `${failed.file}: ${failed.title}${how}` };
  }
  if (broken.length > 0) return { kind: 'error', text: broken.join('; ') };
  const passed = tests.map(({ file, title }) => `${file}: ${title}`);
  if (passed.length === 0) return { kind: 'skipped', text: 'every test that names it is skipped here' };
  return { kind: 'survived', text: `these passed:\n    ${passed.join('\n    ')}` };
}

/**
 * @param {Mutation} mutation
 * @param {Verdict} verdict
 * @param {number} [tookMs]
 */
function tell(mutation, verdict, tookMs) {
  verdicts.set(mutation, verdict);
  const took = tookMs === undefined ? '' : ` ${(tookMs / 1000).toFixed(1)} s`;
  console.log(`${verdict.kind.padEnd(8)} ${mutation.name}${took}  ${verdict.text}`);
  if (verdict.kind !== 'killed') console.log(`    ${mutation.file}: ${mutation.breaks}`);
}

/** The exit code. */
function summarize() {
  const all = [...verdicts.values()];
  /** @param {Verdict['kind']} kind */
  const count = (kind) => all.filter((verdict) => verdict.kind === kind).length;
  const left = chosen.length - all.length;
  const judged = count('killed') + count('survived');
  const share = judged === 0 ? '' : ` (${((100 * count('killed')) / judged).toFixed(1)} % of ${judged})`;
  console.log(
    `\n${count('killed')} killed${share}, ${count('survived')} survived, ${count('error')} errors, ` +
      `${count('skipped')} skipped, ${left} not reached, in ${((performance.now() - begun) / 1000).toFixed(0)} s`,
  );
  return count('survived') + count('error') === 0 ? 0 : 1;
}
