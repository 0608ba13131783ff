/** Parses the texts of a journal, which a stranger may have written. */

import { JsonShape, type JsonText, parsedJson, parseJsonText } from '@svc/protocol/json-text.ts';

/** What a session takes in nests half as deep; a record has it within values of its own. What walks deeper values would run out of stack. */
const deepest = 1000;

/** In the texts of one session: a value takes up to 72 bytes, fifty times as many as the recording of somebody who wants that. */
const maxRecordedValues = 8 * 1024 * 1024;

/** A text of a journal as the JSON value that it is. */
export function recordedJson(text: string): JsonText {
  return parseJsonText(text, maxRecordedValues, deepest);
}

/** The value itself. Returns null for text that is not JSON, or that is deeper or larger than a session accepts. */
export function parsed(text: string): unknown {
  const json = recordedJson(text);
  return json.kind === 'json' ? json.value : null;
}

/**
 * The values of the texts of one journal. A text is parsed once, however many records name it, so that nobody may change what `of` returns. Texts
 * that would bring more than `maxValues` values in all are `too-many`.
 */
export class RecordedValues {
  readonly #parsed = new Map<string, JsonText>();
  #left: number;

  constructor(maxValues: number = maxRecordedValues) {
    this.#left = maxValues;
  }

  /** The value of the text that has this hash, which is asked for where it is not known yet. */
  of(sha256: string, text: () => string): JsonText {
    const json = this.#parsed.get(sha256) ?? this.#parse(text());
    this.#parsed.set(sha256, json);
    return json;
  }

  #parse(text: string): JsonText {
    const shape = new JsonShape(this.#left - 1, null, deepest);
    const verdict = shape.add(text, 0, text.length);
    if (verdict !== 'fits') return { kind: verdict };
    this.#left -= shape.values + 1;
    return parsedJson(text);
  }
}
