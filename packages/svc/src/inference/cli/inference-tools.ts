/** Carries out the calls that a coding program makes within one inference. */

import type { InferenceCall, ToolAnswer, ToolDefinition } from '../driver.ts';
import type { OfferedCall, OfferedTools } from './mcp-service.ts';

export interface InferenceToolsOptions {
  readonly definitions: readonly ToolDefinition[];
  readonly callTool: InferenceCall['callTool'];
  /** Calls beyond these are answered with an error; null where the program counts its turns itself. */
  readonly mostCalls: number | null;
  /** Called once with what ends the inference: a cancel, or a failure of the runtime itself. */
  readonly onFault: (reason: unknown) => void;
  /** Called when a program goes on calling after it was told that its calls are used up. */
  readonly onStubborn: () => void;
}

/** Calls of one inference, each carried out after the one before, whatever the program does at once. */
export class InferenceTools implements OfferedTools {
  readonly definitions: readonly ToolDefinition[];
  readonly #options: InferenceToolsOptions;
  #made = 0;
  #last: Promise<unknown> = Promise.resolve();
  #isOver = false;
  #fault: { readonly reason: unknown } | null = null;

  constructor(options: InferenceToolsOptions) {
    this.definitions = options.definitions;
    this.#options = options;
  }

  /** How many calls came in. */
  get made(): number {
    return this.#made;
  }

  call(request: OfferedCall): Promise<ToolAnswer> {
    this.#made += 1;
    if (this.#isOver) return Promise.resolve(late);
    const { mostCalls } = this.#options;
    if (mostCalls !== null && this.#made > mostCalls) {
      if (this.#made > 2 * mostCalls) this.#options.onStubborn();
      return Promise.resolve(usedUp(mostCalls));
    }
    const answer = this.#last.then(() => this.#carryOut(request));
    this.#last = answer.catch(() => {});
    return answer;
  }

  /** Takes no more calls, and settles once those under way are over. Rejects with what one of them ended the inference with. */
  async finish(): Promise<void> {
    this.#isOver = true;
    await this.#last;
    if (this.#fault !== null) throw this.#fault.reason;
  }

  async #carryOut({ name, input }: OfferedCall): Promise<ToolAnswer> {
    if (this.#isOver || this.#fault !== null) return late;
    try {
      // The provider's own id stays with the program (D1 "Frame types", `artifact`).
      return await this.#options.callTool({ type: 'tool_call', id: '', name, input });
    } catch (error) {
      this.#fault = { reason: error };
      this.#options.onFault(error);
      // What went wrong inside is nothing for the program to read.
      throw new Error('the call was broken off', { cause: error });
    }
  }
}

const late: ToolAnswer = { content: 'the task is over: nothing is carried out any more', isError: true };

function usedUp(mostCalls: number): ToolAnswer {
  const content = `not carried out: the ${mostCalls} turns of this task are used up. Answer with what is known.`;
  return { content, isError: true };
}
