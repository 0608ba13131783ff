import { chmodSync, lchownSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { svc } from '../support/svc-process.ts';
import type { Workspace } from '../support/workspace.ts';
import { asOneself, printed, shell } from './contained-capsule.ts';
import { openCapsule, useCapsule } from './use-capsule.ts';

/** As pyenv writes them. */
const shim = (root: string): string => `#!/usr/bin/env bash
export PYENV_ROOT="${root}"
exec "${root}/libexec/pyenv" exec "$program" "$@"
`;

function pathWith({ folder }: Workspace): { readonly PATH: string } {
  return { PATH: `${join(folder, 'pyenv', 'shims')}:/usr/bin:/bin` };
}

function namingPlaces(text: string, { folder }: Workspace): string {
  return text
    .replaceAll(join(folder, 'pyenv', 'shims', 'greet'), 'SHIM')
    .replaceAll(join(folder, 'pyenv', 'version'), 'VERSION');
}

describe.each(asOneself)('in $name', (setup) => {
  const capsule = useCapsule(setup, {
    calls: [
      shell('absent', 'x', 'svc-absent'),
      shell('shim', 'x', 'greet'),
      shell('shim-in-shell', 'greet'),
      shell('fine', 'echo fine'),
    ],
    capabilities: 'shell: { allow: [bash, svc-absent, greet] }',
    prepare: (workspace) => {
      workspace.write('pyenv/version', '3.9\n');
      workspace.write('pyenv/shims/greet', shim(join(workspace.folder, 'pyenv')));
      chmodSync(join(workspace.folder, 'pyenv', 'shims', 'greet'), 0o755);
      return pathWith(workspace);
    },
  });

  const refusal = { sealed: 'no such command', scoped: 'permission denied' }[setup.class];

  it.for<[what: string, id: string, shown: string]>([
    ['a command that is not installed', 'absent', 'svc-absent could not be started: no such command'],
    [
      'a shim that stands for nothing',
      'shim',
      `greet could not be started: ${refusal}; SHIM is a pyenv shim, and VERSION names no version that has it`,
    ],
  ])('the model learns why %s does not start', async ([, id, shown], context) => {
    const { text, isError } = await capsule(context).result(id);
    expect(namingPlaces(text, capsule(context).workspace)).toBe(shown);
    expect(isError).toBe(true);
  });

  it('the model learns what a shell did not find', async (context) => {
    const { text } = await capsule(context).result('shim-in-shell');
    expect(namingPlaces(text, capsule(context).workspace).split('\n').slice(-1)).toEqual([
      '[SHIM is a pyenv shim, and VERSION names no version that has it]',
    ]);
    expect((await capsule(context).result('fine')).text).toBe(printed('fine\n'));
  });

  it('the operator learns at the start what is not installed', async (context) => {
    const { process } = capsule(context);
    await process.complained(/\n/);
    const { stderr } = process;
    expect(stderr.split('\n')[0]).toBe(
      'warning[W-RUN-003]: capabilities.shell.allow lists svc-absent, which cannot be run here: no such command',
    );
    expect(stderr).not.toContain('shim');
  });

  it('the scope report names also missing files', async (context) => {
    const { workspace } = capsule(context);
    const { code, stderr } = await svc(workspace, ['run', '--explain-scope'], {
      env: { SVC_CONTAINMENT_CEILING: setup.class, ...pathWith(workspace) },
      ...(setup.uid === null ? {} : { uid: setup.uid }),
    });
    expect(code).toBe(0);
    expect(namingPlaces(stderr, workspace).match(/^warning.*$/gm)).toEqual([
      'warning[W-RUN-003]: capabilities.shell.allow lists svc-absent, which cannot be run here: no such command',
      'warning[W-RUN-003]: capabilities.shell.allow: SHIM is a pyenv shim, and VERSION names no version that has it',
    ]);
  });

  it('the model learns that its workdir is gone', async (context) => {
    const gone = await openCapsule(context, setup, {
      calls: [shell('here', 'echo here')],
      capabilities: 'shell: { allow: [bash] }',
      stays: true,
    });
    expect((await gone.result('here')).text).toBe(printed('here\n'));
    await gone.stream.untilClosed();
    rmSync(gone.line.workdir, { recursive: true });
    await gone.again();
    const { text, isError } = await gone.result('here');
    expect(isError).toBe(true);
    expect(text).toMatch(
      `bash could not be started: the directory .svc/home/tmp of ${gone.line.workdir} cannot be made: `,
    );
  });

  it('commands get their home back after one has cleared the workdir', async (context) => {
    const cleared = await openCapsule(context, setup, {
      calls: [shell('clear', 'rm -rf .svc; ls -A'), shell('home', 'mktemp > /dev/null && echo x > ~/x && ls -A ~')],
      capabilities: 'shell: { allow: [bash, rm, ls, mktemp] }',
    });
    expect((await cleared.result('clear')).text).toBe('exit code: 0\nstdout: (empty)\nstderr: (empty)');
    expect((await cleared.result('home')).text).toBe(printed('tmp\nx\n'));
  });

  it('the model learns of a link that stands in the place of that home, and nothing is made behind it', async (context) => {
    const linked = await openCapsule(context, setup, {
      calls: [shell('link', 'rm -r .svc && ln -s /etc .svc'), shell('home', 'echo here')],
      capabilities: 'shell: { allow: [bash, rm, ln] }',
    });
    expect((await linked.result('link')).isError).toBe(false);
    expect(await linked.result('home')).toEqual({
      text: `bash could not be started: .svc/home/tmp cannot be made in ${linked.line.workdir}: a link or a file is in its place`,
      isError: true,
    });
  });
});

/** The numbers of file systems whose owners the kernel maps for a mount: ext4, xfs, btrfs, tmpfs. */
const mappable: ReadonlySet<number> = new Set([0xef53, 0x58465342, 0x9123683e, 0x01021994]);
const asRoot = process.getuid?.() === 0 ? asOneself : [];

describe.skipIf(asRoot.length === 0).each(asRoot)('in $name (skipped without root)', (setup) => {
  it("a workdir in another user's home is bound before privileges are given up, or the model gets an error", async (context) => {
    const home = mkdtempSync('/var/tmp/svc-home-');
    context.onTestFinished(() => rmSync(home, { recursive: true }));
    lchownSync(home, 1000, 1000);
    const workdir = join(home, 'work');
    const capsule = await openCapsule(context, setup, {
      calls: [shell('anything', 'echo here')],
      capabilities: 'shell: { allow: [bash] }',
      args: ['--workdir', workdir],
    });
    const refusal = `bash could not be started: it could not be contained: ${workdir} cannot be reached without the privileges that are given up first`;
    expect(await capsule.result('anything')).toEqual(
      setup.name.startsWith('sealed') && mappable.has(statfsSync(home).type)
        ? { text: 'exit code: 0\nstdout:\nhere\nstderr: (empty)', isError: false }
        : { text: refusal, isError: true },
    );
  });
});
