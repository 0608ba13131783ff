import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, type TestContext } from 'vitest';

import { rpc } from '../support/svc-process.ts';
import { asOneself, sealed, shell, type ContainedCapsule, type Setup } from './contained-capsule.ts';
import { MarkedProcesses } from '../../packages/sandbox/test/marked-processes.ts';
import { openCapsule } from './use-capsule.ts';

/** A child in the group, one whose parent has ended, one that has a session of its own, and one of a daemon. */
function family(marked: MarkedProcesses): string {
  return `${marked.sleep(1)} &
(${marked.sleep(2)} &)
setsid ${marked.sleep(3)} &
(setsid bash -c '${marked.sleep(4)} & wait' &)`;
}

/** All of it while the command waits. */
const everything = ['1', '2', '3', '4', 'bash of 1', 'bash of 4'];
/** What has left the group of its command: a composed root lets nothing live that was started in it. */
const left = { sealed: [], scoped: ['3', '4', 'bash of 4'] } as const;
/** When `svc` is killed it ends no group: the command goes with it, and what it has started stays. */
const leftByKill = { sealed: [], scoped: ['1', '2', '3', '4', 'bash of 4'] } as const;

const allow = 'shell: { allow: [bash, sleep, setsid] }';

async function start(context: TestContext, setup: Setup, command: (marked: MarkedProcesses) => string) {
  const marked = new MarkedProcesses();
  context.onTestFinished(() => marked.end());
  const calls = [shell('family', command(marked))];
  const capsule = await openCapsule(context, setup, { calls, capabilities: allow, stays: true });
  return { marked, capsule };
}

async function cancel({ line, stream }: ContainedCapsule): Promise<void> {
  const { data } = await stream.status('working', 'inference turn 1');
  await rpc(line.url, 'tasks/cancel', { id: data['id'] });
  await stream.status('canceled', 'task canceled');
}

/** Whether what its trace says holds its processes is a control group. */
function heldByGroup({ workspace, line }: ContainedCapsule): boolean {
  const trace = readFileSync(join(workspace.folder, '.svc', 'sessions', line.session_id, 'trace.jsonl'), 'utf8');
  const [start] = trace.split('\n').map((each) => JSON.parse(each || 'null') as SessionStart | null);
  return start?.effective_grants.limits.some(({ held_by: by }) => by.startsWith('cgroup')) === true;
}

interface SessionStart {
  readonly effective_grants: { readonly limits: readonly { readonly held_by: string }[] };
}

describe.each([...asOneself, ...sealed.filter(({ uid }) => uid !== null)])('in $name', (setup) => {
  const remaining = left[setup.class];

  it('a command that ends leaves nothing but what its class lets live', async (context) => {
    const { marked, capsule } = await start(context, setup, (processes) => `${family(processes)}\nexec > /dev/null`);
    expect((await capsule.result('family')).text).toMatch(/^exit code: 0\n/);
    expect(await marked.settled(remaining)).toEqual(remaining);
  });

  it('a command that is canceled leaves nothing but what its class lets live', async (context) => {
    const { marked, capsule } = await start(context, setup, (processes) => `${family(processes)}\nwait`);
    await marked.settled(everything);
    await cancel(capsule);
    expect(await marked.settled(remaining)).toEqual(remaining);
  });

  // By when all that it starts has to run.
  it('a tool that passes its deadline leaves nothing but what its class lets live', async (context) => {
    const marked = new MarkedProcesses();
    context.onTestFinished(() => marked.end());
    const capsule = await openCapsule(context, setup, {
      calls: [{ id: 'slow', tool: 'slow', input: {} }],
      manifest: `artifacts: [{ name: slow, version: 1.0.0, source: ./slow, capabilities: { limits: { deadline: 4 } } }]\n`,
      capabilities: allow,
      files: {
        'slow/svc.yaml': 'name: slow\nversion: 1.0.0\nruntime: tool\nimplementation: native\n',
        'slow/bin/slow': `#!/bin/bash\n${family(marked)}\nwait\n`,
      },
      prepare: ({ folder }) => {
        chmodSync(join(folder, 'slow', 'bin', 'slow'), 0o755);
        return {};
      },
    });
    const { text, isError } = await capsule.result('slow');
    expect({ text, isError }).toEqual({
      text: 'the tool slow did not end within 4 s (ended by signal SIGTERM)',
      isError: true,
    });
    expect(await marked.settled(remaining)).toEqual(remaining);
  });

  it('svc leaves at its end only what its class lets live', async (context) => {
    const { marked, capsule } = await start(context, setup, (processes) => `${family(processes)}\nwait`);
    await marked.settled(everything);
    capsule.process.child.kill('SIGTERM');
    expect(await capsule.process.ended).toMatchObject({ code: 1 });
    // The control group of a session is ended with it.
    const remainingThen = heldByGroup(capsule) ? [] : remaining;
    expect(await marked.settled(remainingThen)).toEqual(remainingThen);
  });

  it('svc that is killed leaves nothing but what its class lets live', async (context) => {
    const { marked, capsule } = await start(context, setup, (processes) => `${family(processes)}\nwait`);
    await marked.settled(everything);
    capsule.process.child.kill('SIGKILL');
    const remainingThen = leftByKill[setup.class];
    expect(await marked.settled(remainingThen)).toEqual(remainingThen);
  });

  it.for(['SIGTERM', 'SIGKILL'] as const)(
    'svc that gets %s while a command is being started leaves nothing',
    async (signal, context) => {
      const { marked, capsule } = await start(context, setup, (processes) => `exec ${processes.sleep(1)}`);
      await capsule.stream.status('working', 'inference turn 1');
      capsule.process.child.kill(signal);
      await capsule.process.ended;
      expect(await marked.settled([])).toEqual([]);
    },
  );
});
