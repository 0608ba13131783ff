/** By what an ordinary user's processes are held, seen from a running capsule, and what is refused where they are not. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { describe, expect, it, type TestContext } from 'vitest';

import { containmentClasses, type ContainmentClass } from '@svc/protocol/containment-class.ts';
import { taskFile, useCapsules } from '../support/capsule-folders.ts';
import { snapshot } from '../support/folder-snapshot.ts';
import { runsCommand } from '../support/script-capsule.ts';
import { type SvcEnd, svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';
import { type ContainedCapsule, giveAway, type ScriptedCall, type Setup, shell } from './contained-capsule.ts';
import { needsPrograms, openCapsule } from './use-capsule.ts';

const isRoot = process.getuid?.() === 0;

/** Somebody of whom nothing else runs, for the kernel may count all that a user has: another one for each test. */
let nextUser = 200_000 + process.pid * 64;

function userOfTest(): number | null {
  return isRoot ? (nextUser += 1) : null;
}

/** Says how many of 600 it could start, with itself and its shell; holds them for a time. */
const forks = (heldSecs: number): string => `python3 - <<'END'
import os, signal, time
children = []
try:
    while len(children) < 600:
        child = os.fork()
        if child == 0: signal.pause()
        children.append(child)
except BlockingIOError: pass
print(len(children) + 2, flush=True)
time.sleep(${heldSecs})
for child in children:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
END`;

const alone = shell('alone', forks(0));
/** Goes on in the background while the second is made. */
const [first, second] = [shell('first', forks(60)), shell('second', forks(0))];

async function open(
  context: TestContext,
  ceiling: ContainmentClass,
  resources: string,
  calls: readonly ScriptedCall[],
): Promise<ContainedCapsule> {
  needsPrograms(context, 'python3');
  context.skip(!isRoot, 'needs root, to run as somebody of whom nothing else runs');
  const setup: Setup<ContainmentClass> = { name: ceiling, class: ceiling, uid: userOfTest() };
  return await openCapsule(context, setup, {
    calls,
    capabilities: `shell: { allow: [bash, cat, python3] }\nresources: { ${resources} }`,
    graceSecs: 5,
  });
}

/** How many lived at once, by the result of a call. */
async function lived(capsule: ContainedCapsule, id: string): Promise<number> {
  const { text } = await capsule.result(id);
  const [, count] = /^stdout(?: so far)?:\n(\d+)$/m.exec(text) ?? [];
  if (count === undefined) throw new Error(text);
  return Number(count);
}

describe('an ordinary user that starts 600 processes at once', () => {
  it.for(containmentClasses)('has no more of them than granted in %s', async (ceiling, context) => {
    const capsule = await open(context, ceiling, 'processes: 64', [alone]);
    const count = await lived(capsule, 'alone');
    if (ceiling === 'sealed') {
      expect(count).toBe(64);
      return;
    }
    // What of svc itself has ended since the session began makes room, and what began since takes some.
    expect(count).toBeGreaterThan(32);
    expect(count).toBeLessThan(96);
  });

  it('has in sealed as many in each launch where the session has no number of its own', async (context) => {
    const capsule = await open(context, 'sealed', 'processes: 64', [first, second]);
    expect([await lived(capsule, 'first'), await lived(capsule, 'second')]).toEqual([64, 64]);
  });

  it('has session_processes of them in all its launches together in sealed', async (context) => {
    const capsule = await open(context, 'sealed', 'processes: 24, session_processes: 40', [first, second]);
    // Two of the session's processes are svc's own for each program but one.
    expect([await lived(capsule, 'first'), await lived(capsule, 'second')]).toEqual([24, 14]);
  });

  it('has nothing more started in sealed while session_processes are there', async (context) => {
    const capsule = await open(context, 'sealed', 'processes: 64, session_processes: 64', [alone, first, second]);
    expect([await lived(capsule, 'alone'), await lived(capsule, 'first')]).toEqual([64, 64]);
    const { text, isError } = await capsule.result('second');
    expect({ text, isError }).toEqual({
      text: 'bash could not be started: the host allows no more processes',
      isError: true,
    });
  });
});

const capsules = useCapsules();

describe('limits that are required to be held', () => {
  function made(resources: string, uid: number | null): Workspace {
    const workspace = capsules({
      manifest: `lifecycle: { task_acceptance: single }
capabilities: { shell: { allow: [sh] }, resources: { ${resources} } }
`,
      script: runsCommand('echo ran > made'),
      files: taskFile,
    });
    if (uid !== null) giveAway(dirname(workspace.folder), uid);
    return workspace;
  }

  async function run(workspace: Workspace, ceiling: ContainmentClass, uid: number | null): Promise<SvcEnd> {
    const options = { env: { SVC_CONTAINMENT_CEILING: ceiling }, ...(uid === null ? {} : { uid }) };
    return await svc(workspace, ['run', '--workdir', 'work'], options);
  }

  it.for([
    ['scoped', 'none'],
    ['sealed', 'watched'],
  ] as const)(
    'refuse a run before anything is made where memory in %s is held by %s',
    async ([ceiling, by], context) => {
      context.skip(!isRoot, 'needs root, to run as somebody to whom no control group belongs');
      const uid = userOfTest();
      const workspace = made('session_memory: 256Mi, enforce: required', uid);
      // What the host was found to do is kept for the user.
      await svc(workspace, ['run', '--explain-scope'], { env: { SVC_CONTAINMENT_CEILING: ceiling }, uid: uid ?? 0 });
      const before = snapshot(workspace);
      const { code, stdout, stderr } = await run(workspace, ceiling, uid);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr.match(/^error\[.*$/gm)).toEqual([
        `error[E-CAP-018]: capabilities.resources.enforce is required, and here limits are not held: memory of a session (268435456) by ${by}`,
      ]);
      expect(stderr).toMatch(/svc\.yaml:\d+:\d+\n/);
      expect(snapshot(workspace)).toEqual(before);
    },
  );

  it.for([
    ['what holds no memory is let be where that is enough', 'session_memory: 256Mi, enforce: available'],
    ['what is held is accepted', 'processes: 64, session_processes: 64, enforce: required'],
  ] as const)('refuse nothing else: %s', async ([, resources], context) => {
    context.skip(!isRoot, 'needs root, to run as somebody to whom no control group belongs');
    const uid = userOfTest();
    const workspace = made(resources, uid);
    const { code, stdout } = await run(workspace, 'sealed', uid);
    expect(code).toBe(0);
    expect(stdout).toMatch(/\nstatus: {2}ok\n$/);
    expect(existsSync(join(workspace.folder, 'work', 'made'))).toBe(true);
  });
});
