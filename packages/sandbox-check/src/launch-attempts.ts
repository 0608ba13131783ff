/** Attempts to be started in spite of a plan that cannot be carried out. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import { readTextBeneath } from '@svc/kit/files/read-beneath.ts';
import { containedHome } from '@svc/sandbox/contained-environment.ts';
import { openPlace } from '@svc/sandbox/containment.ts';
import { barePlan, encodeLaunchPlan } from '@svc/sandbox/launch/launch-plan.ts';
import { minimalGrants } from '@svc/sandbox/launch/process-grants.ts';
import {
  type LaunchAttempt,
  stopped,
  stoppedFromScoped,
  works,
  allowed,
  parseAnswer,
  type Seen,
  type LaunchAttemptHost,
} from './attempt.ts';
import type { Surroundings } from './surroundings.ts';

/** How `svc-launch` ends when a step fails. */
const launchFailed = 125;

type Breaking = (plan: Buffer) => Buffer;

/** Hands the helper a plan and sees whether the program ran: it leaves a mark. */
async function launchWith(breaking: Breaking, { helper }: LaunchAttemptHost, place: Surroundings): Promise<Seen> {
  const mark = join(place.workdir, 'mark');
  const plan = openPlan(breaking(planFor(place)), place);
  try {
    const child = spawn(helper, ['3', '-', '-', '-', place.program, place.program, 'leave-mark', mark], {
      cwd: '/',
      env: {},
      stdio: ['ignore', 'ignore', 'ignore', plan],
    });
    const [code] = await once(child, 'close');
    if (existsSync(mark)) return allowed;
    if (code === launchFailed) return { kind: 'refused', detail: `status-${launchFailed}` };
    return { kind: 'unclear', detail: `nothing ran, and svc-launch ended with ${code}` };
  } finally {
    closeSync(plan);
  }
}

function planFor({ workdir }: Surroundings): Buffer {
  return encodeLaunchPlan({ ...barePlan, cwd: workdir });
}

function openPlan(bytes: Buffer, { privateDirectory }: Surroundings): number {
  const path = join(privateDirectory, 'plan');
  writeFileSync(path, bytes, { flag: 'wx', mode: 0o600 });
  const descriptor = openSync(path, 'r');
  unlinkSync(path);
  return descriptor;
}

/** Launches with the class's own plan; whether the program ran is seen by what it does. */
async function launchInSession(
  { containment }: LaunchAttemptHost,
  place: Surroundings,
  { scope, args }: { readonly scope: string; readonly args: readonly string[] },
): Promise<Seen> {
  const session = await openPlace(containment, place, minimalGrants.limits);
  try {
    const launcher = session.launcher({ ...minimalGrants, scope });
    const outcome = await launcher.launch({ command: place.program, args, env: {}, stdin: 'null' });
    if (outcome.kind === 'refused') return { kind: 'refused', detail: 'before-it-ran' };
    const [said] = await Promise.all([
      text(outcome.process.stdout),
      text(outcome.process.stderr),
      outcome.process.ended,
    ]);
    const answer = parseAnswer(said);
    return answer === null || answer === 'tried' ? { kind: 'unclear', detail: 'it was started' } : answer;
  } finally {
    await session.close();
  }
}

/** A step of the plan fails: what the session is to see does not exist. */
async function launchWithoutScope(host: LaunchAttemptHost, place: Surroundings): Promise<Seen> {
  const mark = join(place.outside, 'mark');
  const seen = await launchInSession(host, place, { scope: 'missing', args: ['leave-mark', mark] });
  return existsSync(mark) ? allowed : seen;
}

/** What an earlier process of the session may have done to a directory that the next one is given. */
async function launchAcrossLink(
  host: LaunchAttemptHost,
  place: Surroundings,
  { planted, scope }: { readonly planted: string; readonly scope: string },
): Promise<Seen> {
  rmSync(planted, { recursive: true });
  symlinkSync(place.outside, planted);
  return await launchInSession(host, place, { scope, args: ['read', join(planted, 'secret'), place.secret] });
}

/** What the author of a workspace may have done to a file that its manifest names: a session would begin with the text. */
function readThroughManifest({ workdir, secretFile, secret }: Surroundings): Seen {
  symlinkSync(secretFile, join(workdir, 'prompt.md'));
  const reading = readTextBeneath(workdir, 'prompt.md');
  if (reading.kind === 'text') return reading.text === secret ? allowed : { kind: 'unclear', detail: 'another text' };
  return { kind: 'refused', detail: reading.kind };
}

const plan = (name: string, title: string, breaking: Breaking): LaunchAttempt => ({
  kind: 'launch',
  name,
  title,
  promises: stopped,
  make: async (host, place) => await launchWith(breaking, host, place),
});

/** To run in spite of a plan that cannot be carried out, whatever the class. */
export const launchAttempts: readonly LaunchAttempt[] = [
  { ...plan('plan-whole', 'run behind a sound plan', (bytes) => bytes), promises: works },
  plan('plan-truncated', 'run behind a plan that was cut short', (bytes) => bytes.subarray(0, -4)),
  plan('plan-broken', 'run behind a plan with an invalid step', (bytes) =>
    Buffer.from(bytes.toString('latin1').replace('cwd', 'cwx'), 'latin1'),
  ),
  plan('plan-continued', 'run behind a plan with something after its end', (bytes) =>
    Buffer.concat([bytes, Buffer.from('end\0')]),
  ),
  plan('plan-empty', 'run behind no plan', () => Buffer.alloc(0)),
  {
    kind: 'launch',
    name: 'step-failing',
    title: 'run although a step of its containment fails',
    promises: stopped,
    make: launchWithoutScope,
  },
  {
    kind: 'launch',
    name: 'planted-prompt',
    title: 'have a file outside read through a link where a manifest names a file',
    promises: stopped,
    make: async (_host, place) => readThroughManifest(place),
  },
  {
    kind: 'launch',
    name: 'planted-home',
    title: 'be given a place outside by a link where its home was',
    promises: stoppedFromScoped,
    make: async (host, place) =>
      await launchAcrossLink(host, place, { planted: containedHome(place.workdir), scope: '.' }),
  },
  {
    kind: 'launch',
    name: 'planted-scope',
    title: 'be given a place outside by a link where its scope was',
    promises: stopped,
    make: async (host, place) =>
      await launchAcrossLink(host, place, { planted: join(place.workdir, place.scope), scope: place.scope }),
  },
];
