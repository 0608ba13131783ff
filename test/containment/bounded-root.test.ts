import {
  accessSync,
  constants,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, type TestContext, vi } from 'vitest';

import { containedTemporary } from '../../src/containment/contained-environment.ts';
import type { ControlGroup, GroupLimits, GroupMaker } from '../../src/containment/control-group.ts';
import { kernelContainment } from '../../src/containment/kernel-containment.ts';
import { launchMachinery } from '../../src/containment/launch-machinery.ts';
import { leastGrants } from '../../src/containment/launch/process-grants.ts';
import { helperPath } from '../native/support/helper.ts';
import { needs } from '../native/support/needs.ts';

const attempts = fileURLToPath(new URL(`../../dist/native/linux-${process.arch}/svc-attempts`, import.meta.url));

/** Where groups with a limit on processes can be made without arranging anything: either version of the hierarchy does for that. */
const folders = ['/sys/fs/cgroup/pids', '/sys/fs/cgroup'];

function folderFor(context: TestContext): string {
  needs(context, 'superuser', 'sealed', 'landlockScopes');
  const folder = folders.find(hasPids);
  if (folder === undefined) return context.skip(true, 'needs control groups that limit processes') as never;
  return folder;
}

function hasPids(folder: string): boolean {
  try {
    const group = mkdtempSync(join(folder, 'svc-test-'));
    try {
      accessSync(join(group, 'pids.max'), constants.W_OK);
      return true;
    } finally {
      rmdirSync(group);
    }
  } catch {
    return false;
  }
}

/** Groups that are removed by the test once nobody is in them. */
class GroupsIn implements GroupMaker {
  readonly made: string[] = [];
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  make(limits: GroupLimits): ControlGroup {
    const group = mkdtempSync(join(this.#folder, 'svc-test-'));
    for (const [name, value] of Object.entries(limits)) writeFileSync(join(group, name), value);
    this.made.push(group);
    return {
      procs: join(group, 'cgroup.procs'),
      close: () => vi.waitFor(() => rmdirSync(group)),
    };
  }

  leave(): void {
    this.made.length = 0;
  }
}

describe.each(['advisory', 'scoped', 'sealed'] as const)('root in a control group, in %s', (ceiling) => {
  it('starts no more processes than granted, whom the other limit exempts', async (context) => {
    const groups = new GroupsIn(folderFor(context));
    const home = realpathSync(mkdtempSync(join(tmpdir(), 'svc-bounded-')));
    context.onTestFinished(() => rmSync(home, { recursive: true }));
    const [workdir, privateDirectory] = [join(home, 'work'), join(home, 'private')];
    for (const directory of [containedTemporary(workdir), privateDirectory]) mkdirSync(directory, { recursive: true });
    const program = join(home, 'svc-attempts');
    copyFileSync(attempts, program);
    const containment = kernelContainment({
      helper: helperPath(),
      ability: {
        filter: true,
        landlockAbi: 6,
        root: { userNamespace: true, proc: true },
        obstacles: { filter: null, scoped: null, sealed: null },
      },
      ceiling,
      loadMachinery: async () => ({
        ...launchMachinery(process.arch === 'arm64' ? 'aarch64' : 'x86_64', 0),
        findGroups: () => ({ kind: 'found', place: groups }),
      }),
    });
    const session = containment?.open({ workdir, privateDirectory });
    const grants = { ...leastGrants, limits: { ...leastGrants.limits, processes: 16 } };
    const request = {
      command: program,
      args: ['fork-many', '1500'],
      env: { PATH: '/usr/bin:/bin' },
      stdin: 'null',
    } as const;
    const outcome = await session?.launcher(grants).launch(request);
    if (outcome?.kind !== 'started') throw new Error(outcome?.reason ?? release());
    expect(await text(outcome.process.stdout)).toBe('refused EAGAIN\n');
    await outcome.process.ended;
    expect(groups.made.map((group) => readFileSync(join(group, 'pids.max'), 'latin1'))).toEqual(['18\n']);
    await session?.close();
    expect(groups.made).toEqual([]);
  });
});
