/** Keeps secrets out of what is printed and written. */

import type { Secret } from './secret.ts';
import type { SpelledSecrets } from './spelled-secrets.ts';

const mark = '[secret]';
/** What is shorter stays in all texts. */
export const shortestRedacted = 4;

/** Takes the known secrets out of text that is to be printed or kept. */
export class Redactor {
  /** Longest first, so that a secret within another does not leave the rest of it behind. */
  #values: readonly string[] = [];
  #spelled: SpelledSecrets | null = null;

  /**
   * From now on the value of `secret` is replaced. One of fewer than four characters is no secret, and replacing it would leave no text readable: it is
   * ignored.
   */
  register(secret: Secret): void {
    const value = secret.reveal();
    if (value.length < shortestRedacted || this.#values.includes(value)) return;
    this.#values = [...this.#values, value].toSorted((a, b) => b.length - a.length);
    this.#spelled?.add(value);
  }

  get knowsAny(): boolean {
    return this.#values.length > 0;
  }

  /**
   * From then on secrets are also replaced as JSON spells them, up to five times over, and as a URL does, of JSON or within a URL too; and parts of
   * them where a text was cut. Those registered later as well. Whatever keeps texts of others waits for it.
   */
  async learnSpellings(): Promise<void> {
    if (this.#spelled !== null) return;
    const module = await import('./spelled-secrets.ts');
    const spelled = new module.SpelledSecrets();
    for (const value of this.#values) spelled.add(value);
    this.#spelled = spelled;
  }

  redact(text: string): string {
    if (this.#spelled !== null) return this.#spelled.redact(text);
    let rest = text;
    // Nearly no text holds one: looking for it costs a fraction of replacing it.
    for (const value of this.#values) if (rest.includes(value)) rest = rest.replaceAll(value, () => mark);
    return rest;
  }

  /** A text that was cut at its end, without four characters or more there that a secret begins with, once the spellings are learnt. */
  cutBefore(text: string): string {
    return this.#spelled?.cutBefore(text) ?? text;
  }
}
