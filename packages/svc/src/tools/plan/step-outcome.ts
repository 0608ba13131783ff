/** How one attempt at a step ended. */
export interface StepOutcome {
  readonly status: 'passed' | 'failed';
  /** False when nothing of a tool ran: the content is the runtime's own. */
  readonly reached: boolean;
  /** What there is to read, unfenced. */
  readonly content: string;
  /** What later steps can be handed, unfenced. */
  readonly output: string;
  /** By whom the output is marked for a model that is to read it; null where it is the runtime's own or a skill's. */
  readonly fenceSource: string | null;
  /** Content or output are not whole. */
  readonly cut: boolean;
  readonly exitCode: number | null;
  /** Another attempt may end differently. */
  readonly retryable: boolean;
}

/** The outcome of a step of which nothing ran. */
export function nothingRan(reason: string): StepOutcome {
  return {
    status: 'failed',
    reached: false,
    content: reason,
    output: '',
    fenceSource: null,
    cut: false,
    exitCode: null,
    retryable: false,
  };
}
