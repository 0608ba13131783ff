import type { InferenceRequest, InferenceResponse, Usage } from '../inference/driver.ts';
import { estimateTokens } from './token-estimate.ts';

export interface SpendRefusal {
  readonly ceiling: number;
  readonly spent: number;
  readonly estimate: number;
}

/** Tokens a session has used, against `inference.max_session_tokens`. */
export class SpendMeter {
  readonly #ceiling: number | null;
  #spent = 0;

  constructor(ceiling: number | null) {
    this.#ceiling = ceiling;
  }

  /** Refuses a call that could pass the ceiling: its input as estimated and its output at its longest. */
  check(request: InferenceRequest): SpendRefusal | null {
    if (this.#ceiling === null) return null;
    const estimate = estimateTokens(request) + request.maxTokens;
    if (this.#spent + estimate <= this.#ceiling) return null;
    return { ceiling: this.#ceiling, spent: this.#spent, estimate };
  }

  /** Counts a call by what the provider reported, else by length. */
  record(request: InferenceRequest, response: InferenceResponse): Usage {
    const usage = response.usage ?? {
      inputTokens: estimateTokens(request),
      outputTokens: estimateTokens(response.content),
    };
    this.#spent += usage.inputTokens + usage.outputTokens;
    return usage;
  }
}
