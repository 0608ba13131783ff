/** Takes secrets out of text in all their spellings, and parts of them where a text was cut. */

import { type Span, SpelledSecret } from './spelled-secret.ts';

/** Stands for a secret. */
const mark = '[secret]';

/** The secrets that a `Redactor` knows. Read when there is one: most starts of `svc` never look for a spelling. */
export class SpelledSecrets {
  /** Longest first, so that a secret within another does not leave the rest of it behind. */
  #secrets: readonly SpelledSecret[] = [];

  /** A value of at least four characters, once. */
  add(value: string): void {
    this.#secrets = [...this.#secrets, new SpelledSecret(value)].toSorted((a, b) => b.value.length - a.value.length);
  }

  drop(value: string): void {
    this.#secrets = this.#secrets.filter((secret) => secret.value !== value);
  }

  /** The text with a mark for each secret, and for four characters or more of one that was cut with a `…`. */
  redact(text: string): string {
    let rest = text;
    for (const secret of this.#secrets) if (secret.mayBeIn(rest)) rest = replaced(rest, secret.spans(rest));
    return rest.includes('…') ? this.#withoutParts(rest) : rest;
  }

  #withoutParts(text: string): string {
    let rest = text;
    for (const secret of this.#secrets) {
      rest = replaced(rest, secret.cutBeginnings(rest));
      rest = replaced(rest, secret.cutEnds(rest));
    }
    return rest;
  }

  /** A text that was cut at its end, without the beginning of a secret there: of four characters or more, for nobody knows a shorter one. */
  cutBefore(text: string): string {
    let end = Math.min(text.length, ...this.#secrets.map((secret) => secret.beginningAtEnd(text)));
    // Within a whole secret, a cut would leave of that what is no longer found.
    for (let within: Span | null = null; end < text.length; end = within.start) {
      within = this.#around(text, end);
      if (within === null) break;
    }
    return text.slice(0, end);
  }

  #around(text: string, at: number): Span | null {
    for (const secret of this.#secrets) {
      const span = secret.around(text, at);
      if (span !== null) return span;
    }
    return null;
  }
}

function replaced(text: string, spans: Iterable<Span>): string {
  let clean = '';
  let shownTo = 0;
  for (const { start, end } of spans) {
    if (start < shownTo) continue;
    clean += text.slice(shownTo, start) + mark;
    shownTo = end;
  }
  return shownTo === 0 ? text : clean + text.slice(shownTo);
}
