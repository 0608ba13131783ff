import { mkdirSync, writeFileSync } from 'node:fs';
import { createPrivateKey } from 'node:crypto';
import { dirname, join } from 'node:path';

import { sha256Hex } from '@svc/kit/sha256.ts';
import { generateKeys, type NewKeyPair, signWithKey } from '../../src/store/trust/key-pair.ts';
import type { StorePlaces } from '../../src/store/store-places.ts';
import { emptyPlaces } from '../store/artifacts.ts';
import type { MockAuthority } from './mock-authority.ts';

/** Empty places with a policy in the home: `rules` are lines of `trust.rules`, `keys` the names of public keys that it has. */
export function trustingPlaces(
  rules: readonly string[],
  {
    keys = {},
    authority,
  }: { readonly keys?: Readonly<Record<string, NewKeyPair>>; readonly authority?: MockAuthority } = {},
): StorePlaces {
  const places = emptyPlaces();
  const write = (name: string, text: string): void => {
    const path = join(places.userHome, '.svc', name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  mkdirSync(places.manifestDir, { recursive: true });
  for (const [name, { publicPem }] of Object.entries(keys)) write(`${name}.pub`, publicPem);
  write(
    'root.json',
    JSON.stringify(authority?.root ?? { tlogs: [], ctlogs: [], certificateAuthorities: [], timestampAuthorities: [] }),
  );
  const listed = Object.keys(keys).map((name) => `${name}: ./${name}.pub`);
  const written = rules.length === 0 ? ' []\n' : `\n${rules.map((rule) => `    - ${rule}\n`).join('')}`;
  write('config.yaml', `trust:\n  root: ./root.json\n  keys: { ${listed.join(', ')} }\n  rules:${written}`);
  return places;
}

/** A bundle by a key for these bytes. */
export async function signedBy(pair: NewKeyPair, archive: Buffer): Promise<string> {
  return await signWithKey([archive], sha256Hex(archive), createPrivateKey(pair.privatePem));
}

export const acme: NewKeyPair = generateKeys(null);
export const stranger: NewKeyPair = generateKeys(null);
