import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { hiddenPaths } from './hidden-paths.ts';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'hidden-paths-')));
const at = (path: string): string => join(root, path);

beforeAll(() => {
  for (const path of [
    'sdk/bin/sdk',
    'sdk/lib/libsdk.so.1',
    'sdk/.env',
    'home/.local/bin/x',
    'home/.aws/bin/y',
    'home/z',
  ]) {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), '#!/bin/sh\n');
  }
  for (const path of ['sdk/bin/sdk', 'home/.local/bin/x']) chmodSync(at(path), 0o755);
  symlinkSync('libsdk.so.1', at('sdk/lib/libsdk.so'));
});
afterAll(() => rmSync(root, { recursive: true }));

function told(said: string, { hasFlags = false, commands = ['sdk', 'x'] } = {}): readonly string[] {
  const surroundings = {
    home: at('home'),
    own: [at('app')],
    given: [at('app/workdir')],
    env: {},
    searchPath: ['sdk/bin', 'home/.local/bin', 'home/.aws/bin'].map(at).join(':'),
    commands,
    folders: [at('app/workdir')],
    hasFlags,
  };
  const hides = (path: string): boolean => !path.endsWith('/sdk/lib/shown');
  return hiddenPaths({ said, hides }, surroundings).map((line) => line.replaceAll(root, ''));
}

describe('what the words of a failed program name', () => {
  it('comes with the folder of its toolchain, or the flag of a task, once for each grant', () => {
    const said = `${at('sdk/lib/libsdk.so.1')}: cannot open, nor '${at('sdk/lib')}'. No libsdk.so`;
    expect(told(said)).toEqual([
      '/sdk/lib/libsdk.so.1 is on this machine, and hidden from programs here: capabilities.filesystem.host_read: [/sdk] lets them read it',
    ]);
    expect(told(said, { hasFlags: true })[0]).toMatch(/: --host-read \/sdk lets them read it$/);
    expect(told(`sh: ${at('sdk/bin/sdk')}: not found`, { hasFlags: true, commands: [] })[0]).toMatch(
      /: --allow sdk lets them run it$/,
    );
  });

  it.each([
    ['what is in no place of programs', 'home/z'],
    ['what people keep beside their programs', 'home/.local/share'],
    ['keys', 'home/.aws/bin/y'],
    ['what is masked', 'sdk/.env'],
    ['what is not there', 'sdk/lib/gone'],
    ['what it can read', 'sdk/lib/shown'],
  ])('leaves out %s', (_, path) => {
    if (path.endsWith('shown')) writeFileSync(at(path), '');
    expect(told(`cannot open ${at(path)}`)).toEqual([]);
  });

  it('costs little, however much it says', () => {
    const many = Array.from({ length: 100_000 }, (_, index) => `/usr/${index}/lib${index}.so`).join(' not found ');
    expect(told(many)).toEqual([]);
  });
});
