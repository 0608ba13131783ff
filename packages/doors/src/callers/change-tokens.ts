/** Adds and removes door tokens, one program at a time: the file is replaced as a whole. */

import { dirname } from 'node:path';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { withGuard } from '@svc/kit/files/file-guard.ts';
import { makeDirectory } from '@svc/kit/files/make-directories.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { type DoorToken, encodeTokens, maxTokens } from './door-token.ts';
import { readTokens } from './token-file.ts';
import type { TokenPlace } from './token-place.ts';

/** Adds a token, which is on the disk once this resolves. `E-RUN-152` where its name is taken or there are as many as may be. */
export async function addToken(place: TokenPlace, token: DoorToken): Promise<void> {
  await change(place, (tokens) => {
    if (tokens.some(({ name }) => name === token.name)) {
      throw new Diagnostic('E-RUN-152', `there is a door token \`${token.name}\` already`, {
        hint: `choose another name, or remove it first: svc token rm ${token.name}`,
      });
    }
    if (tokens.length >= maxTokens) {
      throw new Diagnostic('E-RUN-152', `there are ${maxTokens} door tokens already`, {
        hint: 'svc token ls shows those that have expired; svc token rm removes one',
      });
    }
    return [...tokens, token];
  });
}

/** Removes the token of this name; throws `E-RUN-153` if unknown. */
export async function removeToken(place: TokenPlace, name: string): Promise<void> {
  await change(place, (tokens) => {
    const rest = tokens.filter((token) => token.name !== name);
    if (rest.length < tokens.length) return rest;
    throw new Diagnostic('E-RUN-153', `there is no door token \`${name}\``, { hint: 'svc token ls lists them' });
  });
}

async function change(place: TokenPlace, make: (tokens: readonly DoorToken[]) => readonly DoorToken[]): Promise<void> {
  await makeDirectory(dirname(place.path), 0o700);
  await withGuard(place.path, async () => {
    const tokens = make(readTokens(place) ?? []);
    await replaceFile(place.path, [Buffer.from(encodeTokens(tokens))], { mode: 0o600 });
  });
}
