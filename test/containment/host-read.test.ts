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
/** A program that is granted by its name, and what lies around it without a grant. */
const tool = join(place, 'tool');
for (const name of ['bin', 'lib', 'share']) mkdirSync(join(tool, name), { recursive: true });
writeFileSync(join(tool, 'share/data'), 'from the tool\n');
writeFileSync(join(tool, 'lib/libtool.so.1'), '');
writeFileSync(join(tool, 'bin/granted'), '#!/bin/bash\n"$@"\n');
copyFileSync('/bin/cat', join(tool, 'bin/other'));
for (const name of ['granted', 'other']) chmodSync(join(tool, 'bin', name), 0o755);
// Another user reads them too.
for (const path of [place, sdk, join(sdk, 'bin'), join(sdk, 'lib'), tool]) chmodSync(path, 0o755);
for (const name of ['bin', 'lib', 'share']) chmodSync(join(tool, name), 0o755);
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
      shell('hidden', `cat ${tool}/share/data`, 'granted'),
      shell('command', `${tool}/bin/other`),
      shell('library', 'echo "could not find libtool.so.1" >&2; exit 1'),
      shell('script', `printf '#!${tool}/bin/other\\n' > script; chmod +x script; ./script`, 'sh'),
      shell('elsewhere', `echo "cannot read ${place}/secret, /etc/hostname or ${tool}/share/gone" >&2; exit 1`),
      shell('fine', `echo "cannot read ${sdk}/lib/data or /usr/bin/cat" >&2; exit 1`),
    ],
    capabilities: `filesystem: { host_read: [${sdk}], workdir_exec: true }\nshell: { allow: [bash, sh, cat, ls, tail, granted, chmod] }`,
    env: { PATH: `${process.env['PATH']}:${tool}/bin` },
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

  it.for<[what: string, id: string, path: string, grant: string]>([
    ['what it reads', 'hidden', 'share/data', 'filesystem.host_read: [TOOL] lets them read it'],
    ['a program that is not granted', 'command', 'bin/other', 'shell.allow: [other] lets them run it'],
    ['a library without its folder', 'library', 'lib/libtool.so.1', 'filesystem.host_read: [TOOL] lets them read it'],
    ['the interpreter of a script', 'script', 'bin/other', 'shell.allow: [other] lets them run it'],
  ])('stands with its grant below a failed command: %s', async ([, id, path, grant], context) => {
    const { text } = await capsule(context).result(id);
    expect(text.split('\n').at(-1)).toBe(
      `[${tool}/${path} is on this machine, and hidden from programs here: capabilities.${grant.replace('TOOL', tool)}]`,
    );
  });

  it.for(['elsewhere', 'fine'])('stands there only where it is among programs and hidden: %s', async (id, context) => {
    expect((await capsule(context).result(id)).text).toMatch(
      /^exit code: 1\nstdout: \(empty\)\nstderr:\ncannot read .*$/,
    );
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
