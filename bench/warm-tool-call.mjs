// @ts-check
// Measures what the runtime adds to a call of a tool that is ready.
import { fileURLToPath } from 'node:url';

import { loadSubject } from './support/bundle.mjs';
import { alternate } from './support/rounds.mjs';

const callsPerRound = 500;
/** After which the engine has compiled what runs often, on both sides. */
const callsBefore = 10_000;

/** What the runtime adds to a call of a tool that is ready: the way to its process and back, and the checks. */
/** @type {import('./support/row.mjs').Row} */
export const warmToolCall = {
  name: 'warm-tool-call',
  goal: { atMost: 60 },
  unit: 'µs',
  async measure() {
    const { openWarmTool } = /** @type {typeof import('./support/tool-call-subject.ts')} */ (
      await loadSubject('tool-call-subject.ts')
    );
    const tool = await openWarmTool(fileURLToPath(new URL('../', import.meta.url)));
    try {
      await tool.throughRuntime(callsBefore);
      tool.componentAlone(callsBefore);
      const { subject, floor } = await alternate({
        rounds: 15,
        subject: () => tool.throughRuntime(callsPerRound),
        floor: async () => tool.componentAlone(callsPerRound),
      });
      return {
        subject: `call through the runtime ${(subject * 1000).toFixed(0)} µs`,
        floor: `component alone ${(floor * 1000).toFixed(0)} µs`,
        figure: (subject - floor) * 1000,
      };
    } finally {
      await tool.close();
    }
  },
};
