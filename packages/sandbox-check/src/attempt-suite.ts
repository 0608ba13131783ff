/** Makes the attempts to break out that apply to this machine, each in a session of its own, and judges the result. */

import { mkdtempSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';

import { type ContainmentClass, containmentClasses, isAtLeast } from '@svc/protocol/containment-class.ts';
import { containedEnvironment } from '@svc/sandbox/contained-environment.ts';
import { type Containment, openPlace } from '@svc/sandbox/containment.ts';
import { hostContainment, type HostFacts, findHelper } from '@svc/sandbox/host-containment.ts';
import { minimalGrants } from '@svc/sandbox/launch/process-grants.ts';
import type { LaunchedProcess, Launcher } from '@svc/sandbox/launcher.ts';
import { type AttemptTools, findAttemptTools, ungrantedVariable } from './attempt-tools.ts';
import {
  type Attempt,
  type Promised,
  judge,
  type Judgement,
  promisedOf,
  type Seen,
  type ProgramAttempt,
  allowed,
  parseAnswer,
} from './attempt.ts';
import { executionAttempts } from './execution-attempts.ts';
import { fileAttempts } from './file-attempts.ts';
import { folderAttempts } from './folder-attempts.ts';
import { kernelAttempts } from './kernel-attempts.ts';
import { launchAttempts } from './launch-attempts.ts';
import { limitAttempts } from './limit-attempts.ts';
import { networkAttempts } from './network-attempts.ts';
import { Surroundings } from './surroundings.ts';

/** A class that this host supports, and the attempts that apply there. */
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

/** The classes that this host supports under its ceiling, strongest first; empty where no kernel enforces anything. */
export async function classesUnderTest(facts: HostFacts): Promise<readonly ClassUnderTest[]> {
  const found: ClassUnderTest[] = [];
  for (const wanted of containmentClasses.toReversed().filter((each) => isAtLeast(facts.ceiling, each))) {
    const containment = await hostContainment({ ...facts, ceiling: wanted });
    if (containment.achieved !== wanted || containment.mechanism === 'none') continue;
    const { limits } = await containment.hold({
      resources: minimalGrants.limits,
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
  /** The `PATH` to find the tools of attempts on. */
  readonly searchPath: string;
  /** Once it is aborted, no further attempt begins. */
  readonly signal: AbortSignal;
}

/** Makes the attempts of a class one after the other, and compares each with what svc promises. Removes everything afterwards. */
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
  ...folderAttempts,
  ...executionAttempts,
  ...kernelAttempts,
  ...networkAttempts,
  ...limitAttempts,
  ...launchAttempts,
];

export interface AttemptHost {
  readonly containment: Containment;
  /** `svc-launch`. */
  readonly helper: string;
  /** `svc-attempts`. */
  readonly program: string;
  readonly tools: AttemptTools;
  /** A directory for the surroundings of attempts, which are removed after each. */
  readonly directory: string;
  /** The `PATH` of attempts. */
  readonly searchPath: string;
}

const maxAttemptMs = 15_000;

/** What this host lacks for an attempt; null when it lacks nothing. */
export function lackingFor(attempt: Attempt, tools: AttemptTools): keyof AttemptTools | null {
  return attempt.needs?.find((tool) => tools[tool] === null) ?? null;
}

/** Makes one attempt in surroundings of its own, which are gone when this settles. */
export async function runAttempt(attempt: Attempt, host: AttemptHost): Promise<Seen> {
  const place = new Surroundings(host);
  try {
    if (attempt.kind === 'launch') return await attempt.make(host, place);
    return await tryProgram(attempt, host, place);
  } finally {
    await place.close();
  }
}

async function tryProgram(attempt: ProgramAttempt, host: AttemptHost, place: Surroundings): Promise<Seen> {
  const operands = (await attempt.operands?.(place)) ?? [];
  const grants = { ...minimalGrants, ...(await attempt.grants?.(place)) };
  const session = await openPlace(host.containment, place, grants.limits);
  let answer: Seen | 'tried';
  try {
    answer = await launched(session.launcher(grants), [attempt.program, ...operands], host, place);
  } finally {
    await session.close();
  }
  if (attempt.effect === undefined) return answer === 'tried' ? unclear('nobody looked for its effect') : answer;
  return confirmed(answer, await attempt.effect(place));
}

/** The effect decides, whatever the attempt itself saw. */
function confirmed(answer: Seen | 'tried', effect: boolean): Seen {
  if (answer === 'tried') return effect ? allowed : { kind: 'refused', detail: 'without-effect' };
  if (answer.kind === 'unclear') return answer;
  if (effect) return allowed;
  return answer.kind === 'allowed' ? unclear('no effect was seen') : answer;
}

async function launched(
  launcher: Launcher,
  args: readonly string[],
  { containment, program, searchPath }: AttemptHost,
  place: Surroundings,
): Promise<Seen | 'tried'> {
  const outcome = await launcher.launch({
    command: program,
    args,
    env: containedEnvironment({
      accessibleWorkdir: place.workdir,
      achieved: containment.achieved,
      held: { PATH: searchPath, [ungrantedVariable]: place.secret },
      allow: [],
    }),
    stdin: 'null',
  });
  return outcome.kind === 'refused' ? unclear(outcome.reason) : await answerOf(outcome.process);
}

async function answerOf(started: LaunchedProcess): Promise<Seen | 'tried'> {
  let late = false;
  const deadline = setTimeout(() => {
    late = true;
    started.kill('SIGKILL');
  }, maxAttemptMs);
  const [said, complaint, end] = await Promise.all([text(started.stdout), text(started.stderr), started.ended]);
  clearTimeout(deadline);
  if (late) return unclear('it did not end');
  if (end.kind === 'signaled') return unclear(`it ended by ${end.signal}`);
  const answer = parseAnswer(said);
  if (end.exitCode === 0 && answer !== null) return answer;
  return unclear(complaint.trim() === '' ? `it ended with ${end.exitCode}` : complaint.trim());
}

function unclear(detail: string): Seen {
  return { kind: 'unclear', detail };
}
