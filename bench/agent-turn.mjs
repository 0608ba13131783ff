// @ts-check
// Measures what the runtime adds to a turn of an agent.
import { loadSubject } from './support/bundle.mjs';
import { median } from './support/rounds.mjs';

const rounds = 15;
const tasksPerRound = 20;
/** The first rounds run code that is not compiled yet, the rounds behind them are taken in pairs. */
const [warmUps, pairedRounds] = [5, 45];

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
    const { costPerTurn } = subject;
    await costPerTurn(tasksPerRound, false);
    /** @type {number[]} */
    const taken = [];
    for (let round = 0; round < rounds; round += 1) taken.push((await costPerTurn(tasksPerRound, false)).ms);
    const figure = median(taken);
    return { subject: `${figure.toFixed(2)} ms a turn`, floor: 'model and tool that answer at once', figure };
  },
};

/**
 * What the journal adds to such a turn: the model's question and answer and the call with its result, in four records with five texts and three
 * kilobytes, all of them new. Processor time, for the journal waits for nothing, and beside other work the clock shows several times as much. Even
 * that grows with what else runs: two processors show 0.17 ms with four processes on them, 0.20 to 0.23 with fifteen, 0.31 with twenty.
 *
 * 22 % of it are the recorder, which has a turn of the event loop for each of five deliveries (two ends, three looks at the session's surroundings);
 * 25 % JSON of the values, of the texts in their lines and of the records; 14 % four writes; 13 % hashes of texts and lines; 8 % the steps in
 * which long texts are written; 4 % secrets; the rest is objects. Fewer writes would have to hold back the end of a step until the next
 * begins (docs/adr/journal-and-replay.md "Long texts have turns of their own").
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
    const { costPerTurn } = subject;
    /** @type {number[]} */
    const recorded = [];
    /** @type {number[]} */
    const plain = [];
    for (let round = -warmUps; round < pairedRounds; round += 1) {
      const without = await costPerTurn(tasksPerRound, false);
      const withJournal = await costPerTurn(tasksPerRound, true);
      if (round < 0) continue;
      plain.push(without.cpuMs);
      recorded.push(withJournal.cpuMs);
    }
    const figure = median(recorded.map((each, round) => each - (plain[round] ?? 0)));
    return {
      subject: `${median(recorded).toFixed(2)} ms a turn`,
      floor: `${median(plain).toFixed(2)} ms without a journal`,
      figure,
    };
  },
};
