// @ts-check
// Measures turns of a capsule with the driver that most people have, and what streaming an answer costs.
import { createWorkspace, waits } from './support/capsule.mjs';
import { manifestOf } from './support/model.mjs';
import { alternate } from './support/rounds.mjs';
import { BareTurns, flooded, paced, TurnBench, turns } from './support/turn-bench.mjs';

const rounds = 9;
const artifacts = 'artifacts: [{ name: svc-tool-editor, version: 1.0.0 }]\n';
const shell = 'capabilities: { shell: { allow: [bash] } }\n';
const line = 'echo svc-$((6 * 7))';
const command = { name: 'bash', arguments: JSON.stringify({ command: line }), answer: 'svc-42' };
const call = {
  name: 'svc-tool-editor',
  arguments: JSON.stringify({ command: 'write', path: 'a.txt', content: 'a' }),
  answer: 'replaced a.txt',
};

/**
 * A turn with one call of a component or of `bash`, and a delta of an answer on its way to one watcher; against a Node process that asks the same model and
 * reads its answer, and does nothing else. In `bash-turn` it runs the same line too, with nothing around it, and in `delta-relayed` it hands each delta on.
 * @type {readonly import('./support/row.mjs').Row[]}
 */
export const turnRows = [
  row('component-turn', 5, 'ms', (bench, bare) => ({
    subject: async () => (await bench.turn(call)).tookMs,
    floor: async () => (await bare.ask(turns)).tookMs,
  })),
  row('component-turn-cpu', 5, 'ms CPU', (bench, bare) => ({
    subject: async () => (await bench.turn(call)).cpuMs,
    floor: async () => (await bare.ask(turns)).cpuMs / turns,
  })),
  row(
    'bash-turn',
    2,
    'ms',
    (bench, bare) => ({
      subject: async () => (await bench.turn(command)).tookMs,
      floor: async () => (await bare.ask(turns)).tookMs,
    }),
    { manifest: shell, line: [line] },
  ),
  row('delta-paced', 1.4, 'µs CPU', (bench, bare) => deltas(bench, bare, paced)),
  row('delta-relayed', 2, 'µs CPU', (bench, bare) => ({
    subject: () => bench.deltaUs(paced),
    floor: () => bare.relayedUs(paced),
  })),
  row('delta-flooded', 7, 'µs CPU', (bench, bare) => deltas(bench, bare, flooded)),
];

/**
 * @param {TurnBench} bench
 * @param {BareTurns} bare
 * @param {import('./support/turn-bench.mjs').Pace} pace
 */
function deltas(bench, bare, pace) {
  return {
    subject: () => bench.deltaUs(pace),
    floor: async () => ((await bare.ask(1, pace)).cpuMs * 1000) / pace.times,
  };
}

/**
 * @param {string} name
 * @param {number} atMost
 * @param {string} unit
 * @param {(bench: TurnBench, bare: BareTurns) => { subject: () => Promise<number>, floor: () => Promise<number> }} pair
 * @param {{ manifest: string, line: readonly string[] }} [both] What the capsule has, and what the bare process runs.
 * @returns {import('./support/row.mjs').Row}
 */
function row(name, atMost, unit, pair, { manifest, line } = { manifest: artifacts, line: [] }) {
  return {
    name,
    goal: { atMost },
    unit: 'times',
    async measure() {
      const bench = await TurnBench.open((port) =>
        createWorkspace({ manifest: `${manifestOf(port, turns + 1)}${manifest}${waits}` }),
      );
      const bare = await BareTurns.open(line);
      try {
        const { subject, floor, ratio } = await alternate({ rounds, ...pair(bench, bare) });
        return {
          subject: `capsule ${subject.toFixed(2)} ${unit}`,
          floor: `bare node:http ${floor.toFixed(2)} ${unit}`,
          figure: ratio,
        };
      } finally {
        await Promise.all([bench.close(), bare.close()]);
      }
    },
  };
}
