/** Makes the attempts to break out that mean something on this machine, and judges what became of them. */

import { mkdtempSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type ContainmentClass, containmentClasses, isAtLeast } from '@svc/protocol/containment-class.ts';
import type { Containment } from '@svc/sandbox/containment.ts';
import { hostContainment, type HostFacts, findHelper } from '@svc/sandbox/host-containment.ts';
import { leastGrants } from '@svc/sandbox/launch/process-grants.ts';
import { type Attempt, type Promised, judge, type Judgement, promisedOf, type Seen } from './attempt.ts';
import { type AttemptTools, findAttemptTools } from './attempt-tools.ts';
import { type AttemptHost, lackingFor, runAttempt } from './run-attempt.ts';
import { launchAttempts } from './launch-attempts.ts';
import { executionAttempts } from './execution-attempts.ts';
import { fileAttempts } from './file-attempts.ts';
import { kernelAttempts } from './kernel-attempts.ts';
import { limitAttempts } from './limit-attempts.ts';
import { networkAttempts } from './network-attempts.ts';

/** A class that this host gives, and the attempts that mean something there. */
export interface ClassUnderTest {
  readonly class: ContainmentClass;
  readonly containment: Containment;
  readonly attempts: readonly { readonly attempt: Attempt; readonly promised: Promised }[];
}

export type AttemptResult = { readonly attempt: Attempt; readonly promised: Promised } & (
  | { readonly kind: 'made'; readonly seen: Seen; readonly judgement: Judgement }
  /** This host lacks something that it needs. */
  | { readonly kind: 'not made'; readonly lacking: keyof AttemptTools }
);

/** The classes this host gives under its ceiling, strongest first; none where no kernel enforces anything. */
export async function classesUnderTest(facts: HostFacts): Promise<readonly ClassUnderTest[]> {
  const found: ClassUnderTest[] = [];
  for (const wanted of containmentClasses.toReversed().filter((each) => isAtLeast(facts.ceiling, each))) {
    const containment = await hostContainment({ ...facts, ceiling: wanted });
    if (containment.achieved !== wanted || containment.mechanism === 'none') continue;
    const { limits } = await containment.hold({
      resources: leastGrants.limits,
      directories: [facts.temporaryDirectory],
    });
    const attempts = allAttempts.flatMap((attempt) => {
      const promised = promisedOf(attempt, wanted, limits);
      return promised === null ? [] : [{ attempt, promised }];
    });
    found.push({ class: wanted, containment, attempts });
  }
  return found;
}

interface SuiteRequest {
  readonly facts: HostFacts;
  /** The `PATH` on which what attempts need is looked for. */
  readonly searchPath: string;
  /** No attempt is begun any more once it is aborted. */
  readonly signal: AbortSignal;
}

/** Makes the attempts of a class one after the other, and holds each to what is promised. Nothing of them stays. */
export async function* makeAttempts(
  { containment, attempts }: ClassUnderTest,
  { facts, searchPath, signal }: SuiteRequest,
): AsyncGenerator<AttemptResult, void, undefined> {
  const helper = findHelper(facts);
  if (helper === null) throw new Error('a class is enforced without the helper');
  const directory = mkdtempSync(join(facts.temporaryDirectory, 'svc-attempts-'));
  try {
    const tools = await findAttemptTools({ searchPath, architecture: facts.architecture, setuidProgram: null });
    const program = attemptProgramBeside(helper);
    const host: AttemptHost = { containment, helper, program, tools, directory, searchPath };
    for (const { attempt, promised } of attempts) {
      if (signal.aborted) return;
      const lacking = lackingFor(attempt, tools);
      if (lacking !== null) {
        yield { attempt, promised, kind: 'not made', lacking };
        continue;
      }
      const seen = await runAttempt(attempt, host);
      yield { attempt, promised, kind: 'made', seen, judgement: judge(promised, seen) };
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** `svc-attempts` comes with the helper. */
export function attemptProgramBeside(helper: string): string {
  return join(dirname(helper), 'svc-attempts');
}

/** Every attempt, each under a name of its own. */
export const allAttempts: readonly Attempt[] = [
  ...fileAttempts,
  ...executionAttempts,
  ...kernelAttempts,
  ...networkAttempts,
  ...limitAttempts,
  ...launchAttempts,
];
