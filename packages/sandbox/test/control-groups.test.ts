import { execFileSync, spawn } from 'node:child_process';
import {
  accessSync,
  chownSync,
  constants,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { buildSync } from 'esbuild';
import { afterEach, beforeEach, describe, expect, it, type TestContext } from 'vitest';

import { ownGroupDirectory } from '../src/own-facts.ts';
import { launchSync } from './native/support/launch.ts';
import { needs } from './native/support/needs.ts';
import { barePlan as bare } from '../src/launch/launch-plan.ts';
import { cgroupFacts } from './process-limit-of-root.ts';

/** A controller that this host lets groups of version 2 have, the file of a limit, and a limit. Those of most use first. */
const limits = [
  ['pids', 'pids.max', '7'],
  ['memory', 'memory.max', '1048576000'],
  ['hugetlb', 'hugetlb.2MB.max', '0'],
] as const;

const entry = fileURLToPath(new URL('control-group-child.ts', import.meta.url));

let folder: string;
let program: string;
let group: string | null;
let offered: (typeof limits)[number] | null;
/** Handed down by us and not before. */
let handedDown = false;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-groups-'));
  program = join(folder, 'child.mjs');
  buildSync({ entryPoints: [entry], outfile: program, bundle: true, platform: 'node', format: 'esm' });
  execFileSync('chmod', ['-R', 'a+rX', folder]);
  const root = ownGroupDirectory(cgroupFacts(), null);
  offered = null;
  group = null;
  if (root === null || !mayWrite(join(root, 'cgroup.subtree_control'))) return;
  const wordsOf = (name: string): readonly string[] => readFileSync(join(root, name), 'latin1').trim().split(' ');
  offered = limits.find(([controller]) => wordsOf('cgroup.controllers').includes(controller)) ?? null;
  if (offered === null) return;
  handedDown = !wordsOf('cgroup.subtree_control').includes(offered[0]);
  try {
    writeFileSync(join(root, 'cgroup.subtree_control'), `+${offered[0]}`);
    group = mkdtempSync(join(root, 'svc-test-'));
  } catch {
    // A group with processes, which it would be wrong to move.
  }
});

afterEach(() => {
  rmSync(folder, { recursive: true });
  if (group === null) return;
  rmdirSync(group);
  const root = ownGroupDirectory(cgroupFacts(), null);
  if (handedDown && root !== null) writeFileSync(join(root, 'cgroup.subtree_control'), `-${offered?.[0] ?? ''}`);
});

function mayWrite(file: string): boolean {
  try {
    accessSync(file, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** A group as it is delegated: its directory and what arranges it belong to a user. */
function delegatedTo(user: number, context: TestContext): string {
  needs(context, 'superuser');
  if (group === null) return context.skip(true, 'needs a writable hierarchy of control groups of version 2') as never;
  for (const name of ['.', 'cgroup.procs', 'cgroup.subtree_control']) chownSync(join(group, name), user, user);
  return group;
}

function runIn(directory: string, uid: number): unknown {
  const { stdout, stderr, status } = launchSync({
    plan: { ...bare, cgroups: { joins: [join(directory, 'cgroup.procs')], room: null }, identity: { uid, gid: uid } },
    program: [process.execPath, program, ...(offered ?? [])],
  });
  if (stdout === '') throw new Error(`${status}${stderr}`);
  return JSON.parse(stdout);
}

describe.each([0, 1000])('below a group that is delegated to user %i', (user) => {
  it('groups with limits are made, and nothing is left of them', (context) => {
    const directory = delegatedTo(user, context);
    const [controller, , value] = offered ?? [];
    expect(runIn(directory, user)).toEqual({
      during: { runtime: '/svc-runtime', joined: '/svc-launches', limit: value, handedDown: controller, mode: '700' },
      after: { ended: 'SIGKILL', back: true, handedDown: '', left: [] },
    });
  });

  it('what was handed down stays so where others have groups too', (context) => {
    const directory = delegatedTo(user, context);
    mkdtempSync(join(directory, 'other-'));
    try {
      expect(runIn(directory, user)).toMatchObject({
        after: { ended: 'SIGKILL', handedDown: offered?.[0], back: false },
      });
    } finally {
      for (const name of readdirSync(directory, { withFileTypes: true })) {
        if (name.isDirectory()) rmdirSync(join(directory, name.name));
      }
    }
  });

  it('nothing is moved or made when it holds other processes too', async (context) => {
    const directory = delegatedTo(user, context);
    const other = spawn('sleep', ['1000'], { stdio: 'ignore' });
    const over = new Promise((resolve) => other.once('exit', resolve));
    try {
      writeFileSync(join(directory, 'cgroup.procs'), `${other.pid}`);
      expect(runIn(directory, user)).toEqual({ obstacle: `${directory} holds other processes too`, moved: false });
    } finally {
      other.kill('SIGKILL');
      await over;
    }
  });
});

describe('below a group of somebody else', () => {
  it('no group is made', (context) => {
    const directory = delegatedTo(0, context);
    expect(runIn(directory, 1000)).toEqual({
      obstacle: `${directory} is not this user's to divide: EACCES`,
      moved: false,
    });
  });
});
