// @ts-check
// What a run of tests says about a mutation, and what a failure may say that only came of a busy machine.

/**
 * @typedef {import('./mutation-copy.mjs').TestRun} TestRun
 * @typedef {import('./mutation-copy.mjs').TestOutcome} TestOutcome
 * @typedef {'killed' | 'survived' | 'skipped' | 'error' | 'unjudged'} VerdictKind
 * @typedef {{ kind: VerdictKind, text: string }} Verdict `unjudged`: its tests are too slow here to say anything.
 * @typedef {{ file: string, title: string, late: boolean, text: string }} Failure Without a title: the whole file. `late`: a time limit passed.
 */

/**
 * Whether the time limit of a test or hook passed. The report holds the stack alone, in which that error has a name for a message.
 * @param {Pick<TestOutcome, 'message'>} outcome
 */
export function isLate({ message }) {
  return /^Error: (STACK_TRACE_ERROR|(Test|Hook) timed out)/.test(message);
}

/**
 * What failed in a run without any mutation.
 * @param {TestRun} run
 * @returns {Failure[]}
 */
export function failuresOf({ tests, broken }) {
  const failed = tests.filter(({ state }) => state === 'failed');
  return [
    ...failed.map((test) => ({ file: test.file, title: test.title, late: isLate(test), text: test.message })),
    ...broken.map((fault) => ({ file: fault.split(' ')[0] ?? '', title: '', late: false, text: fault })),
  ];
}

/**
 * What still fails without a mutation when each file that did is run once more, alone. What only failed among others is reported.
 * @param {readonly Failure[]} failures
 * @param {(file: string) => Promise<TestRun>} runAlone
 * @param {(line: string) => void} report
 * @returns {Promise<Failure[]>}
 */
export async function failuresAlone(failures, runAlone, report) {
  /** @type {Failure[]} */
  const left = [];
  for (const file of new Set(failures.map((failure) => failure.file))) {
    const again = await runAlone(file);
    const still = again.hung ? [{ file, title: '', late: true, text: 'comes to no end' }] : failuresOf(again);
    left.push(...still);
    const whole = still.some(({ title }) => title === '');
    for (const { title, late } of failures.filter((failure) => failure.file === file)) {
      if (whole || still.some((failure) => failure.title === title)) continue;
      report(`without a mutation: ${file}: ${title} ${late ? 'was too slow' : 'failed'} once, and passed alone`);
    }
  }
  return left;
}

/**
 * Why nothing can be said about a mutation: a test that names its clause fails without it. Returns null when none does.
 * @param {readonly Failure[]} failures
 * @param {string} clause
 * @param {readonly string[]} files that name the clause
 * @returns {Verdict | null}
 */
export function verdictWithout(failures, clause, files) {
  const concerns = failures.filter(
    ({ file, title }) => files.includes(file) && (title === '' || title.includes(clause)),
  );
  const failure = concerns.find(({ late }) => !late) ?? concerns[0];
  if (failure === undefined) return null;
  const where = `${failure.file}: ${failure.title}`;
  if (failure.late) return { kind: 'unjudged', text: `too slow without it, twice: ${where}` };
  return { kind: 'error', text: `fails without it, twice: ${where}` };
}

/**
 * @param {TestRun} run with the mutation
 * @returns {Verdict}
 */
export function verdictOf({ tests, broken, hung }) {
  if (hung) return { kind: 'error', text: 'its tests come to no end' };
  const failed = tests.find(({ state }) => state === 'failed');
  if (failed !== undefined) {
    const how = isLate(failed) ? ' (by its time limit)' : '';
    return { kind: 'killed', text: `${failed.file}: ${failed.title}${how}` };
  }
  if (broken.length > 0) return { kind: 'error', text: broken.join('; ') };
  const passed = tests.map(({ file, title }) => `${file}: ${title}`);
  if (passed.length === 0) return { kind: 'skipped', text: 'every test that names it is skipped here' };
  return { kind: 'survived', text: `these passed:\n    ${passed.join('\n    ')}` };
}
