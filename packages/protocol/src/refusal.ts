/** The JSON body of a refusal over HTTP. */

import { asJsonObject, stringOr } from './json-object.ts';

/** Why a request over plain HTTP was refused: a code or a sentence, and what else is to be said. */
export interface Refusal {
  readonly error: string;
  /** Empty when nothing is. */
  readonly message: string;
}

/** The body of a refusal; a referee's has no `message` (D2 "Errors"). */
export function encodeRefusal({ error, message }: Refusal): unknown {
  return message === '' ? { error } : { error, message };
}

/** Returns null for what is no JSON object, and for a key that is missing or of another form. */
export function decodeRefusal(body: unknown): { readonly [Key in keyof Refusal]: string | null } | null {
  const fields = asJsonObject(body);
  return fields === null
    ? null
    : { error: stringOr(fields['error'], null), message: stringOr(fields['message'], null) };
}
