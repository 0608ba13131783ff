/** Runs a recorded session again with the prompt, tools and grants of today, and says where it comes out differently. */

import { orRefused, replayFrom, type Replayed } from '@svc/capsule/replay/replay-session.ts';
import { setupToday, type TodaysProject } from '@svc/capsule/replay/todays-setup.ts';
import type { SessionId } from '@svc/protocol/ids.ts';
import type { Divergence, Judge } from '@svc/session/replay/asked-again.ts';
import type { InferenceRequest } from '@svc/session/model/driver.ts';
import type { RecordedEnd, Recording } from '@svc/session/replay/recorded-history.ts';
import {
  changed,
  comparableGrants,
  firstUnequal,
  grantChanges,
  keysOf,
  RequestComparison,
  pointerKey,
  type Unequal,
} from './compared.ts';
import type { Expectation, ExpectedTask } from './expectation.ts';
import { notRunnable, type WholeRecording } from './recorded-test.ts';

/** The first difference of one kind. */
export interface TestDifference extends Unequal {
  readonly part: 'grants' | 'request' | 'call' | 'task';
  /** The step of the recording; null where it is not about one. */
  readonly step: number | null;
  /** What happens otherwise, as a sentence without its end, where it is not about two values. */
  readonly problem: string | null;
}

/** The differences of a session; null for what is the same. */
export interface Comparison {
  readonly grants: TestDifference | null;
  readonly request: TestDifference | null;
  readonly call: TestDifference | null;
  readonly task: TestDifference | null;
  /** Paths and values of grants that are not as recorded. */
  readonly grantChanges: ReturnType<typeof grantChanges>;
  /** The fingerprint of all requests as they are asked now. */
  readonly fingerprint: string;
  /** The tasks as they end now, in the order in which they were accepted. */
  readonly tasks: readonly ExpectedTask[];
}

/** Throws `E-RUN-078` for a recording that holds what no session could have met. */
export async function compareSession(
  whole: WholeRecording,
  project: TodaysProject,
  expectation: Expectation,
  label: string,
): Promise<Comparison> {
  return await orRefused(
    async () => await compared(whole, project, expectation),
    (why) => notRunnable(label, why),
  );
}

async function compared(whole: WholeRecording, project: TodaysProject, expectation: Expectation): Promise<Comparison> {
  const { recording, open, setup, scope } = whole;
  const { ignore } = expectation;
  const steps = stepsOf(recording);
  const judged = new Judgement(steps, ignore);
  const replayed = await replayFrom(setupToday(project, setup), recording, {
    session: open.session as SessionId,
    capsule: open.capsule,
    judge: judged.judge,
  });
  const [recordedGrants, grants] = [comparableGrants(scope), comparableGrants(limitedAs(scope, project.scope))];
  const granted = Object.entries(expectation.grants).reduce<unknown>(
    (tree, [path, value]) => changed(tree, keysOf(path), value ?? undefined),
    recordedGrants,
  );
  const ungranted = ignore.flatMap((path) => (path === '/grants' || path.startsWith('/grants/') ? [path] : []));
  const unequalGrants = firstUnequal(granted, grants, '/grants', ungranted);
  const tasks = inOrder(recording, replayed.ends);
  return {
    grants: unequalGrants && { ...unequalGrants, part: 'grants', step: null, problem: null },
    request: judged.request,
    call: judged.call ?? wayOf(replayed, steps),
    task: firstTask(expectation.tasks ?? inOrder(recording, recording.ends), tasks),
    grantChanges: grantChanges(recordedGrants, grants),
    fingerprint: judged.requests.fingerprint(),
    tasks: tasks.flatMap((task) => (task === null ? [] : [task])),
  };
}

/** Numbers of steps by their places. */
type Steps = ReadonlyMap<string, { readonly number: number; readonly port: string; readonly name: string }>;

function stepsOf({ historyEvents }: Recording): Steps {
  const starts = historyEvents.filter((historyEvent) => historyEvent.kind === 'start');
  return new Map(starts.map(({ place, port, name }, index) => [place, { number: index + 1, port, name }]));
}

/** Collects what is asked for otherwise, and has what was recorded served all the same. */
class Judgement {
  request: TestDifference | null = null;
  call: TestDifference | null = null;
  readonly requests: RequestComparison;
  readonly #steps: Steps;
  readonly #ignored: readonly string[];

  constructor(steps: Steps, ignored: readonly string[]) {
    this.#steps = steps;
    this.#ignored = ignored;
    this.requests = new RequestComparison(ignored);
  }

  readonly judge: Judge = ({ place, recorded, now }) => {
    const step = this.#steps.get(place)?.number ?? null;
    if (recorded.port === 'model' && now.port === 'model') {
      const unequal = this.requests.compare(recorded.input as InferenceRequest, now.input as InferenceRequest);
      if (unequal !== null) this.request ??= { ...unequal, part: 'request', step, problem: null };
    } else if (recorded.port !== 'hook') {
      // What hooks receive holds versions and texts of the manifest; what they answer is served.
      const unequal = this.#unequalCall(recorded, now);
      if (unequal !== null) this.call ??= { ...unequal, part: 'call', step, problem: null };
    }
    return null;
  };

  #unequalCall(
    recorded: { readonly name: string; readonly input: unknown },
    now: { readonly name: string; readonly input: unknown },
  ): Unequal | null {
    if (recorded.name !== now.name) return { path: '/calls', recorded: recorded.name, now: now.name };
    return firstUnequal(recorded.input, now.input, `/calls/${pointerKey(now.name)}`, this.#ignored);
  }
}

/** Limits that the host of the recording did not hold are not compared. */
function limitedAs(recorded: WholeRecording['scope'], now: WholeRecording['scope']): WholeRecording['scope'] {
  const isHeld = (limit: WholeRecording['scope']['limits'][number]): boolean =>
    limit.resource !== 'processes' ||
    recorded.limits.some(({ resource, of, max }) => resource === limit.resource && of === limit.of && max !== null);
  return { ...now, limits: now.limits.filter(isHeld) };
}

/** Where the session goes another way than it did, so that what was recorded does not fit any more. */
function wayOf({ end }: Replayed, steps: Steps): TestDifference | null {
  const nothing = { part: 'call', path: '', recorded: undefined, now: undefined } as const;
  switch (end.kind) {
    case 'same':
      return null;
    case 'cut-off': {
      const step = end.place === null ? undefined : steps.get(end.place);
      const problem = 'the session waits here for something that the recording does not hold';
      return { ...nothing, step: step?.number ?? null, problem };
    }
    case 'parted': {
      const step = steps.get(end.parting.place);
      return { ...nothing, step: step?.number ?? null, problem: problemOf(end.parting, step?.name) };
    }
  }
}

function problemOf({ place, port, problem }: Divergence, name: string | undefined): string {
  const what =
    name === undefined ? port : port === 'model' ? 'the model' : `${port === 'hook' ? 'the hook ' : ''}${name}`;
  return name === undefined
    ? `${problem} (${port} at ${place.replace(/^tsk_[0-9a-f]+/, 'task')})`
    : `${what} ${problem}`;
}

/** Ends of tasks in the order in which these were accepted; null for one that has not ended. */
function inOrder({ historyEvents }: Recording, ends: readonly RecordedEnd[]): readonly (ExpectedTask | null)[] {
  const accepted = historyEvents.flatMap((historyEvent) =>
    historyEvent.kind === 'arrived' && historyEvent.what === 'task' ? [historyEvent.task.id as string] : [],
  );
  const byId = new Map<string, ExpectedTask>(
    ends.map(({ id, state, result }) => [id, result === undefined ? { state } : { state, result }]),
  );
  return accepted.map((id) => byId.get(id) ?? null);
}

function firstTask(
  expected: readonly (ExpectedTask | null)[],
  now: readonly (ExpectedTask | null)[],
): TestDifference | null {
  for (const index of Array(Math.max(expected.length, now.length)).keys()) {
    const [before, after] = [expected[index] ?? null, now[index] ?? null];
    const recorded = { state: before?.state, ...(before?.result === undefined ? {} : { result: before.result }) };
    const told = { state: after?.state, ...(before?.result === undefined ? {} : { result: after?.result }) };
    const unequal = firstUnequal(recorded, told, `/tasks/${index + 1}`, []);
    if (unequal !== null) return { ...unequal, part: 'task', step: null, problem: null };
  }
  return null;
}
