import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { BundledChild } from './bundled-child.ts';
import { users } from './native/support/launch.ts';
import { MarkedProcesses } from './marked-processes.ts';
import { needsClass } from './needs-class.ts';

let program: BundledChild;

beforeAll(async () => {
  program = await BundledChild.of('apart-child.ts');
});

afterAll(() => program.remove());

interface Found {
  readonly seen: Readonly<Record<string, unknown>>;
  readonly own: { readonly namespaces: readonly string[]; readonly mounts: readonly string[] };
  readonly left: Readonly<Record<string, unknown>>;
}

async function foundAs(user: number | undefined, ceiling: string): Promise<readonly Found[]> {
  const { args, options } = program.callAs(user, ceiling);
  const { stdout } = await promisify(execFile)(process.execPath, args, options);
  return JSON.parse(stdout) as readonly Found[];
}

const inEach = {
  files: [],
  parent: 'EACCES',
  abstract: 'ECONNREFUSED',
  loopback: 'EPERM',
  keyring: 'EPERM',
  descriptors: [0, 1, 2],
  limit: [1024, 1024],
  blocked: 0,
  ignored: [],
  leads: true,
  cwd: 'work',
};

const absent = { shm: 'ENOENT', sem: 'ENOENT', msg: 'ENOENT', mq: 'ENOENT' };
const refused = { shm: 'EPERM', sem: 'EPERM', msg: 'EPERM', mq: 'EPERM' };

describe.each(users)('a launch of a session of %s', (_name, user) => {
  it('in class sealed finds nothing of one that lives beside it, nor of one before', async (context) => {
    await needsClass(context, 'sealed');
    const found = await foundAs(user, 'sealed');
    const made = { ...inEach, ...absent, processes: [1, 2], modes: ['0o755', '0o1777', '0o1777'] };
    expect(found.map(({ seen }) => seen)).toEqual([
      { ...made, loopback: 'EACCES', variables: ['ONLY_FIRST'] },
      { ...made, variables: ['ONLY_SECOND'] },
      { ...made, loopback: 'EACCES', variables: ['ONLY_THIRD'] },
    ]);
    // Each could leave something for the next one, and did.
    const left = { modes: ['done', 'done', 'done'], shm: 'done', sem: 'done', msg: 'done', abstract: 'done' };
    for (const each of found)
      expect(each.left).toMatchObject({ ...left, files: ['done', 'done', 'EACCES', 'EROFS', 'ENOENT'] });
    const [first, second, third] = found.map(({ own }) => own);
    // Only those of launches that live at once have names that say so.
    for (const [one, other] of [
      [first, second],
      [second, third],
    ]) {
      const names = [...(one?.namespaces ?? []), ...(other?.namespaces ?? [])];
      expect(names).toHaveLength(12);
      expect(new Set(names).size).toBe(12);
    }
    expect(second?.mounts).toEqual(first?.mounts);
    expect(third?.mounts).toEqual(first?.mounts);
  });

  it('in class scoped has nothing that the one before had for itself', async (context) => {
    await needsClass(context, 'scoped');
    const found = await foundAs(user, 'scoped');
    const { modes: _ofHost, ...first } = found[0]?.seen ?? {};
    expect(first).toEqual({ ...inEach, ...refused, processes: 'EACCES', variables: ['ONLY_FIRST'] });
    for (const [at, name] of ['ONLY_FIRST', 'ONLY_SECOND', 'ONLY_THIRD'].entries())
      expect(found[at]?.seen).toEqual({ ...found[0]?.seen, variables: [name] });
  });

  it.each(['sealed', 'scoped'] as const)('in class %s ends when svc is killed', async (ceiling) => {
    const marks = new MarkedProcesses();
    onTestFinished(() => marks.end());
    const left = ceiling === 'sealed' ? `${marks.sleep(2)} & setsid ${marks.sleep(3)} & ` : '';
    const { args, options } = program.callAs(user, ceiling, `${left}echo started; exec ${marks.sleep(1)}`);
    const child = spawn(process.execPath, args, { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    const running = ceiling === 'sealed' ? ['1', '2', '3', 'node of 2'] : ['1', 'node of 1'];
    expect(await marks.settled(running)).toEqual(running);
    child.kill('SIGKILL');
    expect(await marks.settled([])).toEqual([]);
  });
});
