const longestMessage = 400;

export interface ProviderFailureDetails {
  /** The same request may succeed if it is sent again. */
  readonly transient: boolean;
  /** How long the provider asks to be left alone; null when it does not say. */
  readonly retryAfterMs?: number | null;
}

/** The provider could not be reached, refused, or broke off. The message is one line that an operator can act on. */
export class ProviderFailure extends Error {
  readonly transient: boolean;
  readonly retryAfterMs: number | null;

  constructor(message: string, details: ProviderFailureDetails) {
    super(oneLine(message));
    this.name = 'ProviderFailure';
    this.transient = details.transient;
    this.retryAfterMs = details.retryAfterMs ?? null;
  }
}

/** `text` on one line, without control characters, cut at 400 characters. */
export function oneLine(text: string): string {
  const line = text
    .slice(0, longestMessage * 4)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  return line.length <= longestMessage ? line : `${line.slice(0, longestMessage)}…`;
}
