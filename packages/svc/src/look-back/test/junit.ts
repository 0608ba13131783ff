/** Writes what recorded tests came to as JUnit XML, which CI systems read. */

import { inertLine } from '@svc/terminal/screen/inert-text.ts';
import { headlineOf, staleText } from './test-report.ts';
import type { TestRun } from './run-test.ts';

const maxMessage = 500;

/** The report of a run of tests; `suite` is the name of the capsule. */
export function junitReport(suite: string, runs: readonly TestRun[]): string {
  const count = (kind: TestRun['outcome']['kind']): number =>
    runs.filter(({ outcome }) => outcome.kind === kind).length;
  const ms = runs.reduce((sum, { durationMs }) => sum + durationMs, 0);
  const counts = `tests="${runs.length}" failures="${count('failed')}" errors="${count('refused')}" skipped="0" time="${seconds(ms)}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `<testsuite name="${escaped(suite)}" ${counts}>`,
    ...runs.map((run) => caseOf(suite, run)),
    '</testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

function caseOf(suite: string, { test, outcome, durationMs }: TestRun): string {
  const head = `<testcase classname="${escaped(suite)}" name="${escaped(test.name)}" time="${seconds(durationMs)}"`;
  switch (outcome.kind) {
    case 'passed':
      if (outcome.stale === null) return `${head}/>`;
      return `${head}><system-out>${escaped(`stale: ${staleText(outcome.stale)}`)}</system-out></testcase>`;
    case 'failed': {
      const { difference } = outcome;
      const values = `recorded: ${valueText(difference.recorded)}\nnow: ${valueText(difference.now)}`;
      const text = difference.problem === null ? values : '';
      return `${head}><failure type="${difference.part}" message="${escaped(headlineOf(difference))}">${escaped(text)}</failure></testcase>`;
    }
    case 'refused': {
      const [first] = outcome.problems;
      const text = outcome.problems.map(({ code, message }) => `${code}: ${message}`).join('\n');
      return `${head}><error type="${first?.code ?? ''}" message="${escaped(first?.message ?? '')}">${escaped(text)}</error></testcase>`;
    }
  }
}

function valueText(value: unknown): string {
  if (value === '') return '(empty)';
  return inertLine(typeof value === 'string' ? value : (JSON.stringify(value) ?? '(nothing)'), maxMessage);
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

/** What XML cannot hold, such as most controls and halves of pairs, becomes a replacement character. */
function escaped(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '\uFFFD')
    .replaceAll(/[&<>"']/g, (each) => entities[each] ?? each)
    .replaceAll('\r', '&#13;');
}
