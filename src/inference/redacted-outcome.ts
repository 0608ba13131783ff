import type { DriverOutcome } from './driver.ts';

/** An outcome whose failure, its own or the provider's, went through `redact`: either may repeat a key. */
export function redactedOutcome(outcome: DriverOutcome, redact: (text: string) => string): DriverOutcome {
  if (outcome.kind !== 'response') return { ...outcome, error: redact(outcome.error) };
  const { response } = outcome;
  if (response.error === undefined) return outcome;
  return { kind: 'response', response: { ...response, error: redact(response.error) } };
}
