// @ts-check
// Measures capsules against those of Murmur that do the same: the same model, the same tasks, in turn.
import { closedPerProcessorSecond } from './support/close-load.mjs';
import { startCapsule } from './support/capsule.mjs';
import { postBytes } from './support/dialects.mjs';
import { firstTasks } from './support/first-tasks.mjs';
import { done, serveModel } from './support/model.mjs';
import { bringMurmur, hasControlGroup, murmurCapsule, svcCapsule } from './support/murmur.mjs';
import { openRuns } from './support/one-run.mjs';
import { proportionalKilobytes } from './support/resident-memory.mjs';
import { alternate } from './support/rounds.mjs';
import { completedTask } from './support/rpc-load.mjs';
import { flooded, paced, TurnBench, turns } from './support/turn-bench.mjs';

const echo = { name: 'echo', arguments: JSON.stringify({ text: 'an echo' }), answer: 'an echo' };
const bash = { name: 'bash', arguments: JSON.stringify({ command: 'echo svc-$((6 * 7))' }), answer: 'svc-42' };
const many = 50;

/** @type {import('./support/murmur.mjs').Capsule} */
const once = { turns: 1, isWaiting: false, hasTools: false };
/** @type {import('./support/murmur.mjs').Capsule} */
const waiting = { turns: turns + 1, isWaiting: true, hasTools: false };
const withTools = { ...waiting, hasTools: true };

/** @typedef {(port: number) => Promise<import('./support/capsule.mjs').Workspace>} Create */
/** @typedef {{ rounds?: number, unit: string, capsule: import('./support/murmur.mjs').Capsule, goal: import('./support/row.mjs').Goal }} Pair */

/** @type {readonly import('./support/row.mjs').Row[]} */
export const murmurRows = [
  ofRuns('murmur-first-request', 0.9, 'ms', ({ asked }) => asked),
  ofRuns('murmur-whole-run', 1, 'ms', ({ ended }) => ended),
  ofRuns('murmur-end', 1.5, 'ms', ({ answered, ended }) => ended - answered),
  ofRuns('murmur-run-cpu', 1.2, 'ms CPU', ({ cpuMs }) => cpuMs),
  ofTurns('murmur-component-turn', 1, 'ms', withTools, async (bench) => (await bench.turn(echo)).tookMs),
  ofTurns('murmur-component-turn-cpu', 1, 'ms CPU', withTools, async (bench) => (await bench.turn(echo)).cpuMs),
  ofTurns('murmur-bash-turn', 0.2, 'ms', withTools, async (bench) => (await bench.turn(bash)).tookMs),
  ofTurns('murmur-bash-turn-cpu', 1, 'ms CPU', withTools, async (bench) => (await bench.turn(bash)).cpuMs),
  ofTurns('murmur-delta-paced', 0.6, 'µs CPU', waiting, (bench) => bench.deltaUs(paced)),
  ofTurns('murmur-delta-flooded', 1, 'µs CPU', waiting, (bench) => bench.deltaUs(flooded)),
  ofFirstTasks('murmur-memory-after-task', 1.05, 'MB', waiting, { count: 1, calls: [] }),
  ofFirstTasks('murmur-memory-after-tools', 1.2, 'MB', withTools, { count: 1, calls: [echo, bash] }),
  ofFirstTasks('murmur-first-tasks-50', 2, 'ms', waiting, { count: many, calls: [] }),
  ofFirstTasks('murmur-first-tasks-50-memory', 0.6, 'MB', waiting, { count: many, calls: [] }),
  row('murmur-tasks-get', { unit: '/s CPU', capsule: waiting, goal: { atLeast: 0.8 } }, openQuestions, (each) =>
    each.perProcessorSecond(),
  ),
];

/**
 * @template {{ close: () => Promise<void> }} Bench
 * @param {string} name
 * @param {Pair} pair
 * @param {(create: Create) => Promise<Bench>} open
 * @param {(bench: Bench) => Promise<number>} take
 * @returns {import('./support/row.mjs').Row}
 */
function row(name, { rounds = 15, unit, capsule, goal }, open, take) {
  return {
    name,
    goal,
    unit: 'times',
    async measure() {
      await bringMurmur();
      const stoodIn = capsule.hasTools && !(await hasControlGroup()) ? ', its control group stood in for' : '';
      const benches = [await open(svcCapsule(capsule)), await open(murmurCapsule(capsule))];
      const [svc, murmur] = /** @type {[Bench, Bench]} */ (benches);
      try {
        const measured = await alternate({ rounds, subject: () => take(svc), floor: () => take(murmur) });
        return {
          subject: `svc ${measured.subject.toFixed(1)} ${unit}`,
          floor: `Murmur ${measured.floor.toFixed(1)} ${unit}${stoodIn}`,
          figure: measured.ratio,
        };
      } finally {
        await Promise.all([svc.close(), murmur.close()]);
      }
    },
  };
}

/**
 * A run of one turn; the last of its moments begins when the model has sent its last byte.
 * @param {string} name
 * @param {number} atMost
 * @param {string} unit
 * @param {(moments: import('./support/one-run.mjs').Moments) => number} span
 */
function ofRuns(name, atMost, unit, span) {
  const pair = { rounds: 21, unit, capsule: once, goal: { atMost } };
  return row(name, pair, openRuns, async (runs) => span(await runs.run()));
}

/**
 * A turn with one call, or a streamed delta, of a capsule that waits for tasks.
 * @param {string} name
 * @param {number} atMost
 * @param {string} unit
 * @param {import('./support/murmur.mjs').Capsule} capsule
 * @param {(bench: TurnBench) => Promise<number>} take
 */
function ofTurns(name, atMost, unit, capsule, take) {
  return row(name, { unit, capsule, goal: { atMost } }, (create) => TurnBench.open(create), take);
}

/**
 * Capsules that are given their first task at once: how long it takes, or what they have in memory afterwards.
 * @param {string} name
 * @param {number} atMost
 * @param {'ms' | 'MB'} unit
 * @param {import('./support/murmur.mjs').Capsule} capsule
 * @param {{ count: number, calls: readonly { name: string, arguments: string }[] }} tasks
 */
function ofFirstTasks(name, atMost, unit, capsule, tasks) {
  const open = async (/** @type {Create} */ create) => ({ create, close: async () => {} });
  return row(name, { rounds: 9, unit, capsule, goal: { atMost } }, open, async ({ create }) => {
    const { tookMs, megabytes } = await firstTasks({ ...tasks, create, kilobytesOf: proportionalKilobytes });
    return unit === 'ms' ? tookMs : megabytes;
  });
}

/**
 * A capsule that is asked for a task that has ended, on a connection for each request.
 * @param {Create} create
 */
async function openQuestions(create) {
  const model = await serveModel({ onAsked: () => {}, reply: () => done });
  const workspace = await create(model.port);
  const capsule = await startCapsule(workspace);
  const { requestBody } = await completedTask(capsule);
  const { port, dialect } = capsule;
  const headers = [...Object.entries(dialect.headers).map(([name, value]) => `${name}: ${value}`), 'Connection: close'];
  const request = postBytes({ host: `127.0.0.1:${port}`, headers }, requestBody);
  return {
    perProcessorSecond: () => closedPerProcessorSecond(capsule.pid, { port, connections: 64, requests: 6000, request }),
    async close() {
      await capsule.stop();
      model.close();
      await workspace.remove();
    },
  };
}
