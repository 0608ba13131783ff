// @ts-check
// Measures what a span of telemetry costs the processor.
import { once } from 'node:events';
import { createServer } from 'node:http';

import { loadSubject } from './support/bundle.mjs';
import { createWorkspace, startCapsule } from './support/capsule.mjs';
import { alternate, median } from './support/rounds.mjs';

const rounds = 21;
const batchesOfRound = 60;

/**
 * Processor time of a span, from the line of the trace to the bytes that go to a collector, in batches of 512.
 * @type {import('./support/row.mjs').Row}
 */
export const telemetrySpan = {
  name: 'telemetry-span',
  goal: { atMost: 4 },
  unit: 'µs',
  async measure() {
    const { microsecondsPerSpan } = /** @type {typeof import('./support/span-subject.ts')} */ (
      await loadSubject('span-subject.ts')
    );
    // Until the code of it is compiled.
    microsecondsPerSpan(batchesOfRound);
    const taken = Array.from({ length: rounds }, () => microsecondsPerSpan(batchesOfRound));
    const figure = median(taken);
    return { figure, subject: `${figure.toFixed(2)} µs`, floor: `${rounds} rounds of ${batchesOfRound * 512}` };
  },
};

/**
 * From the start of the process to the line that says where the capsule listens: what it takes more where the environment names a collector.
 * @type {import('./support/row.mjs').Row}
 */
export const telemetryStart = {
  name: 'telemetry-start',
  goal: { atMost: 5 },
  unit: 'ms',
  async measure() {
    const collector = createServer((request, response) => {
      request.resume().once('end', () => response.setHeader('content-type', 'application/json').end('{}'));
    });
    collector.listen(0, '127.0.0.1');
    await once(collector, 'listening');
    const { port } = /** @type {import('node:net').AddressInfo} */ (collector.address());
    const workspace = await createWorkspace();
    const asking = {
      ...workspace,
      env: { ...workspace.env, OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` },
    };
    try {
      const measured = await alternate({
        rounds,
        subject: () => startedInMs(asking),
        floor: () => startedInMs(workspace),
      });
      return {
        subject: `with telemetry ${measured.subject.toFixed(0)} ms`,
        floor: `without ${measured.floor.toFixed(0)} ms`,
        figure: measured.subject - measured.floor,
      };
    } finally {
      await workspace.remove();
      collector.close();
    }
  },
};

/** @param {import('./support/capsule.mjs').Workspace} workspace */
async function startedInMs(workspace) {
  const capsule = await startCapsule(workspace);
  await capsule.stop();
  return capsule.startedInMs;
}
