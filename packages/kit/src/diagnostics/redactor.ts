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
  /** How often each was registered. */
  readonly #times = new Map<string, number>();
  #spelled: SpelledSecrets | null = null;

  /**
   * From now on the value of `secret` is replaced. One of fewer than four characters is no secret, and replacing it would leave no text readable: it is
   * ignored.
   */
  register(secret: Secret): void {
    const value = secret.reveal();
    if (value.length < shortestRedacted) return;
    const times = this.#times.get(value) ?? 0;
    this.#times.set(value, times + 1);
    if (times > 0) return;
    this.#values = [...this.#values, value].toSorted((a, b) => b.length - a.length);
    this.#spelled?.add(value);
  }

  /** Takes one `register` of it back: what nobody else has registered stays in texts again. */
  forget(secret: Secret): void {
    const value = secret.reveal();
    const times = this.#times.get(value) ?? 0;
    if (times > 1) return void this.#times.set(value, times - 1);
    this.#times.delete(value);
    this.#values = this.#values.filter((each) => each !== value);
    this.#spelled?.drop(value);
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
