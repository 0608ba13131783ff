import type { InferenceRequest, InferenceResponse, Usage } from '../inference/driver.ts';
import type { SpendRefusal } from '../inference/spend-refusal.ts';
import { estimateRequest, estimateTokens } from './token-estimate.ts';

/** Tokens a session has used, against `inference.max_session_tokens`. */
export class SpendMeter {
  readonly #ceiling: number | null;
  #spent = 0;
  #held = 0;

  constructor(ceiling: number | null) {
    this.#ceiling = ceiling;
  }

  /** Refuses a call that could pass the ceiling: its input as estimated and its output at its longest. */
  check(request: InferenceRequest): SpendRefusal | null {
    if (this.#ceiling === null) return null;
    const estimate = mostOf(request);
    if (this.#spent + this.#held + estimate <= this.#ceiling) return null;
    return { ceiling: this.#ceiling, spent: this.#spent, held: this.#held, estimate };
  }

  /** Sets aside what a call may come to while it is under way, until the function it gives is called: others may be made beside it. */
  hold(request: InferenceRequest): () => void {
    if (this.#ceiling === null) return () => {};
    const estimate = mostOf(request);
    this.#held += estimate;
    return () => {
      this.#held -= estimate;
    };
  }

  /** Counts a call by what the provider reported, else by length. */
  record(request: InferenceRequest, response: InferenceResponse): Usage {
    const usage = response.usage ?? {
      inputTokens: estimateRequest(request),
      outputTokens: estimateTokens(response.content),
    };
    this.#spent += usage.inputTokens + usage.outputTokens;
    return usage;
  }
}

function mostOf(request: InferenceRequest): number {
  return estimateRequest(request) + request.maxTokens;
}
