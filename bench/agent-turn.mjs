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
    await millisecondsPerTurn(tasksPerRound, false);
    /** @type {number[]} */
    const taken = [];
    for (let round = 0; round < rounds; round += 1) taken.push(await millisecondsPerTurn(tasksPerRound, false));
    const figure = median(taken);
    return { subject: `${figure.toFixed(2)} ms a turn`, floor: 'model and tool that answer at once', figure };
  },
};

/**
 * What the journal adds to such a turn: the model's question and answer and the call with its result.
 * @type {import('./support/row.mjs').Row}
 */
export const journalTurn = {
  name: 'journal-turn',
  goal: { atMost: 0.15 },
  unit: 'ms',
  async measure() {
    const subject = /** @type {typeof import('./support/agent-turn-subject.ts')} */ (
      await loadSubject('agent-turn-subject.ts')
    );
    const { millisecondsPerTurn } = subject;
    /** @type {number[]} */
    const recorded = [];
    /** @type {number[]} */
    const plain = [];
    for (let round = -1; round < rounds; round += 1) {
      const [without, withJournal] = [
        await millisecondsPerTurn(tasksPerRound, false),
        await millisecondsPerTurn(tasksPerRound, true),
      ];
      if (round < 0) continue;
      plain.push(without);
      recorded.push(withJournal);
    }
    const figure = median(recorded.map((each, round) => each - (plain[round] ?? 0)));
    return {
      subject: `${median(recorded).toFixed(2)} ms a turn`,
      floor: `${median(plain).toFixed(2)} ms without a journal`,
      figure,
    };
  },
};
