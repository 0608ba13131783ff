import { describe, expect, it } from 'vitest';

import { advisory, printed, scoped, sealed, shell, type Setup } from './contained-capsule.ts';
import { useCapsule } from './use-capsule.ts';
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

describe.each(setups)('the folder of a skill in $name', (setup) => {
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
