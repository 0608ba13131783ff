import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { encodeTokens, isTokenName, parseTokens } from './door-token.ts';
import { readTokens, tokenFileState } from './token-file.ts';
import { type TokenPlace, tokenPlace } from './token-place.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

const token = {
  name: 'phone',
  sha256: 'a'.repeat(64),
  scopes: ['read', 'send'],
  capsule: null,
  created_at_ms: 1,
  expires_at_ms: 2,
} as const;
const uid = process.getuid?.();

let home: string;
let place: TokenPlace;

eachFolder('svc-token-file-', (made) => {
  home = made;
  mkdirSync(join(home, '.svc'), { mode: 0o700 });
  place = tokenPlace(home, uid);
});

function write(text = encodeTokens([token]), path = place.path): void {
  writeFileSync(path, text, { mode: 0o600 });
}

/** Code and message of what reading is refused with. */
function refusal(): string {
  try {
    readTokens(place);
  } catch (error) {
    if (error instanceof Diagnostic) return `${error.code} ${error.message}`;
    throw error;
  }
  return 'none';
}

const shown = '~/.svc/door-tokens.json';

describe('the file of door tokens', () => {
  it('gives its tokens, and null where it is missing', () => {
    expect([readTokens(place), tokenFileState(place)]).toEqual([null, null]);
    write();
    expect(readTokens(place)).toEqual([token]);
  });

  it.each([
    [
      'can be read by a group',
      (path: string) => chmodSync(path, 0o640),
      'E-RUN-150',
      'can be read or written by other users',
    ],
    [
      'can be read by others',
      (path: string) => chmodSync(path, 0o604),
      'E-RUN-150',
      'can be read or written by other users',
    ],
    [
      'can be written by others',
      (path: string) => chmodSync(path, 0o602),
      'E-RUN-150',
      'can be read or written by other users',
    ],
    ['has a second name', (path: string) => linkSync(path, `${path}.2`), 'E-RUN-150', 'has a second name'],
    [
      'is longer than 64 KiB',
      (path: string) => writeFileSync(path, ' '.repeat(65_537)),
      'E-RUN-150',
      'is longer than 64 KiB',
    ],
    ['is not JSON', (path: string) => writeFileSync(path, '{'), 'E-RUN-151', 'is not JSON'],
    ['is empty', (path: string) => writeFileSync(path, ''), 'E-RUN-151', 'is not JSON'],
    [
      'is in a folder that all can write to',
      () => chmodSync(join(home, '.svc'), 0o777),
      'E-RUN-150',
      'is in a folder that every user can write to',
    ],
  ])('fails when it %s', (_what, make, code, why) => {
    write();
    make(place.path);
    expect(refusal()).toBe(`${code} ${shown} ${why}`);
  });

  it.each([
    ['a link', (path: string) => symlinkSync('elsewhere.json', path), 'is a link'],
    ['a folder', (path: string) => mkdirSync(path), 'is no regular file'],
    ['a pipe', (path: string) => void execFileSync('mkfifo', [path]), 'is no regular file'],
  ])('fails when it is %s', (_what, make, why) => {
    write(encodeTokens([token]), join(home, '.svc', 'elsewhere.json'));
    make(place.path);
    expect(refusal()).toBe(`E-RUN-150 ${shown} ${why}`);
  });

  it('fails when another user owns it, or its folder', (context) => {
    context.skip(uid !== 0, 'only root gives files away');
    write();
    chownSync(place.path, 4711, 4711);
    expect(refusal()).toBe(`E-RUN-150 ${shown} is of another user`);
    chownSync(place.path, 0, 0);
    chownSync(join(home, '.svc'), 4711, 4711);
    expect(refusal()).toBe(`E-RUN-150 ${shown} is in a folder of another user`);
  });

  it('has another state once it is replaced, or given to others', () => {
    write();
    const before = tokenFileState(place);
    chmodSync(place.path, 0o644);
    const opened = tokenFileState(place);
    write(encodeTokens([{ ...token, name: 'other' }]));
    expect(new Set([before, opened, tokenFileState(place)]).size).toBe(3);
  });
});

describe('what it holds', () => {
  const changed = (more: Record<string, unknown>): string =>
    JSON.stringify({ version: 1, tokens: [{ ...token, ...more }] });
  const other = 'is no list of door tokens of this version';

  it.each([
    ['null', other],
    ['[]', other],
    ['{"version":2,"tokens":[]}', other],
    ['{"version":1}', other],
    [changed({ name: '../x' }), other],
    [changed({ name: 'x'.repeat(65) }), other],
    [changed({ sha256: 'A'.repeat(64) }), other],
    [changed({ sha256: '' }), other],
    [changed({ scopes: ['admin'] }), other],
    [changed({ scopes: 'read' }), other],
    [changed({ scopes: [] }), 'holds a token without a scope'],
    [changed({ capsule: 'A b' }), other],
    [changed({ expires_at_ms: '9' }), other],
    [changed({ expires_at_ms: 1e300 }), other],
    [JSON.stringify({ version: 1, tokens: [token, token] }), 'holds a token twice'],
    [JSON.stringify({ version: 1, tokens: [token, { ...token, name: 'b' }] }), 'holds a token twice'],
    [
      JSON.stringify({
        version: 1,
        tokens: Array.from({ length: 101 }, (_, at) => ({
          ...token,
          name: `t${at}`,
          sha256: String(at).padStart(64, '0'),
        })),
      }),
      'holds more than 100 tokens',
    ],
    ['['.repeat(30_000), 'is not JSON'],
  ])('fails as a whole: %.60s', (text, why) => {
    expect(parseTokens(text)).toBe(why);
  });

  it.each(['', '-a', 'a-', 'A', 'a b', 'a\n', 'é', '\u202Ea', 'a/b', 'token:x', '.', '..', 'a\u0000'])(
    'names no token %j',
    (name) => {
      expect(isTokenName(name)).toBe(false);
    },
  );

  it.each(['a', 'phone', 'ci.main_2-x', 'x'.repeat(64)])('names a token %s', (name) => {
    expect(isTokenName(name)).toBe(true);
  });
});
