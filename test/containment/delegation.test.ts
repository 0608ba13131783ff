import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it, type TestContext } from 'vitest';

import { calls, type Formation, says, useFormations } from '../support/formation.ts';

const start = useFormations();

/** What the child tries to reach is its parent's: a file of the workdir, and the trace. */
const looksAround = [
  'until [ -e note ]; do sleep 0.05; done',
  '{ cat note; cat ../../../secret; cat ../../../../../.svc/sessions/*/trace.jsonl; } > seen 2>&1',
  'echo planted > ../../../planted',
  'true',
].join('; ');

const lead = {
  manifest: `lifecycle: { task_acceptance: queue, after_task: sleep }
capabilities: { spawn: { allow: [worker] }, shell: { allow: [sh, cat, ls, sleep] } }
`,
  script: [
    calls('delegate-task', { capsule: 'worker', version: '1.0.0', task: 'Look around.' }, 'Begin'),
    calls('sh', { command: 'cd .svc/children/* && echo from the parent > note' }, 'Begin'),
    says('It is under way.', 'Begin'),
    calls('sh', { command: 'cat .svc/children/*/seen' }, 'delegation_id'),
    says('Heard.', 'delegation_id'),
  ].join(''),
};

function worker(floor: string): typeof lead {
  return {
    manifest: `lifecycle: { task_acceptance: single }
capabilities: { containment: ${floor}, shell: { allow: [sh, cat, ls, sleep] } }
`,
    script: [calls('sh', { command: looksAround }, 'Look around.'), says('Looked.', 'Look around.')].join(''),
  };
}

async function looked(context: TestContext, floor: string): Promise<Formation> {
  const formation = await start({
    capsules: { lead, worker: worker(floor) },
    env: { SVC_CONTAINMENT_CEILING: 'sealed' },
  });
  writeFileSync(join(formation.line.workdir, 'secret'), 'of the parent\n');
  await formation.send('Begin');
  await formation.frames.until(({ event }) => event === 'artifact');
  const lacksClass = formation.results[0]?.includes('E-CAP-003') === true;
  context.skip(lacksClass && process.env['REQUIRE_CONTAINMENT'] !== 'sealed', `needs a host that achieves ${floor}`);
  await formation.tasksEnded(2);
  return formation;
}

describe('the directory of a child', () => {
  it('can be written to by its parent while the child runs [D2-DIR-04]', async (context) => {
    const formation = await looked(context, 'scoped');
    const seen = readFileSync(join(formation.childDirectory, 'seen'), 'utf8');
    expect(seen.split('\n')[0]).toBe('from the parent');
    expect(formation.results.at(-1)).toContain('from the parent');
  });

  it('holds all that the child can reach of its parent [D2-DIR-05]', async (context) => {
    const formation = await looked(context, 'scoped');
    const [, ...rest] = readFileSync(join(formation.childDirectory, 'seen'), 'utf8').trimEnd().split('\n');
    expect(rest).toHaveLength(2);
    for (const line of rest) expect(line).toMatch(/(No such file or directory|Permission denied)$/);
    expect(readFileSync(join(formation.childDirectory, '../../../secret'), 'utf8')).toBe('of the parent\n');
    expect(() => readFileSync(join(formation.line.workdir, 'planted'))).toThrow('ENOENT');
  });
});

it('a tool of the parent reaches the directory of a child in a workdir that --workdir names', async () => {
  const edit = (input: object): string => calls('svc-tool-editor', input, 'delegation_id');
  const formation = await start({
    capsules: {
      lead: {
        manifest: `lifecycle: { task_acceptance: queue, after_task: sleep }
artifacts: [{ name: svc-tool-editor, version: 1.0.0 }]
capabilities: { spawn: { allow: [worker] } }
`,
        script: [
          calls('delegate-task', { capsule: 'worker', version: '1.0.0', task: 'Answer.' }, 'Begin'),
          says('It is under way.', 'Begin'),
          edit({ command: 'list', path: '.svc/children' }),
          edit({ command: 'write', path: '.svc/children/note', content: 'x' }),
          edit({ command: 'read', path: '.svc/children/note' }),
          edit({ command: 'read', path: 'svc/children/note' }),
          says('Heard.', 'delegation_id'),
        ].join(''),
      },
      worker: { manifest: 'lifecycle: { task_acceptance: single }\n', script: says('The answer.', 'Answer.') },
    },
    flags: ['--workdir', 'work'],
  });
  await formation.send('Begin');
  await formation.tasksEnded(2);
  const [, listed, wrote, read, other] = formation.results;
  expect(listed).toContain('.svc/children/worker-');
  expect(wrote).toContain('created .svc/children/note (1 bytes)');
  expect(read).toMatch(/\bx$/m);
  expect(other).toContain('svc/children/note does not exist');
});

/** Counts what shows the runtime's process: its command line, what it has mapped, its variables. */
const looksForRuntime = `cat /proc/[0-9]*/cmdline /proc/[0-9]*/maps /proc/[0-9]*/environ 2>&1 | grep -a -c 'svc[.]cjs\\|SVC_REFEREE_URL[=]\\|msc1[.]'; true`;

describe('the credential of a session', () => {
  it.each(['advisory', 'scoped', 'sealed'])(
    'stays in the memory of a process that its commands cannot look into, unless nothing contains them: %s [D2-CORE-08]',
    async (ceiling) => {
      const curious = {
        manifest: `lifecycle: { task_acceptance: queue, after_task: sleep }
capabilities: { spawn: { allow: [worker] }, shell: { allow: [sh, cat, grep] } }
`,
        script: [calls('sh', { command: looksForRuntime }, 'Begin'), says('Looked.', 'Begin')].join(''),
      };
      const env = { SVC_CONTAINMENT_CEILING: ceiling };
      const formation = await start({ capsules: { lead: curious, worker: worker('advisory') }, env });
      await formation.send('Begin');
      await formation.tasksEnded(1);
      const [, found = ''] = /\nstdout:\n(\d+)\n/.exec(formation.results[0] ?? '') ?? [];
      const { achieved } = { ...(formation.trace[0]?.['containment'] as { achieved?: string } | undefined) };
      // What the test looks with does find the runtime where it may.
      if (achieved === 'advisory') expect(Number(found)).toBeGreaterThan(0);
      else expect(found).toBe('0');
    },
  );
});
