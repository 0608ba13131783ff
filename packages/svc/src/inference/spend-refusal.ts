/** Why a call of the model is not made: it could pass `inference.max_session_tokens`. In tokens. */
export interface SpendRefusal {
  readonly ceiling: number;
  readonly spent: number;
  /** Set aside for calls that are under way. */
  readonly held: number;
  readonly estimate: number;
}

/** As a sentence; `call` is what may need the estimate. */
export function refusalSentence({ ceiling, spent, held, estimate }: SpendRefusal, call: string): string {
  const aside = held === 0 ? '' : `, ${held} set aside for calls under way`;
  return `spend ceiling reached: ${spent} of ${ceiling} session tokens used${aside}, ${call} may need ${estimate}`;
}
