import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { mintSessionId } from '@svc/protocol/ids.ts';
import { directoryContract } from '../../../../test/support/beneath-contract.ts';
import { makeSessionDirectories, type SessionDirectories } from './session-directories.ts';
import { eachFolder } from '../../../../test/support/each-folder.ts';

let root: string;
let child: string;
eachFolder('svc-directories-', (made) => {
  root = made;
  child = join(root, 'work/.svc/children/c');
  for (const path of ['home', 'package', 'workspace', 'outside/c', 'outside/children/c']) {
    mkdirSync(join(root, path), { recursive: true });
  }
  mkdirSync(child, { recursive: true });
});

function directories(workdir: string, isDelegated: boolean): SessionDirectories {
  const sessionId = mintSessionId({ now: () => 0, randomBytes: (size) => new Uint8Array(size) });
  const places = { home: join(root, 'home'), packageRoot: join(root, 'package'), root: join(root, 'workspace') };
  return makeSessionDirectories({ ...places, sessionId, workdir, isDelegated });
}

const notTheParents = expect.objectContaining({
  code: 'E-RUN-029',
  message: expect.stringContaining('is not the directory that the parent made'),
});

describe('the workdir of a child', () => {
  directoryContract('of its parent', { reach: (workdir) => directories(workdir, true) });

  it('must be the directory that its parent made', () => {
    expect(directories(child, true)).toEqual({
      workdir: child,
      session: join(root, 'workspace/.svc/sessions/ses_00000000000000000000000000000000'),
      trace: join(root, 'workspace/.svc/sessions/ses_00000000000000000000000000000000/trace.jsonl'),
    });
  });

  it.each([
    ['.svc/children/c', 'outside/c'],
    ['.svc/children', 'outside'],
    ['.svc', 'outside'],
    ['.svc', 'work/moved'],
    ['.svc', 'nowhere'],
  ])('fails when a link at %s leads to %s [D2-DIR-05]', (part, target) => {
    renameSync(join(root, 'work', part), join(root, 'work/moved'));
    symlinkSync(join(root, target), join(root, 'work', part));
    expect(() => directories(child, true)).toThrow(notTheParents);
    expect(readdirSync(join(root, 'outside'), { recursive: true, encoding: 'utf8' }).sort()).toEqual([
      'c',
      'children',
      'children/c',
    ]);
    expect(existsSync(join(root, 'workspace/.svc'))).toBe(false);
  });

  it('fails when it has another spelling than its parent gives it', () => {
    symlinkSync(join(root, 'work'), join(root, 'name'));
    for (const path of [`${root}/work/./.svc/children/c`, `${child}/`, join(root, 'name/.svc/children/c')]) {
      expect(() => directories(path, true)).toThrow(notTheParents);
    }
  });

  it('must exist before', () => {
    rmSync(child, { recursive: true });
    expect(() => directories(child, true)).toThrow(notTheParents);
    expect(existsSync(child)).toBe(false);
    writeFileSync(child, '');
    expect(() => directories(child, true)).toThrow(notTheParents);
  });
});

describe('the workdir that a person names', () => {
  it('appears where it is missing, and may be reached through links', () => {
    symlinkSync(join(root, 'outside'), join(root, 'name'));
    expect(directories(join(root, 'name/fresh'), false).workdir).toBe(join(root, 'outside/fresh'));
  });
});
