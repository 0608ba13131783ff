import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { needsHome } from '@svc/kit/files/home-directory.ts';
import { givenFolder } from './given-folder.ts';

let base: string;
let home: string;

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'svc-given-')));
  home = join(base, 'users', 'me');
  mkdirSync(join(home, '.svc', 'adhoc'), { recursive: true });
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

function given(path: string): string {
  mkdirSync(path, { recursive: true });
  try {
    return givenFolder(path, home).replaceAll(base, '');
  } catch (error) {
    if (error instanceof Diagnostic) return `${error.code}: ${error.message.replaceAll(base, '')}`;
    throw error;
  }
}

describe('the folder that an agent is given', () => {
  it('can be the current one, links resolved', () => {
    expect(given(join(home, 'shop'))).toBe('/users/me/shop');
    symlinkSync(join(home, 'shop'), join(base, 'link'));
    expect(given(join(base, 'link'))).toBe('/users/me/shop');
    expect(given(join(base, 'odd\nname "\u202E'))).toBe('/odd\nname "\u202E');
    expect(given(join(home, 'shop', '.svcx'))).toBe('/users/me/shop/.svcx');
  });

  it.each<[path: string, why: string]>([
    ['users/me', 'is your home folder'],
    ['users', 'holds your home folder'],
    ['users/me/.svc', 'lies in a folder named .svc'],
    ['users/me/.svc/adhoc/workdir', 'lies in a folder named .svc'],
    ['elsewhere/.svc/sessions', 'lies in a folder named .svc'],
    ['users/me/.ssh', 'lies in a folder named .ssh'],
  ])('cannot be %s, which %s', (path, why) => {
    expect(given(join(base, path))).toBe(`E-CAP-022: "/${path}" is not given to an agent: it ${why}`);
  });

  it('cannot be the root of the file system', () => {
    expect(given('/')).toBe('E-CAP-022: "/" is not given to an agent: it is the root of the file system');
  });

  it('cannot have keys in it', () => {
    mkdirSync(join(base, 'old', '.ssh'), { recursive: true });
    expect(given(join(base, 'old'))).toBe('E-CAP-022: "/old" is not given to an agent: it holds .ssh');
  });

  it('cannot lie around or inside the place that ~/.svc leads to', () => {
    rmSync(join(home, '.svc'), { recursive: true });
    mkdirSync(join(base, 'data', 'svc', 'adhoc'), { recursive: true });
    symlinkSync(join(base, 'data', 'svc'), join(home, '.svc'));
    expect(given(join(base, 'data'))).toBe(
      'E-CAP-022: "/data" is not given to an agent: it holds what svc keeps for you',
    );
    expect(given(join(base, 'data', 'svc', 'adhoc'))).toBe(
      'E-CAP-022: "/data/svc/adhoc" is not given to an agent: it lies in what svc keeps for you',
    );
  });

  it('cannot be one that a link to the home leads to', () => {
    symlinkSync(home, join(base, 'to-home'));
    expect(given(join(base, 'to-home'))).toBe(
      'E-CAP-022: "/users/me" is not given to an agent: it is your home folder',
    );
  });
});

describe('the home of a user that no list has', () => {
  it('needs a place to write in, which the hint names', () => {
    mkdirSync(join(base, 'closed'), { mode: 0o555 });
    writeFileSync(join(base, 'file'), '');
    needsHome(join(base, 'new', 'home'));
    needsHome(join(base, 'users', 'me'));
    const home = join(base, 'file', 'home');
    expect(() => needsHome(home)).toThrow(/^HOME is ".*home", and svc can keep nothing there: /);
  });
});
