/** Reads what a registry says of a refusal. */

import { asJsonObject, parseJson } from '@svc/protocol/json-object.ts';

const maxErrors = 3;

/** The words of a refusal: of `errors` as the specification has them, of other JSON, of storage in XML, or a text; empty for a page and where it says nothing. */
export function wordsIn(body: string, mediaType: string): string {
  const told = asJsonObject(parseJson(body));
  if (told === null) return mediaType === 'text/plain' ? (body.trim().split(/[\r\n]/)[0] ?? '') : wordsOfXml(body);
  const { errors } = told;
  const listed = (Array.isArray(errors) ? errors : [errors]).slice(0, maxErrors).map(wordsOf);
  const said = [...new Set(listed.filter((words) => words !== ''))];
  if (said.length > 0) return said.join('; ');
  return firstText([
    told['message'],
    told['error_description'],
    wordsOf(told['error']),
    told['details'],
    told['detail'],
  ]);
}

function wordsOfXml(body: string): string {
  const [, code = '', message = ''] = /<Code>([^<]*)<\/Code>\s*<Message>([^<]*)</.exec(body) ?? [];
  return wordsOf({ code, message });
}

function wordsOf(error: unknown): string {
  if (typeof error === 'string') return error;
  const { code, message, detail } = asJsonObject(error) ?? {};
  return [code, firstText([message, detail])].filter((part) => typeof part === 'string' && part !== '').join(': ');
}

function firstText(candidates: readonly unknown[]): string {
  return candidates.find((each): each is string => typeof each === 'string' && each !== '') ?? '';
}
