import { describe, expect, it } from 'vitest';

import { type CallResult, type ScriptedCall, scoped, sealed, shell } from './contained-capsule.ts';
import { needsPrograms, useCapsule } from './use-capsule.ts';

const commands = ['sh', 'cat', 'head', 'tail', 'wc', 'stat', 'grep', 'ls', 'sort', 'sed', 'git', 'sleep'];

/** Tries to start each command. */
const probe = `for each in ${commands.join(' ')}; do $each --version > /dev/null 2>&1 < /dev/null; echo "$each $?"; done`;

/** A command in the background begins before the list holds, and starts another one when it does. */
const begun = 'until [ -e made ]; do sleep 0.05; done; ls . > listed; sleep 600';
const seen =
  'echo > made; left=500000; until [ -s listed ] || [ $left = 0 ]; do left=$((left - 1)); done; [ -s listed ] && echo listed';

const lists: readonly { readonly lists: readonly string[]; readonly startable: readonly string[] }[] = [
  { lists: ['Bash'], startable: commands },
  { lists: ['Bash(sh:*)'], startable: ['sh'] },
  { lists: ['Bash(sh:*) Bash(git:*) Bash(sort:*)'], startable: ['sh', 'sort', 'git'] },
  { lists: ['Bash(sh:*) Bash(git diff:*) Bash(sed -n:*) Read Grep Glob'], startable: ['sh'] },
  { lists: ['Bash(sh:*) Bash(git:*) Bash(sort:*)', 'Bash Read'], startable: ['sh', 'sort', 'git'] },
  { lists: ['Bash(sh:*) Bash(git:*) Bash(sort:*)', 'Bash(sh:*) Bash(git:*) Bash(wc:*)'], startable: ['sh', 'git'] },
];

/** The commands that a probe could start. */
function startableIn({ text }: CallResult): readonly string[] {
  const codes = [...text.matchAll(/^(\w+) (\d+)$/gm)];
  expect(codes.map(([, name]) => name)).toEqual(commands);
  return codes.filter(([, , code]) => code !== '126' && code !== '127').map(([, name = '']) => name);
}

const cases = [...sealed, ...scoped].flatMap((setup) => lists.map((each) => ({ name: setup.name, setup, each })));

describe.each(cases)('a program in $name, under $each.lists', ({ setup, each: { lists: given, startable } }) => {
  const names = given.map((_, index) => `look-${index}`);
  const skills = names.map((name): ScriptedCall => ({ id: name, tool: name, input: {} }));
  const entries = names.map((name) => `  - { name: ${name}, version: 1.0.0, runtime: skill, source: ./${name} }\n`);
  const texts = given.map((list) => `---\ndescription: Looks.\nallowed-tools: ${list}\n---\nLook.\n`);
  const capsule = useCapsule(setup, {
    manifest: `artifacts:\n${entries.join('')}`,
    files: Object.fromEntries(names.map((name, index) => [`${name}/SKILL.md`, texts[index] ?? ''])),
    calls: [
      shell('before', probe, 'sh'),
      shell('begun', begun, 'sh'),
      ...skills,
      shell('after', probe, 'sh'),
      shell('seen', seen, 'sh'),
    ],
    capabilities: `shell: { allow: [${commands.join(', ')}] }`,
    graceSecs: 5,
  });

  it(`starts of ${commands.length} commands ${startable.join(', ')} alone`, async (context) => {
    needsPrograms(context, 'git');
    expect(startableIn(await capsule(context).result('before'))).toEqual(commands);
    expect(startableIn(await capsule(context).result('after'))).toEqual(startable);
  });

  it('keeps what it was started with where it went on in the background before', async (context) => {
    expect((await capsule(context).result('begun')).text).toContain('goes on in the background');
    expect((await capsule(context).result('seen')).text).toContain('stdout:\nlisted');
  });
});
