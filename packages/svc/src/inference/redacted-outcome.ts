import type { DriverOutcome } from './driver.ts';

/** What a failure says, in characters: status, result file and trace repeat it. */
const longestError = 16 * 1024;

/** An outcome whose failure, its own or the provider's, went through `redact`, since either may repeat a key, and is cut where it is too long. */
export function redactedOutcome(outcome: DriverOutcome, redact: (text: string) => string): DriverOutcome {
  const shown = (error: string): string => {
    const text = redact(error);
    return text.length <= longestError ? text : `${text.slice(0, longestError)}…`;
  };
  if (outcome.kind !== 'response') return { ...outcome, error: shown(outcome.error) };
  const { response } = outcome;
  if (response.error === undefined) return outcome;
  return { kind: 'response', response: { ...response, error: shown(response.error) } };
}
