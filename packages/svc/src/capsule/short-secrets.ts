/** Warns of a key or a token that is too short to be a secret. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { shortestRedacted } from '@svc/kit/diagnostics/redactor.ts';
import type { KnownSecrets } from './session-secrets.ts';

/** `W-RUN-174` for each of the two that has fewer than `enough` characters. Nothing says which those are. */
export function shortSecretWarnings(
  { apiKey, listenerToken }: Pick<KnownSecrets, 'apiKey' | 'listenerToken'>,
  enough: number,
): readonly Diagnostic[] {
  return [
    { secret: apiKey, name: "the key of the model's provider", instead: 'a key' },
    { secret: listenerToken, name: 'SVC_LISTENER_TOKEN', instead: 'a token' },
  ].flatMap(({ secret, name, instead }) => {
    const length = secret?.reveal().length ?? enough;
    if (length >= enough) return [];
    const characters = length === 1 ? '1 character' : `${length} characters`;
    const effect =
      length < shortestRedacted
        ? 'it is not taken out of traces and journals'
        : 'traces and journals have [secret] wherever a text has the same letters by chance';
    return [
      new Diagnostic('W-RUN-174', `${name} has only ${characters}: ${effect}`, {
        hint: `give ${instead} of at least ${enough} characters; one that nobody checks may be any text`,
      }),
    ];
  });
}
