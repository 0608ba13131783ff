import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { printed, scoped, sealed, shell, type Setup } from './contained-capsule.ts';
import { FirstMinute } from '../support/first-minute.ts';
import { output, task, told } from './first-minute-task.ts';
import { useCapsule } from './use-capsule.ts';

/** What an operator installed somewhere, with something beside it that no capsule is to see. */
const place = realpathSync(mkdtempSync(join(tmpdir(), 'host-read-')));
const sdk = join(place, 'sdk');

mkdirSync(join(sdk, 'bin'), { recursive: true });
mkdirSync(join(sdk, 'lib'));
writeFileSync(join(sdk, 'lib/data'), 'from the sdk\n');
writeFileSync(join(sdk, 'bin/script'), `#!${sdk}/bin/interpreter\nfrom a script\n`);
writeFileSync(join(place, 'secret'), 'secret\n');
copyFileSync('/bin/cat', join(sdk, 'bin/interpreter'));
for (const name of ['script', 'interpreter']) chmodSync(join(sdk, 'bin', name), 0o755);
symlinkSync('../secret', join(sdk, 'away'));
// Another user reads it too.
for (const path of [place, sdk, join(sdk, 'bin'), join(sdk, 'lib')]) chmodSync(path, 0o755);
afterAll(() => rmSync(place, { recursive: true }));

function failed(stderr: string): string {
  return `exit code: 1\nstdout: (empty)\nstderr:\n${stderr}`;
}

const setups: readonly Setup[] = [...sealed, ...scoped];

describe.each(setups)('a path of host_read in $name', (setup) => {
  const capsule = useCapsule(setup, {
    calls: [
      shell('read', `cat ${sdk}/lib/data`),
      shell('list', `ls ${sdk}`),
      shell('run', `${sdk}/bin/script | tail -n 1`),
      shell('write', `echo new > ${sdk}/lib/data`),
      shell('make', `echo new > ${sdk}/new`),
      shell('link', `cat ${sdk}/away`),
      shell('beside', `cat ${place}/secret`),
    ],
    capabilities: `filesystem: { host_read: [${sdk}] }\nshell: { allow: [bash, cat, ls, tail] }`,
  });
  const readOnly = setup.class === 'sealed' ? 'Read-only file system' : 'Permission denied';
  const outOfReach = setup.class === 'sealed' ? 'No such file or directory' : 'Permission denied';

  it.for<[what: string, id: string, shown: string]>([
    ['can be read', 'read', printed('from the sdk\n')],
    ['can be listed', 'list', printed('away\nbin\nlib\n')],
    ['holds programs that run, with what they need', 'run', printed('from a script\n')],
    ['lets no file be changed', 'write', failed(`bash: line 1: ${sdk}/lib/data: ${readOnly}`)],
    ['takes no new file', 'make', failed(`bash: line 1: ${sdk}/new: ${readOnly}`)],
    ['opens nothing that a link in it leads to', 'link', failed(`cat: ${sdk}/away: ${outOfReach}`)],
    ['opens nothing beside it', 'beside', failed(`cat: ${place}/secret: ${outOfReach}`)],
  ])('%s', async ([, id, shown], context) => {
    expect((await capsule(context).result(id)).text).toBe(shown);
  });

  it('stands in what the trace has of the grants', (context) => {
    const { workspace, line } = capsule(context);
    const trace = readFileSync(join(workspace.folder, '.svc/sessions', line.session_id, 'trace.jsonl'), 'utf8');
    expect(trace).toContain(`"host_read":["${sdk}"]`);
  });
});

describe('--host-read of a task without a manifest', () => {
  const minute = new FirstMinute({ ceiling: 'sealed', uid: null });
  afterAll(async () => await minute.dispose());

  it('opens the same, and refuses what a manifest is refused', async (context) => {
    const args = ['--host-read', `${sdk},${sdk}/bin`];
    const { stderr } = await task(context, minute, [`cat ${sdk}/lib/data`, `${sdk}/bin/script`], args);
    const script = output(`#!${sdk}/bin/interpreter\nfrom a script`);
    expect({ stderr, told: told(minute) }).toEqual({ stderr: '', told: [output('from the sdk'), script] });
    const root = await minute.svc(['--host-read', `${sdk},/`, 'look around']);
    expect(root.stderr).toBe(`error[E-CAP-026]: --host-read names "/", which no task is given
hint: name the folder of the one program that is needed
`);
    const kernel = await minute.svc(['--host-read', '/proc', 'look around']);
    expect(kernel.stderr)
      .toBe(`error[E-CAP-026]: --host-read: "/proc" is not opened to programs: it is a place where the kernel shows this machine
hint: name the folder of the one program that is needed
`);
  });
});
