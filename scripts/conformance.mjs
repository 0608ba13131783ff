// @ts-check
// Runs the tests and says, topic by topic, how much of the specification they show.
// npm run conformance [-- --texts] [-- --long] [-- <vitest file filter>...]

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { startVitest } from 'vitest/node';

import {
  countTopics,
  parseClauses,
  renderTopics,
  reportRetries,
  skipReason,
  unknownClauses,
} from './conformance-count.mjs';

/** @typedef {import('./conformance-count.mjs').TestRecord} TestRecord */

const { values, positionals: filters } = parseArgs({
  allowPositionals: true,
  options: { texts: { type: 'boolean', default: false }, long: { type: 'boolean', default: false } },
});
const clauses = parseClauses(readFileSync(new URL('../docs/conformance/clauses.tsv', import.meta.url), 'utf8'));

/** @type {TestRecord[]} */
const tests = [];
/** @type {string[]} */
const broken = [];

/** @type {import('vitest/node').Reporter} */
const collector = {
  onTestRunEnd(modules, unhandledErrors, reason) {
    for (const module of modules) {
      for (const test of module.children.allTests()) tests.push(recordOf(test));
      if (module.errors().length > 0) broken.push(`${module.relativeModuleId} could not be run`);
      for (const suite of module.children.allSuites()) {
        if (suite.errors().length > 0) broken.push(`${module.relativeModuleId}: a hook of "${suite.fullName}" failed`);
      }
    }
    for (const error of unhandledErrors) broken.push(`unhandled error: ${error.message}`);
    if (reason === 'interrupted') broken.push('the run was interrupted');
  },
};

// Node reads this file of certificates at each start, which takes longer than the start itself; only long tests ask the network for something.
if (!values.long) delete process.env['NODE_EXTRA_CA_CERTS'];
const project = values.long ? ['long'] : ['unit', 'packages', 'programs', 'alone'];
const vitest = await startVitest('test', filters, { watch: false, project, reporters: ['default', collector] });
await vitest.close();

if (tests.length === 0) broken.push('no test was run');
const skipped = tests.filter((test) => test.outcome === 'skipped');
const unknown = unknownClauses(clauses, tests);
const unexplained = skipped.filter((test) => skipReason(test) === undefined);
const retries = reportRetries(tests);
const faults = [
  ...broken,
  ...(retries.fault === null ? [] : [retries.fault]),
  ...unknown.map(({ id, file, title }) => `no such clause: ${id}, named in ${file}: ${title}`),
  ...unexplained.map(({ file, title }) => `skipped without a reason: ${file}: ${title}`),
];

if (!values.long) console.log(`\nClauses with a passing test\n\n${renderTopics(countTopics(clauses, tests), values)}`);
for (const test of skipped)
  console.log(`skipped: ${test.file}: ${test.title} (${skipReason(test) ?? 'no reason given'})`);
for (const line of retries.lines) console.log(line);
for (const fault of faults) console.log(`failed: ${fault}`);

const passed = tests.filter((test) => test.outcome === 'passed').length;
const failed = tests.filter((test) => test.outcome === 'failed').length + faults.length;
console.log(`${passed} passed, ${failed} failed${skipped.length === 0 ? '' : `, ${skipped.length} skipped`}`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);

/**
 * @param {import('vitest/node').TestCase} test
 * @returns {TestRecord}
 */
function recordOf(test) {
  const result = test.result();
  const record = { file: test.module.relativeModuleId, title: test.fullName };
  if (result.state === 'skipped') {
    return { ...record, outcome: 'skipped', ...(result.note === undefined ? {} : { note: result.note }) };
  }
  const { flaky = false } = test.diagnostic() ?? {};
  if (result.state === 'passed' && flaky)
    return { ...record, outcome: 'passed', firstFailure: result.errors?.[0]?.message ?? 'no reason is known' };
  // A test that is still pending when the run ends never came to a result.
  return { ...record, outcome: result.state === 'passed' ? 'passed' : 'failed' };
}
