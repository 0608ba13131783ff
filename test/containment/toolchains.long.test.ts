import { spawnSync } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';

import { describe, expect, it, type TestContext } from 'vitest';

import { everywhere, type ProgramTrial, programTrials, trialLimits } from '@svc/svc/machine/program-trials.ts';
import { printed, scoped, sealed, shell, type Setup } from './contained-capsule.ts';
import { useCapsule } from './use-capsule.ts';

/** Whether the user of a setup can run it: a toolchain in the home of another one is not there. */
function isInstalledFor({ uid }: Setup, name: string): boolean {
  const as = uid === null ? {} : { uid, gid: uid };
  return spawnSync('/bin/sh', ['-c', 'command -v "$0"', name], { ...as, cwd: '/', stdio: 'ignore' }).status === 0;
}

/** Why a class that keeps the tree of the host cannot hold it, where it cannot. */
const notIn: Readonly<Record<Setup['class'], Readonly<Record<string, string>>>> = {
  sealed: {},
  scoped: {
    pip: 'pip lists the folder of its own program, and only a root of its own lacks that: python3 -m pip works',
    cargo: 'a proxy of rustup stays in the place of the program where nothing is mounted',
  },
};

const listed = (names: readonly string[]): string => [...new Set([...everywhere, ...names])].join(', ');

const setups: readonly Setup[] = [...sealed, ...scoped];

describe.each(setups)('in $name', (setup) => {
  const missing = ({ programs }: ProgramTrial): string | undefined =>
    programs.find((name) => !isInstalledFor(setup, name));
  const tried = programTrials.filter((trial) => missing(trial) === undefined);
  const capsule = useCapsule(setup, {
    calls: tried.map(({ name, script }) =>
      shell(name, `cd ${name} && { ${script}; } 2> ../${name}.log || { cat ../${name}.log; false; }`, 'sh'),
    ),
    capabilities: `filesystem: { workdir_exec: true }
resources: ${JSON.stringify(trialLimits)}
shell: { allow: [${listed(tried.flatMap(({ programs }) => programs))}] }`,
    files: Object.fromEntries([
      ...tried.flatMap(({ name, files }) =>
        Object.entries(files).map(([file, text]) => [`work/${name}/${file}`, text]),
      ),
      ...tried.map(({ name }) => [`work/${name}/.keep`, '']),
    ]) as Readonly<Record<string, string>>,
    args: ['--workdir', 'work'],
  });

  it.for(programTrials)('$name $does', { timeout: 240_000 }, async (trial, context: TestContext) => {
    const reason = notIn[setup.class][trial.name];
    const absent = missing(trial);
    context.skip(absent !== undefined, `needs ${absent}, which ${setup.name} cannot find`);
    context.skip(reason !== undefined, reason);
    const { text, isError } = await capsule(context).result(trial.name);
    expect({ text: stripVTControlCharacters(text), isError }).toEqual({ text: printed(trial.prints), isError: false });
  });
});
