import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { createContainedLauncher } from './contained-launcher.ts';
import { LaunchTemplates } from './launch/launch-templates.ts';
import { minimalGrants } from './launch/process-grants.ts';
import type { LaunchOutcome } from './launcher.ts';
import { PipePool } from './pipe-pool.ts';
import { isRunning } from '../../../test/support/is-gone.ts';
import { eachFolder } from '../../../test/support/each-folder.ts';

let folder: string;
eachFolder('svc-helper-', (made) => {
  folder = made;
});

/** Launches `true` by a script in the helper's place. */
async function launchBy(script: string, startMs: number, privateDirectory = folder): Promise<LaunchOutcome> {
  const helper = join(folder, 'helper');
  writeFileSync(helper, `#!/bin/sh\ncd ${folder}\n${script}\n`, { mode: 0o755 });
  const templates = new LaunchTemplates({
    enforcement: { class: 'advisory' },
    grants: minimalGrants,
    cgroups: { joins: [], room: null },
    users: null,
    workdir: folder,
    privateDirectory,
    filter: Buffer.from('filter'),
    filesOf: (programs) => ({ read: [], execute: programs, links: [], problems: [] }),
    countProcesses: () => 0,
  });
  const pipes = new PipePool({ make: async () => [], areNamed: false });
  const launcher = createContainedLauncher({
    helper,
    templates,
    pipes,
    commands: [],
    variables: {},
    egress: null,
    startMs,
  });
  try {
    return await launcher.launch({ command: 'true', args: [], env: { PATH: '/usr/bin:/bin' }, stdin: 'null' });
  } finally {
    templates.close();
    await pipes.close();
  }
}

/** A zombie whose parent has not looked yet is no running process. */
describe('a helper', () => {
  it('ends with all it started when it never comes to the program, and its launch fails', async () => {
    expect(await launchBy('sleep 1000 & echo $! $$ > pids; wait', 2000)).toEqual({
      kind: 'refused',
      reason: 'it could not be contained: svc-launch did not come to it in 2 s',
    });
    const pids = readFileSync(join(folder, 'pids'), 'utf8').trim().split(' ');
    expect(pids).toHaveLength(2);
    await expect.poll(() => pids.filter(isRunning)).toEqual([]);
  });

  it('may say what failed', async () => {
    expect(await launchBy('echo "cwd 2 /gone" >&4; exit 125', 60_000)).toEqual({
      kind: 'refused',
      reason: 'it could not be contained: /gone is not there any more',
    });
  });

  it('has started the program, which may take its time, once it closes its status', async () => {
    const outcome = await launchBy('exec 4>&-; sleep 2.2; exit 3', 2000);
    if (outcome.kind === 'refused') throw new Error(outcome.reason);
    expect(await outcome.process.ended).toEqual({ kind: 'exited', exitCode: 3 });
  });
});

it('a launch whose plan cannot be written is refused', async () => {
  expect(await launchBy('exit 3', 60_000, join(folder, 'gone'))).toEqual({
    kind: 'refused',
    reason: `it could not be contained: what contains it could not be written to ${join(folder, 'gone')}: no such file or directory`,
  });
});
