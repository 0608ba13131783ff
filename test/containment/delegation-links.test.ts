import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { calls, type Formation, says, useFormations } from '../support/formation.ts';
import { eachFolder } from '../support/each-folder.ts';

const start = useFormations();
const svcProgram = fileURLToPath(new URL('../../bin/svc.cjs', import.meta.url));

/** What the user has elsewhere: no capsule may come here. */
let elsewhere: string;
let scratch: string;

eachFolder('svc-links-', (made) => {
  scratch = made;
  elsewhere = join(scratch, 'elsewhere');
  mkdirSync(elsewhere);
  writeFileSync(join(elsewhere, 'secret'), 'of the user\n');
});

const hearsOfEnds = 'lifecycle: { task_acceptance: queue, queue_depth: 4, after_task: sleep, shell_grace_secs: 1 }\n';
/** The only task beside that of the message is then the end of the child, however long a command takes. */
const hearsOfChildren =
  'lifecycle: { task_acceptance: queue, queue_depth: 4, after_task: sleep, shell_grace_secs: 60 }\n';
const commands = 'shell: { allow: [sh, cat, ln, ls, mv, sleep] }';

/** Waits for something, for 20 s at most, as text for a shell. */
function waitFor(test: string): string {
  return `i=0; until ${test} || [ $i -ge 400 ]; do sleep 0.05; i=$((i+1)); done`;
}

/** Moves `part` of the child's path away, and puts a link to the other place there. */
function swap(part: string): string {
  const where = part === 'the last part' ? 'set -- .svc/children/worker-*' : `set -- ${part}`;
  return `${where}; mv "$1" moved && ln -s ${elsewhere} "$1" && echo > swapped`;
}

const looksAround = calls('sh', { command: 'pwd -P; cat secret; echo planted > planted' }, 'Look around.');

/** Every file and directory of the other place. */
function foundElsewhere(): readonly string[] {
  return readdirSync(elsewhere, { recursive: true, encoding: 'utf8' });
}

function expectSwapped(formation: Formation): void {
  const { workdir } = formation.line;
  expect(readFileSync(join(workdir, 'swapped'), 'utf8')).toBe('\n');
  expect(lstatSync(join(workdir, 'moved')).isDirectory()).toBe(true);
}

/** Where the link is put, and how its parent calls the directory of the child from then on. */
const parts = [
  ['the last part', 'moved'],
  ['.svc/children', 'moved/worker-*'],
  ['.svc', 'moved/children/worker-*'],
] as const;

describe('a child whose parent puts a link on the path of its directory', () => {
  it.each(parts)('before it is up, at %s, is refused and does nothing where that leads [D2-DIR-05]', async (part) => {
    // The child's process comes to look at its directory when the link is there, however fast this machine is.
    const late = join(scratch, 'svc-late');
    const words = 'for word; do [ "$last" = --workdir ] && workdir=$word; last=$word; done';
    const waits = waitFor('[ -e "${workdir%/.svc/children/*}/swapped" ]');
    writeFileSync(late, `#!/bin/sh\n${words}\n${waits}\nexec '${process.execPath}' '${svcProgram}' "$@"\n`);
    chmodSync(late, 0o755);
    const lead = {
      manifest: `${hearsOfEnds}capabilities: { spawn: { allow: [worker] }, ${commands} }\n`,
      script: [
        calls('sh', { command: `${waitFor('[ -d .svc/children/worker-* ]')}; ${swap(part)}` }, 'Begin'),
        calls('delegate-task', { capsule: 'worker', version: '1.0.0', task: 'Look around.' }, 'Begin'),
        says('It is under way.', 'Begin'),
      ].join(''),
    };
    const worker = {
      manifest: `lifecycle: { task_acceptance: single }\ncapabilities: { ${commands} }\n`,
      script: [looksAround, says('Looked.', 'Look around.')].join(''),
    };
    const env = { SVC_CONTAINMENT_CEILING: 'sealed', SVC_BINARY: late };
    const formation = await start({ capsules: { lead, worker }, env });
    await formation.send('Begin');
    await formation.tasksEnded(1);
    expectSwapped(formation);
    expect(foundElsewhere()).toEqual(['secret']);
    expect(formation.results[1]).toContain('error[E-RUN-029]');
    expect(formation.results[1]).toContain('is not the directory that the parent made');
    expect(formation.alive).toEqual(['lead']);
  });

  it.each(['advisory', 'sealed'].flatMap((ceiling) => parts.map(([part, moved]) => ({ part, moved, ceiling }))))(
    'while it runs, at $part, writes and works nowhere else, with a ceiling of $ceiling [D2-DIR-05]',
    async ({ part, moved, ceiling }) => {
      const goOn = `${waitFor('[ -e .svc/children/worker-*/ready ]')}; ${swap(part)}; cd ${moved} && echo > go`;
      const lead = {
        manifest: `${hearsOfChildren}capabilities: { spawn: { allow: [worker] }, ${commands} }\n`,
        script: [
          calls('delegate-task', { capsule: 'worker', version: '1.0.0', task: 'Look around.' }, 'Begin'),
          calls('sh', { command: goOn }, 'Begin'),
          says('It is under way.', 'Begin'),
          says('Heard.', 'delegation_id'),
        ].join(''),
      };
      const worker = {
        manifest: `lifecycle: { task_acceptance: single, shell_grace_secs: 60 }\ncapabilities: { ${commands} }\n`,
        script: [
          calls('sh', { command: `echo > ready; ${waitFor('[ -e go ]')}` }, 'Look around.'),
          looksAround,
          says('Looked.', 'Look around.'),
        ].join(''),
      };
      const formation = await start({ capsules: { lead, worker }, env: { SVC_CONTAINMENT_CEILING: ceiling } });
      await formation.send('Begin');
      await formation.tasksEnded(2);
      expectSwapped(formation);
      expect(foundElsewhere()).toEqual(['secret']);
      expect(JSON.stringify(formation.childTrace)).not.toContain('of the user');
      expect(formation.delegationStatuses()).toEqual(['started', 'error']);
    },
  );
});
