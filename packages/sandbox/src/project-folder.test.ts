import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  readdirSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { ProjectFolder } from './launch/process-grants.ts';
import { openProjectFolder } from './project-folder.ts';
import { eachFolder } from '../../../test/support/each-folder.ts';

/** `<base>/shop` is the folder. */
let base: string;
let shop: string;
/** Long after everything in it was made. */
let nowMs: number;

eachFolder('svc-project-', (made) => {
  base = made;
  shop = join(base, 'shop');
  mkdirSync(shop);
  nowMs = Date.now() + 60_000;
});

function write(...paths: readonly string[]): void {
  for (const path of paths) {
    mkdirSync(dirname(join(shop, path)), { recursive: true });
    writeFileSync(join(shop, path), 'x');
  }
}

function open(
  over: {
    readonly writable?: boolean;
    readonly keepsGit?: boolean;
    readonly splits?: boolean;
    readonly own?: readonly string[];
    readonly isWorkdir?: boolean;
    readonly masks?: readonly string[];
  } = {},
): ProjectFolder {
  const own = (over.own ?? []).map((path) => ({ path, what: null }));
  const clock = { now: () => nowMs, monotonicMs: () => 0 };
  return openProjectFolder({
    path: shop,
    isWorkdir: false,
    writable: false,
    keepsGit: false,
    splits: false,
    clock,
    uid: process.geteuid?.() ?? 0,
    ...over,
    own,
  });
}

function masked({ masked: places }: ProjectFolder): readonly string[] {
  return places.map(({ path, isDirectory }) => (isDirectory ? `${path}/` : path));
}

/** Does something as a user from whom the modes of files keep something. */
function asNobody<Value>(operation: () => Value): Value {
  if (process.getuid?.() !== 0) return operation();
  const nobody = 65_534;
  for (const path of [base, shop, ...readdirSync(shop).map((name) => join(shop, name))])
    chownSync(path, nobody, nobody);
  process.seteuid?.(nobody);
  try {
    return operation();
  } finally {
    process.seteuid?.(0);
  }
}

function refusal(operation: () => unknown): string {
  try {
    operation();
  } catch (error) {
    if (error instanceof Diagnostic) return `${error.code}: ${error.message.replaceAll(base, '')}`;
    throw error;
  }
  return 'allowed';
}

describe('the masked places of a project folder', () => {
  it('include files and folders named .env and so on, .ssh and .svc, at any depth', () => {
    write(
      '.env',
      '.ENV.local',
      'a/b/.envrc',
      'a/.env.d/x',
      'sub/.ssh/id',
      '.svc/sessions/s',
      'env',
      'a.env',
      '.git/config',
    );
    expect(masked(open())).toEqual(['.ENV.local', '.env', '.svc/', 'a/.env.d/', 'a/b/.envrc', 'sub/.ssh/']);
  });

  it('include the target of a link of that name, as far as it leads into the folder', () => {
    write('secrets/prod', 'conf/all/x');
    writeFileSync(join(base, 'outside'), 'x');
    symlinkSync('secrets/prod', join(shop, '.env'));
    symlinkSync('conf/all', join(shop, '.env.d'));
    symlinkSync('../outside', join(shop, '.env.out'));
    symlinkSync('nowhere', join(shop, '.env.gone'));
    symlinkSync('.env.loop', join(shop, '.env.loop'));
    symlinkSync('.', join(shop, '.env.self'));
    expect(masked(open())).toEqual(['conf/all/', 'secrets/prod']);
  });

  it('stay masked once no link leads to them any more, and stay where they are', () => {
    write('conf/deep/prod', 'conf/.env.a', 'other/.env.b', 'given/keys');
    symlinkSync('conf/deep/prod', join(shop, '.env'));
    symlinkSync('other/.env.b', join(shop, '.env.c'));
    const folder = open({ writable: true, masks: ['given/keys'] });
    const all = ['conf/.env.a', 'conf/deep/prod', 'given/keys', 'other/.env.b'];
    const ways = ['conf', 'conf/deep', 'given'];
    expect(masked(folder)).toEqual(all);
    expect(folder.kept).toEqual(ways.map((path) => ({ path, writable: true })));
    rmSync(join(shop, '.env'));
    folder.look();
    expect(masked(folder)).toEqual(all);
    expect(folder.kept).toHaveLength(ways.length);
    rmSync(join(shop, 'conf/deep'), { recursive: true });
    folder.look();
    expect(masked(folder)).toEqual(all.filter((path) => path !== 'conf/deep/prod'));
    expect(folder.kept).toEqual([{ path: 'given', writable: true }]);
    expect(open().kept).toEqual([]);
  });

  it('never lie inside another', () => {
    write('conf/.env', 'conf/a');
    symlinkSync('conf', join(shop, '.env.d'));
    expect(masked(open())).toEqual(['conf/']);
  });

  it('need a new search each time, which skips directories that have not changed', () => {
    write('a/x', 'b/y');
    const folder = open();
    const { path } = folder;
    expect(masked(folder)).toEqual([]);
    write('a/.env');
    folder.look();
    expect(masked(folder)).toEqual(['a/.env']);
    renameSync(join(path, 'a'), join(path, 'c'));
    folder.look();
    expect(masked(folder)).toEqual(['c/.env']);
    rmSync(join(path, 'c'), { recursive: true });
    folder.look();
    expect(masked(folder)).toEqual([]);
  });

  it('count also when they come within one tick of the clock', () => {
    write('a/x');
    nowMs = Date.now();
    const folder = open();
    const stamp = new Date(nowMs);
    write('a/.env');
    utimesSync(join(shop, 'a'), stamp, stamp);
    folder.look();
    expect(masked(folder)).toEqual(['a/.env']);
  });

  it('may lie in folders whose names are odd', () => {
    write('new\nline/.env', 'quote"\'/.env', '\u202Eturned/.env');
    expect(masked(open())).toEqual(['new\nline/.env', 'quote"\'/.env', '\u202Eturned/.env']);
    execFileSync('python3', ['-c', 'import os,sys; os.makedirs(os.fsencode(sys.argv[1])+b"/\\xff")', shop]);
    expect(masked(open())).toHaveLength(3);
    execFileSync('python3', ['-c', 'import os,sys; open(os.fsencode(sys.argv[1])+b"/\\xff/.env","w")', shop]);
    expect(refusal(open)).toBe(
      'E-CAP-023: .env files cannot be kept from programs here: /shop holds a masked file whose path is no UTF-8 text',
    );
  });

  it('number 256 at most', () => {
    write(...Array.from({ length: 257 }, (_, number) => `d${number}/.env`));
    expect(refusal(open)).toBe(
      'E-CAP-023: .env files cannot be kept from programs here: /shop holds more than 256 masked files',
    );
  });

  it('turn up among 10,000 files, and in the next search', () => {
    for (let directory = 0; directory < 100; directory += 1) {
      mkdirSync(join(shop, `d${directory}`));
      for (let file = 0; file < 100; file += 1) writeFileSync(join(shop, `d${directory}`, `f${file}`), '');
    }
    write('d57/.env');
    nowMs = Date.now() + 60_000;
    const opened = open();
    opened.look();
    expect(masked(opened)).toEqual(['d57/.env']);
  }, 180_000);

  it('include directories that nobody may read, where they could be opened', (context) => {
    context.skip(process.getuid?.() === 0, 'root may read every directory');
    write('closed/x');
    chmodSync(join(shop, 'closed'), 0);
    expect(masked(open())).toEqual([]);
    expect(masked(open({ writable: true }))).toEqual(['closed/']);
    chmodSync(join(shop, 'closed'), 0o700);
  });
});

describe('the parts of a project folder', () => {
  it('cover everything beside what is masked, in as few as there can be', () => {
    write('.env', 'a/x', 'a/y', 'b/.env', 'b/x', 'b/c/z', 'f');
    symlinkSync('f', join(shop, 'link'));
    const { parts } = open({ splits: true });
    expect(parts?.map((part) => part.slice(shop.length))).toEqual(['/a', '/b/c', '/b/x', '/f']);
  });

  it('cover the whole where nothing is masked, or mounts cover it', () => {
    write('a/x');
    expect(open({ splits: true }).parts).toBeNull();
    write('.env');
    expect(open({ splits: false }).parts).toBeNull();
  });

  it('exclude a folder that may be written', () => {
    write('.env');
    expect(refusal(() => open({ splits: true, writable: true }))).toBe(
      'E-CAP-023: .env files cannot be kept from programs here: /shop holds .env, which is only kept from programs that may write beside it in class sealed',
    );
    expect(masked(open({ writable: true }))).toEqual(['.env']);
  });

  it('exclude a folder that its owner cannot read, who could make it readable', () => {
    write('hidden/.env', 'unsearchable/below/x', 'a');
    chmodSync(join(shop, 'hidden'), 0o000);
    chmodSync(join(shop, 'unsearchable'), 0o400);
    try {
      const folder = asNobody(() => open({ splits: true }));
      expect(masked(folder)).toEqual(['hidden/', 'unsearchable/below/']);
      expect(folder.parts).toEqual([join(shop, 'a')]);
      expect(masked(asNobody(() => open()))).toEqual([]);
      expect(masked(asNobody(() => open({ writable: true })))).toEqual(['hidden/', 'unsearchable/below/']);
    } finally {
      for (const name of ['hidden', 'unsearchable']) chmodSync(join(shop, name), 0o700);
    }
  });

  it('number 600 at most', () => {
    write('.env', ...Array.from({ length: 601 }, (_, number) => `f${number}`));
    expect(refusal(() => open({ splits: true }))).toMatch(
      /^E-CAP-023: .* has more than 600 entries beside masked files$/,
    );
  });
});

describe('the program itself in a folder that may be written', () => {
  it('stays as it is with the way there, beside what git runs, each once and as its strictest', () => {
    write('.git/hooks/svc/bin', 'lib/svc/bin');
    const ofGit = ['branches', 'commondir', 'config', 'config.worktree', 'hooks', 'info', 'modules', 'remotes'];
    const own = ['lib/svc', 'lib/svc/bin', '.git/hooks/svc', '../elsewhere'].map((path) => join(shop, path));
    expect(open({ writable: true, keepsGit: true, own }).kept).toEqual([
      { path: '.git', writable: true },
      ...ofGit.map((name) => ({ path: `.git/${name}`, writable: false })),
      { path: 'lib', writable: true },
      { path: 'lib/svc', writable: false },
    ]);
    expect(open({ keepsGit: true, own }).kept).toEqual([]);
  });

  it('makes the launch fail where nothing can be mounted, and where the folder is a part of it', () => {
    expect(refusal(() => open({ writable: true, splits: true, own: [join(shop, 'lib/svc')] }))).toMatch(
      /^E-CAP-025: .*: \/shop\/lib\/svc lies in \/shop, .* in class sealed$/,
    );
    for (const own of [[shop], [dirname(shop)]])
      expect(refusal(() => open({ writable: true, own }))).toMatch(/^E-CAP-025: .*: \/shop is or lies in /);
    expect(open({ own: [shop] }).kept).toEqual([]);
  });
});

describe('a folder that is the workdir', () => {
  beforeEach(() =>
    write('.svc/home/x', '.svc/children/one/.env', '.svc/sessions/y', '.svc/config.yaml', 'sub/.svc/z', '.env'),
  );

  it('shows the home and the children of a session of its .svc, and masks the rest', () => {
    const folder = open({ isWorkdir: true, writable: true });
    expect(masked(folder)).toEqual(['.env', '.svc/config.yaml', '.svc/sessions/', 'sub/.svc/']);
    expect(folder.kept).toEqual([
      { path: '.svc', writable: false },
      { path: '.svc/children', writable: true },
    ]);
    expect(masked(open({ writable: true }))).toEqual(['.env', '.svc/', 'sub/.svc/']);
  });

  it('names what may be read where nothing can be mounted, without what is masked of .svc', () => {
    rmSync(join(shop, 'sub'), { recursive: true });
    const { parts } = open({ isWorkdir: true, splits: true });
    expect(parts?.map((part) => part.slice(shop.length))).toEqual(['/.svc/children', '/.svc/home']);
  });

  it('fails where a part of the program lies in its .svc', () => {
    expect(refusal(() => open({ isWorkdir: true, writable: true, own: [join(shop, '.svc/home/x')] }))).toMatch(
      /^E-CAP-025: .* a part of it lies in \/shop\/\.svc$/,
    );
  });
});

describe('a part of the program that mounts cannot keep', () => {
  it('has the folder refused: a link, and what is not there yet', () => {
    write('real/x');
    symlinkSync('real', join(shop, 'link'));
    expect(refusal(() => open({ writable: true, own: [join(shop, 'link')] }))).toMatch(
      /^E-CAP-025: .*: \/shop\/link lies in \/shop, and is a link, /,
    );
    expect(refusal(() => open({ writable: true, own: [join(shop, 'later')] }))).toMatch(
      /^E-CAP-025: .*: \/shop\/later lies in \/shop, and is not there, /,
    );
  });
});

it('a project folder reports that it is gone or another one', () => {
  const folder = open();
  renameSync(shop, `${shop}.old`);
  expect(refusal(() => folder.look())).toBe('E-IO-001: the folder /shop cannot be opened: no such file or directory');
  mkdirSync(shop);
  expect(refusal(() => folder.look())).toBe('E-IO-001: /shop is another folder than when the session began');
});
