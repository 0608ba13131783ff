/** Makes one attempt in a session of its own, and says what was seen of it. */

import { text } from 'node:stream/consumers';
import { containedEnvironment } from '@svc/sandbox/contained-environment.ts';
import { type Containment, openPlace } from '@svc/sandbox/containment.ts';
import type { LaunchedProcess, Launcher } from '@svc/sandbox/launcher.ts';
import { leastGrants } from '@svc/sandbox/launch/process-grants.ts';
import { type Attempt, type ProgramAttempt, allowed, parseAnswer, type Seen } from './attempt.ts';
import { type AttemptTools, ungrantedVariable } from './attempt-tools.ts';
import { Surroundings } from './surroundings.ts';

export interface AttemptHost {
  readonly containment: Containment;
  /** `svc-launch`. */
  readonly helper: string;
  /** `svc-attempts`. */
  readonly program: string;
  readonly tools: AttemptTools;
  /** Where surroundings are made, each removed after its attempt. */
  readonly directory: string;
  /** The `PATH` of attempts. */
  readonly searchPath: string;
}

const longestAttemptMs = 15_000;

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
  const grants = { ...leastGrants, ...(await attempt.grants?.(place)) };
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
  }, longestAttemptMs);
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
