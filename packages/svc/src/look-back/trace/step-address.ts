/** Reads how people name a step of a session. */

export interface StepAddress {
  readonly session: string | undefined;
  /** The digits that were given; null for all of the session. */
  readonly step: string | null;
}

const maxDigitsOfStep = 3;

/** `<session>#<step>`, two words, or one: a number of up to three digits is a step of the newest session. */
export function addressOf(first: string | undefined, second: string | undefined): StepAddress {
  if (second !== undefined) return { session: first, step: second.replace(/^#/, '') };
  const [, session = '', step] = /^(.*)#(\d+)$/.exec(first ?? '') ?? [];
  if (step !== undefined) return { session: session === '' ? undefined : session, step };
  const isStep = first !== undefined && /^\d+$/.test(first) && first.length <= maxDigitsOfStep;
  return isStep ? { session: undefined, step: first } : { session: first, step: null };
}
