import { describe, expect, it } from 'vitest';

import type { ScopeObject } from '@svc/artifacts/grants/scope-object.ts';
import type { HeldBy } from '@svc/protocol/held-limit.ts';
import { notStopped } from './not-stopped.ts';

const mechanisms = {
  none: ['advisory', 'none'],
  'seccomp-only': ['advisory', 'seccomp-only'],
  scoped: ['scoped', 'landlock+seccomp'],
  sealed: ['sealed', 'mountns+pivot_root+landlock+seccomp'],
} as const;

type Enforcement = keyof typeof mechanisms;

function under(enforcement: Enforcement, granted: Partial<ScopeObject> = {}): readonly string[] {
  const [achieved, mechanism] = mechanisms[enforcement];
  return notStopped({
    containment: { declared: 'advisory', achieved, floor_met: true, mechanism, userns_grant: 'n/a' },
    filesystem_scope: null,
    workdir_exec: false,
    read_only: false,
    preopens: [],
    network_allow: [],
    unix_sockets: false,
    shell_allow: [],
    spawn_allow: [],
    env_allow: [],
    plan_submit: false,
    interpreter_runtime: [],
    staged_runtime: [],
    limits: held('none', 'none'),
    ...granted,
  });
}

/** Processes of the session, and its memory. */
function held(processes: HeldBy, memory: HeldBy): ScopeObject['limits'] {
  return [
    { resource: 'processes', of: 'session', max: 128, held_by: processes },
    { resource: 'memory', of: 'program', max: 4096, held_by: 'rlimit' },
    { resource: 'memory', of: 'session', max: memory === 'none' ? null : 8192, held_by: memory },
  ];
}

/** The sentences that a grant adds. */
function added(enforcement: Enforcement, granted: Partial<ScopeObject>): readonly string[] {
  const without = under(enforcement);
  return under(enforcement, granted).filter((sentence) => !without.includes(sentence));
}

const outlives = 'A process that detaches itself can go on running after the session has ended.';
const neverAFile =
  'Code that was never a file can run: a script by its interpreter, instructions that a program writes into its memory.';
const eachProcess =
  'Memory and processor time are limited for each process: what processes share does not count, and many together can take more.';
const betweenMeasures =
  'workdir_max_bytes is measured when a task begins and after tool calls: within one command more can be written, and removed again.';
const hiddenFiles =
  'Files that were removed do not count toward workdir_max_bytes while the program that holds them hides its descriptors, one of these is on its way through a socket, or the path was longer than 4,096 bytes and the program has detached itself.';
const anyProcesses =
  'The number of processes is not limited: svc runs as root, and nothing was found here that holds root to a number.';
const kernelBugs = 'A bug of the kernel can undo all of this.';
const libraries =
  'The loader of the system can be made to run a copy of a program in the workdir, and a program to load a library from it.';
const pathSockets =
  'Services of the host that listen on a UNIX socket can be reached by its path, a container engine among them.';
const sent = 'What can be read here can be sent to any destination of network allow.';
const localNetwork = 'A name of network allow may lead to an address of the local network.';
const ownPrograms =
  'Programs that the agent writes into the workdir or fetches there can run, whatever shell allow says.';

const othersPriority =
  'Other processes of that user can be slowed down: their priority and the processors they run on can be changed.';

describe('the list of what is not stopped', () => {
  it('has everything that is no component where the kernel enforces nothing', () => {
    expect(under('none')).toEqual([
      'The kernel enforces nothing: commands, native tools and process drivers can do whatever the user can who runs svc.',
      'They reach every file of that user, the manifest and the traces of svc included, and any network host.',
      'They can start any program, and signal and read other processes of that user.',
      outlives,
      'Tools, drivers and hooks that are components are held to their grants by the runtime all the same.',
    ]);
  });

  it('has every file and program where system calls alone are filtered', () => {
    expect(under('seccomp-only')).toEqual([
      'System calls are filtered, files are not: processes can read, change and remove every file of the user who runs svc.',
      'The manifest and the traces of svc are among these files.',
      'They can start any program of the host, whatever shell allow says, and copies of it in the workdir.',
      'They can signal other processes of that user, and read their environment and open files.',
      'Run as root, they can change settings of the kernel that are files.',
      othersPriority,
      outlives,
      neverAFile,
      eachProcess,
      betweenMeasures,
      hiddenFiles,
      anyProcesses,
      kernelBugs,
    ]);
  });

  it('has metadata access, library loading and outliving processes in `scoped`', () => {
    expect(under('scoped')).toEqual([
      'Existence, size, times and owner of files outside the scope can be seen, and the names of those that change.',
      'Mode, times and extended attributes of files outside can be changed where the user who runs svc may, those of its traces too; their content cannot.',
      libraries,
      othersPriority,
      outlives,
      neverAFile,
      eachProcess,
      betweenMeasures,
      hiddenFiles,
      anyProcesses,
      kernelBugs,
    ]);
  });

  it('has code without a file, sums of limits and the kernel itself where all is sealed', () => {
    expect(under('sealed')).toEqual([neverAFile, eachProcess, betweenMeasures, hiddenFiles, anyProcesses, kernelBugs]);
  });

  it('has no sum and no number that something limits', () => {
    const timeOfEach = 'Processor time is limited for each process: many together can take more.';
    expect(under('sealed', { limits: held('user-namespace', 'none') })).toEqual([
      neverAFile,
      eachProcess,
      betweenMeasures,
      hiddenFiles,
      kernelBugs,
    ]);
    expect(under('sealed', { limits: held('cgroup-v1', 'cgroup-v1') })).toEqual([
      neverAFile,
      timeOfEach,
      betweenMeasures,
      hiddenFiles,
      kernelBugs,
    ]);
    expect(under('sealed', { limits: held('user-namespace', 'watched') })).toEqual([
      neverAFile,
      'The memory of all programs is added up four times a second, without what they share: a fast one can take more for a moment. Processor time is limited for each process.',
      betweenMeasures,
      hiddenFiles,
      kernelBugs,
    ]);
    expect(under('scoped', { limits: held('user', 'none') })).toContain(
      'The number of processes is counted for the user who runs svc: others of that user that end meanwhile make room for more.',
    );
    expect(under('scoped', { limits: held('cgroup-v2', 'none') })).not.toContain(outlives);
  });

  it('has the sum of all processes where each launch is counted on its own', () => {
    const limits: ScopeObject['limits'] = [
      { resource: 'processes', of: 'session', max: null, held_by: 'none' },
      { resource: 'processes', of: 'program', max: 128, held_by: 'user' },
      { resource: 'memory', of: 'session', max: null, held_by: 'none' },
    ];
    expect(under('sealed', { limits })).toEqual([
      neverAFile,
      eachProcess,
      betweenMeasures,
      hiddenFiles,
      'The number of processes is limited for each program that is started: many together can have more.',
      kernelBugs,
    ]);
  });

  it.each<[Enforcement, readonly string[]]>([
    ['none', []],
    ['seccomp-only', ['network allow is advisory here: with any entry, TCP reaches every host and port.']],
    ['scoped', ['network allow is advisory here: it limits ports at most, not hosts.', sent]],
    ['sealed', [sent, localNetwork]],
  ])('says under %s what an entry of network allow opens', (enforcement, sentences) => {
    expect(added(enforcement, { network_allow: ['a.example'] })).toEqual(sentences);
  });

  it.each<[Enforcement, readonly string[]]>([
    ['none', []],
    ['seccomp-only', [pathSockets, 'So can those on abstract UNIX sockets.']],
    ['scoped', [pathSockets]],
    ['sealed', []],
  ])('says under %s which UNIX sockets are reached when they are granted', (enforcement, sentences) => {
    expect(added(enforcement, { unix_sockets: true })).toEqual(sentences);
  });

  it.each<[Enforcement, readonly string[]]>([
    ['none', []],
    ['seccomp-only', []],
    ['scoped', [ownPrograms]],
    ['sealed', [ownPrograms]],
  ])('says under %s what execution from the workdir opens', (enforcement, sentences) => {
    expect(added(enforcement, { workdir_exec: true })).toEqual(sentences);
  });

  it('has no loader tricks where the workdir may be executed', () => {
    expect(under('scoped', { workdir_exec: true })).not.toContain(libraries);
  });

  it.each<Enforcement>(['none', 'seccomp-only', 'scoped', 'sealed'])(
    'begins under %s with the interpreters by name, and says that other commands can run code too',
    (enforcement) => {
      const other =
        'An allowed command may run code too without being listed as an interpreter: make, git and find can do that.';
      const one = under(enforcement, { shell_allow: ['sh', 'git'], interpreter_runtime: ['sh'] });
      expect(one[0]).toBe(
        'sh runs any code it is given: whatever is granted above or listed here can be done with it.',
      );
      expect(one).toContain(other);
      const two = under(enforcement, { shell_allow: ['sh', 'node'], interpreter_runtime: ['sh', 'node'] });
      expect(two[0]).toBe(
        'sh, node run any code they are given: whatever is granted above or listed here can be done with it.',
      );
      expect(added(enforcement, { shell_allow: ['jq'] })).toEqual([other]);
    },
  );

  it.each<Enforcement>(['scoped', 'sealed'])('names under %s what commands start by themselves', (enforcement) => {
    const commands = { shell_allow: ['git', 'gcc', 'jq', 'tar', 'gzip'] };
    expect(under(enforcement, commands)[0]).toBe(
      'Commands may start others that they are made of: git (sh); gcc (as, ld); tar (sh, bzip2, xz, zstd), and a shell among them runs any code it is given.',
    );
    expect(under(enforcement, { shell_allow: ['gcc'] })[0]).toBe(
      'Commands may start others that they are made of: gcc (as, ld).',
    );
    expect(under(enforcement, { shell_allow: ['git', 'sh'] }).join()).not.toContain('made of');
  });

  it.each<Partial<ScopeObject>>([
    { read_only: true },
    { filesystem_scope: 'src' },
    { preopens: [{ artifact: 't', runtime: 'tool', path: 'src', writable: true }] },
    { preopens: [{ artifact: 't', runtime: 'tool', path: '.', writable: false }] },
  ])('says that the home of processes stays writable under %j', (granted) => {
    const home =
      'Processes write to .svc/home in the workdir, their home, whatever read_only and the filesystem scope say.';
    expect(added('scoped', granted)).toEqual([home]);
    expect(added('sealed', granted)).toEqual([home]);
    expect(added('none', granted)).toEqual([]);
  });

  it('says under scoped alone that a copy in the store of a tool can be run', () => {
    const tool = { artifact: 't', runtime: 'tool', path: '.', writable: true, state: ['notes'] } as const;
    const loaded = 'The loader of the system can be made to run a copy of a program in a state store.';
    expect(added('scoped', { preopens: [tool] })).toEqual([loaded]);
    expect(added('sealed', { preopens: [tool] })).toEqual([]);
    expect(added('scoped', { preopens: [{ ...tool, runtime: 'hook' }] })).toEqual([]);
  });

  it('names the origin that a driver reaches without a grant, and no other component does', () => {
    const driver = { artifact: 'd', runtime: 'driver', path: '.', writable: true } as const;
    expect(added('sealed', { preopens: [driver], staged_runtime: ['d@1.0.0'] })).toEqual([
      'A driver that is a component also reaches the origin of inference.endpoint, which network allow need not name.',
    ]);
    expect(added('sealed', { preopens: [driver] })).toEqual([]);
    const bundled = { ...driver, artifact: 'svc-driver-openai' };
    expect(added('sealed', { preopens: [bundled], staged_runtime: ['svc-driver-openai@1.0.0'] })).toEqual([
      'A driver that is a component also reaches the origin of inference.endpoint, which network allow need not name.',
      'A driver that comes with svc runs in the process of svc: limits.memory bounds what comes in answer to one of its calls, and not that process.',
    ]);
    expect(added('sealed', { preopens: [{ ...driver, runtime: 'tool' }], staged_runtime: ['d@1.0.0'] })).toEqual([]);
  });

  it.each([
    ['scoped', []],
    ['sealed', ['Services of the host whose UNIX sockets lie in host read can be reached.']],
  ] as const)('has what paths of the host open in %s', (enforcement, ofSockets) => {
    const programs = 'Programs in the files and folders of host read can run, whatever shell allow says.';
    const all = 'All that the folders of host read hold can be read, deeper files with secrets too.';
    const host_read = ['/opt/sdk'];
    expect(added(enforcement, { host_read })).toEqual([programs, all]);
    const withSockets = added(enforcement, { host_read, unix_sockets: true });
    expect(withSockets.filter((sentence) => sentence.includes('host read'))).toEqual([programs, ...ofSockets, all]);
  });
});
