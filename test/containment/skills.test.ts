import { describe, expect, it } from 'vitest';

import { advisory, printed, scoped, sealed, shell, type Setup } from './contained-capsule.ts';
import { needsPrograms, useCapsule } from './use-capsule.ts';
import type { ContainmentClass } from '@svc/protocol/containment-class.ts';

const folder = {
  'skills/forms/SKILL.md': '---\nname: forms\ndescription: Fills forms.\n---\n\nRun scripts/fill.py.\n',
  'skills/forms/references/list.md': 'A list.\n',
  'skills/forms/scripts/fill.py':
    '#!/usr/bin/env python3\nprint(open(".skills/forms/references/list.md").read().strip())\n',
  'skills/forms/scripts/run.sh': '#!/bin/sh\necho ran\n',
};

const entry = 'artifacts: [{ name: forms, version: 1.0.0, runtime: skill, source: ./skills/forms }]\n';

function failed(stderr: string): string {
  return `exit code: 1\nstdout: (empty)\nstderr:\n${stderr}`;
}

const setups: readonly Setup<ContainmentClass>[] = [...sealed, ...scoped, ...advisory];

describe.each(setups)('the folder of a skill in $name', { timeout: 240_000 }, (setup) => {
  const capsule = useCapsule(setup, {
    manifest: entry,
    files: folder,
    calls: [
      shell('early', 'cat .skills/forms/references/list.md'),
      { id: 'text', tool: 'forms', input: {} },
      shell('python', '.skills/forms/scripts/fill.py', 'python3'),
      shell('list', 'ls .skills .skills/forms'),
      shell('sh', 'sh .skills/forms/scripts/run.sh'),
      shell('execute', '.skills/forms/scripts/run.sh'),
      shell('write', 'echo new > .skills/forms/references/list.md'),
      shell('make', 'echo new > .skills/forms/new'),
      shell('workdir', 'echo new > made && cat made'),
      { id: 'file', tool: 'forms', input: { file: 'references/list.md' } },
    ],
    capabilities: 'shell: { allow: [bash, sh, cat, ls, python3] }',
  });

  it.for<[what: string, id: string, text: string]>([
    ['can be read before the skill is called', 'early', printed('A list.')],
    ['is read by a script of it', 'python', printed('A list.')],
    [
      'holds what the folder holds',
      'list',
      printed('.skills:\nforms\n\n.skills/forms:\nSKILL.md\nreferences\nscripts'),
    ],
    ['gives its scripts to a command that runs them', 'sh', printed('ran')],
    ['leaves the workdir to the agent', 'workdir', printed('new')],
  ])('%s', async ([, id, text], context) => {
    expect(await capsule(context).result(id)).toEqual({ text, isError: false });
  });

  it('has a place that the text names, and files that the skill reads', async (context) => {
    const text =
      '[skill forms 1.0.0. Paths in it are below .skills/forms/]\nRun scripts/fill.py.\n[also: references/list.md, scripts/fill.py, scripts/run.sh; call forms with file]';
    expect(await capsule(context).result('text')).toEqual({ text, isError: false });
    expect(await capsule(context).result('file')).toEqual({ text: 'A list.\n', isError: false });
  });

  it.for(['write', 'make'])('cannot be written (%s)', async (id, context) => {
    context.skip(setup.class === 'advisory', 'advisory keeps nothing from a program');
    const place = id === 'write' ? 'references/list.md' : 'new';
    const why = setup.class === 'sealed' ? 'Read-only file system' : 'Permission denied';
    expect((await capsule(context).result(id)).text).toBe(failed(`bash: line 1: .skills/forms/${place}: ${why}`));
  });

  it('has nothing that is executed', async (context) => {
    expect((await capsule(context).result('execute')).text).toContain('Permission denied');
  });
});

const listed = {
  'skills/look/SKILL.md':
    '---\ndescription: Looks.\nallowed-tools: Read, Bash(git:*), Bash(scripts/run.sh:*)\n---\nLook.\n',
  'skills/look/scripts/run.sh': '#!/bin/sh\necho ran\nls .\necho new > made || true\n',
};

describe.each([...sealed, ...scoped])('what a list of a skill leaves in $name', { timeout: 240_000 }, (setup) => {
  const capsule = useCapsule(setup, {
    manifest: 'artifacts: [{ name: look, version: 1.0.0, runtime: skill, source: ./skills/look }]\n',
    files: listed,
    calls: [
      shell('before', "-c alias.x='!ls .skills' x", 'git'),
      { id: 'text', tool: 'look', input: {} },
      shell('alias', "-c alias.x='!ls .skills' x", 'git'),
      shell('version', '--version', 'git'),
      shell('script', 'sh .skills/look/scripts/run.sh', 'sh'),
      shell('read', '.skills/look/SKILL.md', 'cat'),
      shell('other', '.skills', 'ls'),
      shell('line', 'ls', 'sh'),
    ],
    capabilities: 'shell: { allow: [git, sh, cat, ls] }',
  });

  it('keeps a program from starting what the list does not name', async (context) => {
    needsPrograms(context, 'git');
    expect((await capsule(context).result('before')).text).toBe(printed('look'));
    expect((await capsule(context).result('version')).text).toContain('git version');
    const { text } = await capsule(context).result('alias');
    expect(text).toMatch(/ls: (not found|Permission denied)/);
    expect(text).not.toContain('look\n');
  });

  it('runs a script, which starts nothing that the list does not name', async (context) => {
    const { text } = await capsule(context).result('script');
    expect(text).toContain('stdout:\nran');
    expect(text).toMatch(/ls: (not found|Permission denied)/);
  });

  it('says which skill does not allow a call', async (context) => {
    needsPrograms(context, 'git');
    const allows = 'it allows git; sh .skills/look/scripts/run.sh …; cat (read only)';
    const text = `not allowed while the skill look is in use: ${allows}`;
    expect(await capsule(context).result('other')).toEqual({ text, isError: true });
    expect(await capsule(context).result('line')).toEqual({ text, isError: true });
    expect((await capsule(context).result('read')).text).toContain('Looks.');
    expect((await capsule(context).result('text')).text).toContain(
      `While it is in use only these answer: ${allows.slice(10)}]`,
    );
  });
});
