/** Reads the file of the keys of a registry, and says what each key is for. */

import * as z from 'zod/mini';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { printable } from '@svc/kit/diagnostics/printable.ts';
import { readSmallText } from '@svc/kit/files/read-text.ts';
import { sha256Shape } from '@svc/kit/sha256.ts';
import { parseJson } from '@svc/protocol/json-object.ts';
import { isNamePattern, NamePatterns } from './name-patterns.ts';

/** One key that clients present, known by its hash alone. */
export interface RegistryKey {
  readonly id: string;
  /** The hash of the key, in lowercase hex. */
  readonly sha256: string;
  readonly read: NamePatterns;
  readonly publish: NamePatterns;
  readonly state: NamePatterns;
  /** From when on it is refused, in ms since 1970; infinite for a key without an end. */
  readonly expiresMs: number;
}

export const keyIdShape: RegExp = /^[a-z0-9][a-z0-9._-]{0,63}$/;

const maxKeys = 1000;
const maxPatterns = 100;

const patterns = z._default(
  z
    .array(
      z.string().check(z.refine(isNamePattern, 'must be names of artifacts, in which * stands for any characters')),
    )
    .check(z.maxLength(maxPatterns)),
  [],
);

const expiry = z
  .string()
  .check(
    z.refine(
      (text) => /^\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\dZ)?$/.test(text) && Number.isFinite(Date.parse(text)),
      'must be a day such as 2027-06-01, or a time such as 2027-06-01T12:00:00Z',
    ),
  );

const entry = z.strictObject({
  id: z.string().check(z.regex(keyIdShape, 'must be lowercase letters, digits, ".", "_" and "-", at most 64')),
  sha256: z.string().check(z.regex(sha256Shape, 'must be the SHA-256 of the key in lowercase hex')),
  read: patterns,
  publish: patterns,
  state: patterns,
  expires: z.optional(expiry),
});

const shape = z.strictObject({ keys: z.array(entry).check(z.maxLength(maxKeys)) });

/** The keys in a file. `E-REG-021` when it cannot be read or is not what it should be; nothing of it counts then. */
export function readKeysFile(path: string): readonly RegistryKey[] {
  const reading = readSmallText(path);
  if (reading.kind === 'absent') throw unusable(path, 'there is no such file');
  if (reading.kind === 'unreadable') throw unusable(path, reading.reason);
  return parseKeys(path, reading.text);
}

/** The same of the text of a file. */
export function parseKeys(path: string, text: string): readonly RegistryKey[] {
  const parsed = shape.safeParse(parseJson(text), { jitless: true });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    // Do not print the value: it may be a plaintext key.
    const where = (issue?.path ?? []).map(String).join('.');
    const what =
      issue?.code === 'invalid_type' ? 'is missing, or not what it should be' : (issue?.message ?? 'is wrong');
    throw unusable(path, where === '' ? 'it must be a JSON object with keys' : `${printable(where)} ${what}`);
  }
  const { keys } = parsed.data;
  for (const name of ['id', 'sha256'] as const) {
    const all = keys.map((key) => key[name]);
    const twice = all.findIndex((value, index) => all.indexOf(value) !== index);
    if (twice !== -1) throw unusable(path, `keys.${twice}.${name} is that of another key too`);
  }
  return keys.map(({ id, sha256, read, publish, state, expires }) => {
    const expiresMs = expires === undefined ? Number.POSITIVE_INFINITY : Date.parse(expires);
    return {
      id,
      sha256,
      read: new NamePatterns(read),
      publish: new NamePatterns(publish),
      state: new NamePatterns(state),
      expiresMs,
    };
  });
}

function unusable(path: string, reason: string): Diagnostic {
  return new Diagnostic('E-REG-021', `the keys in ${path} cannot be used: ${reason}`, {
    hint: 'docs/registry.md "Several keys" shows the file; svc-registry key new makes a key and its entry',
  });
}
