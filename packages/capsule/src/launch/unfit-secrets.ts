/** Says what is wrong with a key or a token that a session is given for itself. */

import type { LoadedManifest } from '@svc/artifacts/manifest/loaded-manifest.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { shortestRedacted } from '@svc/kit/diagnostics/redactor.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';

/** What a session is given for itself. */
export interface GivenSecrets {
  readonly loaded: Pick<LoadedManifest, 'apiKey' | 'keyVariable' | 'manifest' | 'locate'>;
  readonly listenerToken: Secret | null;
}

const providerKey = "the key of the model's provider";

/** `W-RUN-174` for each of the two that has fewer than `enough` characters. Nothing says which those are. */
export function shortSecretWarnings({ loaded, listenerToken }: GivenSecrets, enough: number): readonly Diagnostic[] {
  return [
    { secret: loaded.apiKey ?? null, name: providerKey, instead: 'a key' },
    { secret: listenerToken, name: 'SVC_LISTENER_TOKEN', instead: 'a token' },
  ].flatMap(({ secret, name, instead }) => {
    const length = secret?.reveal().length ?? enough;
    if (length >= enough) return [];
    if (length === 0) return [emptyKey(loaded)];
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

function emptyKey({ keyVariable }: GivenSecrets['loaded']): Diagnostic {
  const why = keyVariable === null ? 'inference.api_key is an empty text' : `${keyVariable} is set, but empty`;
  return new Diagnostic('W-RUN-174', `${providerKey} is empty: ${why}`, {
    hint: `${keyVariable === null ? 'give it a key' : `set ${keyVariable} to a key`}; one that nobody checks may be any text`,
  });
}

/** `E-MAN-003` for a key that cannot stand in the header of a request; it shows nothing of the key. */
export function unsendableKey({ apiKey, keyVariable, locate }: GivenSecrets['loaded']): Diagnostic {
  const name = keyVariable ?? 'inference.api_key';
  const what = /[\r\n]/.test(apiKey?.reveal() ?? '') ? 'a line break' : 'a character that no header of a request takes';
  return new Diagnostic('E-MAN-003', `${name}, ${providerKey}, has ${what} in it and cannot be sent`, {
    hint: `set ${name} to the key alone`,
    location: locate(['inference', 'api_key'], 'value'),
  });
}
