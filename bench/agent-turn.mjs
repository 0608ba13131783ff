// @ts-check
import { loadSubject } from './support/bundle.mjs';
import { median } from './support/rounds.mjs';

const rounds = 15;
const tasksPerRound = 20;

/** What the runtime itself adds to an inference turn with one tool call: everything but the model and the tool. */
/** @type {import('./support/row.mjs').Row} */
export const agentTurn = {
  name: 'agent-turn',
  goal: { atMost: 2 },
  unit: 'ms',
  async measure() {
    const subject = /** @type {typeof import('./support/agent-turn-subject.ts')} */ (
      await loadSubject('agent-turn-subject.ts')
    );
    const { millisecondsPerTurn } = subject;
    await millisecondsPerTurn(tasksPerRound);
    /** @type {number[]} */
    const taken = [];
    for (let round = 0; round < rounds; round += 1) taken.push(await millisecondsPerTurn(tasksPerRound));
    const figure = median(taken);
    return { subject: `${figure.toFixed(2)} ms a turn`, floor: 'model and tool that answer at once', figure };
  },
};
