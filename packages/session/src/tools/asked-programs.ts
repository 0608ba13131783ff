/** Has a person judge the programs that the command of one call starts, one at a time. */

import { inertJson, shortened } from '@svc/kit/diagnostics/printable.ts';
import type { ProgramJudge, StartedProgram } from '@svc/sandbox/launcher.ts';
import type { QuestionTurns } from './question-turns.ts';
import type { ProgramQuestions } from './tool.ts';

/** Programs of one call that do not just run. A command may try as often as it likes, and each is recorded. */
const maxAsked = 64;
const maxTold = 5;
const maxShown = 200;

/** The programs of one call, which wait before their first instruction. What was denied once stays denied in it, and nobody is asked about it again. */
export class AskedPrograms implements ProgramJudge {
  readonly #questions: ProgramQuestions;
  readonly #turns: QuestionTurns;
  readonly #denied = new Set<string>();
  readonly #killed: string[] = [];
  #asked = 0;
  #unasked = 0;

  constructor(questions: ProgramQuestions, turns: QuestionTurns) {
    this.#questions = questions;
    this.#turns = turns;
  }

  async judge(program: StartedProgram): Promise<boolean> {
    if (this.#questions.passes(program)) return true;
    return await this.#turns.next(async () => await this.#judge(program));
  }

  /** Sentences on those that were killed without a question, and that the call has therefore not said itself. */
  readonly killed = (): readonly string[] => {
    const more = this.#unasked - this.#killed.length;
    return [...this.#killed, ...(more === 0 ? [] : [`so it is with ${more} more`])];
  };

  async #judge(program: StartedProgram): Promise<boolean> {
    const key = JSON.stringify([program.file, program.argv, program.state]);
    if (this.#denied.has(key)) return false;
    if (this.#turns.isOver) return this.#kill(program, 'approvals decide about it, and its call is over');
    this.#asked += 1;
    if (this.#asked > maxAsked)
      return this.#kill(program, `it is one of more than ${maxAsked} of its call that approvals decide about`);
    // The session hears of what goes wrong where it asks.
    const runs = await this.#turns.asking(
      this.#questions.ask(program).then(
        ({ kind }) => kind === 'proceed',
        () => false,
      ),
    );
    if (!runs) this.#denied.add(key);
    return runs;
  }

  #kill({ argv }: StartedProgram, why: string): false {
    this.#unasked += 1;
    if (this.#unasked <= maxTold)
      this.#killed.push(`${inertJson(shortened(argv.join(' '), maxShown))} was killed before it began: ${why}`);
    return false;
  }
}
