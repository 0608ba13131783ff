/** Stands in for the driver of a session. */

import type {
  Driver,
  DriverOutcome,
  DriverTask,
  InferenceCall,
  InferenceRequest,
  InferenceResponse,
} from '@svc/session/model/driver.ts';

/** One turn of a scripted model: an outcome, a response, or what it does before either. */
export type Turn =
  | InferenceResponse
  | DriverOutcome
  | ((request: InferenceRequest, call: InferenceCall) => Promise<InferenceResponse | DriverOutcome>);

/** A driver in process that plays turns over all tasks in order and keeps every request. */
export class FakeDriver implements Driver {
  readonly label = 'fake-driver';
  readonly requests: InferenceRequest[] = [];
  readonly #turns: Turn[];
  readonly #closeTask: () => Promise<void>;

  /** `closeTask` is waited for at the end of every task. */
  constructor(turns: readonly Turn[], closeTask: () => Promise<void> = async () => {}) {
    this.#turns = [...turns];
    this.#closeTask = closeTask;
  }

  openTask(): DriverTask {
    return {
      infer: async (request, call) => {
        this.requests.push(request);
        const turn = this.#turns.shift();
        if (turn === undefined) return { kind: 'failed', error: 'the fake driver has no turn left' };
        const played = typeof turn === 'function' ? await turn(request, call) : turn;
        return 'kind' in played ? played : { kind: 'response', response: played };
      },
      close: () => this.#closeTask(),
    };
  }

  async close(): Promise<void> {}
}

/** A reply that ends the task. */
export function says(text: string): InferenceResponse {
  return { content: [{ type: 'text', text }], stopReason: 'end_turn', usage: { inputTokens: 10, outputTokens: 5 } };
}

/** A turn that calls tools in order; ids are `call_1`, `call_2`. */
export function calls(...made: readonly [name: string, input: unknown][]): InferenceResponse {
  return {
    content: made.map(([name, input], index) => ({ type: 'tool_call', id: `call_${index + 1}`, name, input })),
    stopReason: 'tool_call',
    usage: { inputTokens: 10, outputTokens: 5 },
  };
}

/** A turn that hangs until its task is canceled. */
export function hangs(_request: InferenceRequest, call: InferenceCall): Promise<DriverOutcome> {
  return new Promise((resolve) => {
    call.signal.addEventListener('abort', () => resolve({ kind: 'failed', error: 'aborted' }), { once: true });
  });
}
