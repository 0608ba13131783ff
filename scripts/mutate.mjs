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
import { failuresAlone, failuresOf, verdictOf, verdictWithout } from './mutation-verdict.mjs';

/**
 * @typedef {import('./mutation-list.mjs').Mutation} Mutation
 * @typedef {import('./mutation-verdict.mjs').Verdict} Verdict
 * @typedef {import('./mutation-verdict.mjs').Failure} Failure
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

/** So many are first tried without their mutations together: fewer starts of the tests, and little in vain when the time is up. */
const togetherWithout = 6;

const copy = new CheckoutCopy(checkout);
copy.deadline = begun + withinMs;
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
const todo = chosen.filter((mutation) => !verdicts.has(mutation));
for (let from = 0; from < todo.length && !isOver(); from += togetherWithout) {
  const group = todo.slice(from, from + togetherWithout);
  const failures = await failuresWithout(group);
  for (const mutation of group) {
    if (isOver()) break;
    const started = performance.now();
    const verdict = await judge(mutation, failures);
    if (verdict !== null) tell(mutation, verdict, performance.now() - started);
  }
}
process.exitCode = summarize();

/** @param {Mutation} mutation */
function whyNotApplicable({ clause, tests, file, old, new: replacement }) {
  if (clause !== '' && !clauses.has(clause)) return 'no document has this clause';
  if (!copy.has(file)) return `not applicable: there is no ${file}`;
  const source = copy.read(file);
  const mutated = mutate(source, { clause, tests, file, old, new: replacement, name: '', breaks: '' });
  if (mutated === null) return `not applicable: ${file} does not hold, exactly once: ${old.trim()}`;
  if (mutated === source) return 'changes nothing';
  const files = copy.filesOf({ clause, tests });
  if (clause !== '') return files.length > 0 ? null : 'no test names this clause';
  const gone = tests.filter((test) => !files.includes(test));
  return gone.length === 0 ? null : `not applicable: there is no ${gone.join(', ')}`;
}

function isOver() {
  return performance.now() >= copy.deadline;
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

/** What the build says when it fails twice: once may be for want of time. */
async function build() {
  return (await copy.build()) === null ? null : await copy.build();
}

/**
 * The tests without any mutation: what fails then, and once more alone, says nothing about one.
 * @param {readonly Mutation[]} group
 * @returns {Promise<Failure[]>}
 */
async function failuresWithout(group) {
  const output = await build();
  if (isOver()) return [];
  if (output !== null) throw new Error(`the checkout cannot be built:\n${output}`);
  const named = group.filter(({ clause }) => clause !== '');
  const whole = group.filter(({ clause }) => clause === '');
  return [...(await failuresIn(named)), ...(await failuresIn(whole))];
}

/**
 * @param {readonly Mutation[]} group All with a clause, or all without.
 * @returns {Promise<Failure[]>}
 */
async function failuresIn(group) {
  if (group.length === 0 || isOver()) return [];
  const ids = [...new Set(group.map(({ clause }) => clause))].filter((clause) => clause !== '');
  const files = [...new Set(group.flatMap((mutation) => copy.filesOf(mutation)))];
  const run = await copy.test(files, ids);
  if (isOver()) return [];
  const failures = run.hung ? files.map((file) => ({ file, title: '', late: true, text: '' })) : failuresOf(run);
  return await failuresAlone(failures, async (file) => await copy.test([file], ids), console.log);
}

/**
 * Returns null when the time was up before a verdict.
 * @param {Mutation} mutation
 * @param {readonly Failure[]} failures without it
 * @returns {Promise<Verdict | null>}
 */
async function judge(mutation, failures) {
  const { clause } = mutation;
  const files = copy.filesOf(mutation);
  const without = verdictWithout(failures, clause, files);
  if (without !== null) return without;
  const restore = apply(mutation);
  try {
    const output = await build();
    if (isOver()) return null;
    if (output !== null) return { kind: 'error', text: `does not build, or runs no capsule:\n${output}` };
    const test = async (untilFailed = true) => await copy.test(files, clause === '' ? [] : [clause], { untilFailed });
    let run = await test();
    // Where files share a process, the first failure can end the run before it is reported.
    if (['skipped', 'survived'].includes(verdictOf(run).kind)) run = await test(false);
    // A file that could not be run at all may have lacked the time to start.
    if (run.broken.length > 0 && verdictOf(run).kind === 'error') run = await test();
    const verdict = verdictOf(run);
    return isOver() && verdict.kind === 'error' ? null : verdict;
  } finally {
    restore();
  }
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
      `${count('unjudged')} too slow to judge, ${count('skipped')} skipped, ${left} not reached, in ${((performance.now() - begun) / 1000).toFixed(0)} s`,
  );
  if (judged === 0 && left > 0)
    console.log('Nothing was judged in that time: say --within <more seconds>, or leave it out.');
  // A slow machine fails nothing: what it does not come to is reported, and another sample is drawn with the next commit.
  return count('survived') + count('error') === 0 ? 0 : 1;
}
