/** Says for people what recorded tests came to. */

import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { inertLine } from '@svc/terminal/screen/inert-text.ts';
import type { Page } from '@svc/terminal/screen/page.ts';
import { say, Shown } from '@svc/terminal/screen/shown.ts';
import { firstByte } from '@svc/record/journal/json-difference.ts';
import { excerptOf } from '../trace/divergence-view.ts';
import type { TestDifference } from './compare-session.ts';
import type { TestOutcome, TestRun } from './run-test.ts';
import { expectationFile } from './test-folders.ts';

/** How many tests came to what. `stale` are among those that passed. */
export interface TestCounts {
  passed: number;
  stale: number;
  failed: number;
  refused: number;
}

const maxPath = 200;

/** The row of a test. */
export function rowOf({ test, outcome }: TestRun): Shown {
  const { name } = test;
  switch (outcome.kind) {
    case 'passed':
      return outcome.stale === null ? say`ok       ${name}\n` : say`stale    ${name}: ${staleText(outcome.stale)}\n`;
    case 'failed':
      return say`FAILED   ${name}\n`;
    case 'refused':
      return say`REFUSED  ${name}\n`;
  }
}

/** Why a test is reported as stale, as a clause. */
export function staleText({ step, path }: TestDifference): string {
  return `the recorded answers were given to other requests, from ${placeOf({ step, path })} on`;
}

interface FailedTest {
  readonly run: TestRun;
  readonly outcome: Extract<TestOutcome, { kind: 'failed' }>;
  /** Whether `--update` makes it one that passes. */
  readonly isUpdatable: boolean;
}

/** Where and in what a test failed, with both values and what to do next. */
export function renderFailedTest(page: Page, { run, outcome, isUpdatable }: FailedTest): string {
  const { difference } = outcome;
  const head = page.own(say`\n${run.test.name} ${headlineOf(difference)}\n`);
  const again = outcome.isChangedAgain
    ? page.own(say`  the requests have changed again since they were accepted\n`)
    : '';
  return head + rowsOf(page, difference) + again + page.own(say`  ${nextStep(run, difference, isUpdatable)}\n`);
}

/** Where a test differs from its recording, as a clause. */
export function headlineOf({ part, step, path, problem }: TestDifference): string {
  const where = placeOf({ step, path });
  if (problem !== null) return `differs ${step === null ? '' : `at #${step}: `}${inertLine(problem, maxPath)}`;
  switch (part) {
    case 'grants':
      return `differs at ${where}: something else is granted`;
    case 'request':
      return `differs at ${where}: the model is asked something else`;
    case 'call':
      return `differs at ${where}: a call is made otherwise`;
    case 'task':
      return `differs at ${where}: a task ends otherwise`;
  }
}

function placeOf({ step, path }: Pick<TestDifference, 'step' | 'path'>): string {
  return `${step === null ? '' : `#${step} `}${inertLine(path, maxPath)}`;
}

function rowsOf(page: Page, { recorded, now, problem }: TestDifference): string {
  if (problem !== null) return '';
  const byte = typeof recorded === 'string' && typeof now === 'string' ? firstByte(recorded, now) : null;
  return page.headed(say`  -`, shownValue(recorded, byte)) + page.headed(say`  +`, shownValue(now, byte));
}

function shownValue(value: unknown, byte: number | null): string {
  if (value === undefined || value === null) return '(nothing)';
  return excerptOf(typeof value === 'string' ? value : JSON.stringify(value), byte);
}

function nextStep({ test }: TestRun, { part, problem }: TestDifference, isUpdatable: boolean): string {
  const update = `svc test ${test.name} --update`;
  if (part !== 'call' && !isUpdatable) {
    const other = part === 'grants' ? '; if not, look at capabilities in the manifest' : '';
    return `if this is meant, rm -r ${test.shown} and record again, as what was recorded does not fit any more${other}`;
  }
  switch (part) {
    case 'grants':
      return `if this is meant, ${update} takes it into ${test.shown}/${expectationFile}; if not, look at capabilities in the manifest`;
    case 'request':
      return `if this is meant, ${update} keeps the recorded answers, marked stale; for new ones, rm -r ${test.shown} and record again`;
    case 'call':
      return problem === null
        ? `if this is meant, rm -r ${test.shown} and record the session again`
        : `what was recorded does not fit from here on: if this is meant, rm -r ${test.shown} and record the session again`;
    case 'task':
      return `if this is meant, ${update} takes it into ${test.shown}/${expectationFile}`;
  }
}

/** What stands behind the rows of all tests: what is known of those that did not pass, and the last line. */
export function endOf(reports: readonly string[], counts: TestCounts): Shown {
  return Shown.cleaned(reports.join('') + summaryOf(counts).text, 'laid out');
}

function summaryOf({ passed, stale, failed, refused }: TestCounts): Shown {
  const total = passed + failed + refused;
  const told = [
    `${passed} passed${stale === 0 ? '' : ` (${stale} stale)`}`,
    ...(failed === 0 ? [] : [`${failed} failed`]),
    ...(refused === 0 ? [] : [`${refused} refused`]),
  ];
  return say`\n${total === 1 ? '1 test' : `${total} tests`}: ${told.join(', ')}\n`;
}

/** What a test came to for programs. */
export function factsOf({ test, outcome, durationMs }: TestRun): object {
  const about = { test: test.name, outcome: outcome.kind, duration_ms: durationMs };
  switch (outcome.kind) {
    case 'passed':
      return outcome.stale === null ? about : { ...about, stale: differenceFacts(outcome.stale) };
    case 'failed':
      return { ...about, difference: differenceFacts(outcome.difference) };
    case 'refused':
      return { ...about, problems: outcome.problems.map(problemFacts) };
  }
}

function differenceFacts({ part, step, path, recorded, now, problem }: TestDifference): object {
  return { part, step, path, recorded: recorded ?? null, now: now ?? null, problem };
}

function problemFacts({ code, message }: Diagnostic): object {
  return { code, message };
}
