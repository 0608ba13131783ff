/** Parses the texts of a journal, which a stranger may have written. */

import { type JsonText, parseJsonText } from '@svc/protocol/json-text.ts';

/** What a session takes in nests half as deep; a record has it within values of its own. What walks deeper values would run out of stack. */
const deepest = 1000;

/** A text of a journal as the JSON value that it is. */
export function recordedJson(text: string): JsonText {
  return parseJsonText(text, Number.POSITIVE_INFINITY, deepest);
}
