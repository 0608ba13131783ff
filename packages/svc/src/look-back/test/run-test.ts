/** Runs one recorded test and says what it came to. */

import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import type { TodaysProject } from '@svc/capsule/replay/todays-setup.ts';
import { redactedJson } from '@svc/record/trace/file-trace.ts';
import { compareSession, type Comparison, type TestDifference } from './compare-session.ts';
import type { Expectation } from './expectation.ts';
import { type ReadTest, readTest, type TestFolder } from './test-folders.ts';

/** What a test came to. */
export type TestOutcome =
  /** `stale` when the recorded answers were given to other requests, which the test allows. */
  | { readonly kind: 'passed'; readonly stale: TestDifference | null }
  | { readonly kind: 'failed'; readonly difference: TestDifference; readonly isChangedAgain: boolean }
  /** It cannot be run. */
  | { readonly kind: 'refused'; readonly problems: readonly Diagnostic[] };

export interface TestRun {
  readonly test: TestFolder;
  readonly outcome: TestOutcome;
  readonly durationMs: number;
  /** It is null for a test that was refused. */
  readonly compared: ComparedTest | null;
}

/** What an update goes by. */
export interface ComparedTest {
  readonly comparison: Comparison;
  readonly expectation: Expectation;
  readonly text: string | null;
}

/** Never throws a Diagnostic: what is wrong with one test keeps no other from being run. */
export async function runTest(test: TestFolder, project: TodaysProject, nowMs: () => number): Promise<TestRun> {
  const startedMs = nowMs();
  const end = (outcome: TestOutcome, compared: ComparedTest | null): TestRun => {
    const told = withoutSecrets(outcome, project.redact);
    return { test, outcome: told, compared, durationMs: Math.round(nowMs() - startedMs) };
  };
  try {
    const read = await readTest(test);
    const compared = await compareTest(test, read, project);
    return end(outcomeOf(compared), compared);
  } catch (error) {
    if (error instanceof Diagnostic) return end({ kind: 'refused', problems: [error] }, null);
    if (error instanceof DiagnosticList) return end({ kind: 'refused', problems: error.diagnostics }, null);
    throw error;
  }
}

/** Redacts again: the recording may contain a value that became a secret later. */
function withoutSecrets(outcome: TestOutcome, redact: (text: string) => string): TestOutcome {
  const told = (difference: TestDifference): TestDifference => redactedJson(difference, redact) as TestDifference;
  switch (outcome.kind) {
    case 'passed':
      return outcome.stale === null ? outcome : { ...outcome, stale: told(outcome.stale) };
    case 'failed':
      return { ...outcome, difference: told(outcome.difference) };
    case 'refused':
      return { ...outcome, problems: outcome.problems.map((problem) => redactedProblem(problem, redact)) };
  }
}

function redactedProblem(problem: Diagnostic, redact: (text: string) => string): Diagnostic {
  const { code, message, hint, location } = problem;
  if (redact(`${message}\n${hint ?? ''}`) === `${message}\n${hint ?? ''}`) return problem;
  return new Diagnostic(code, redact(message), {
    ...(hint === undefined ? {} : { hint: redact(hint) }),
    ...(location === undefined ? {} : { location }),
  });
}

/** `E-RUN-078` for a recording that cannot be run again. */
async function compareTest(
  { shown }: TestFolder,
  { whole, expectation, text }: ReadTest,
  project: TodaysProject,
): Promise<ComparedTest> {
  return { comparison: await compareSession(whole, project, expectation, shown), expectation, text };
}

/** The first difference decides, in this order: grants, requests, calls, ends of tasks. */
export function outcomeOf({ comparison, expectation }: Omit<ComparedTest, 'text'>): TestOutcome {
  const { grants, request, call, task, fingerprint } = comparison;
  const { requests } = expectation;
  const isAllowed = requests === 'changed' || requests === `sha256:${fingerprint}`;
  const difference = grants ?? (isAllowed ? null : request) ?? call ?? task;
  if (difference === null) return { kind: 'passed', stale: request };
  const isChangedAgain = difference === request && requests !== 'recorded';
  return { kind: 'failed', difference, isChangedAgain };
}
