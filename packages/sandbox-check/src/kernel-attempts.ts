/** Attempts on the kernel, on privileges and on other processes. */

import { getPriority } from 'node:os';

import {
  killed,
  type ProgramAttempt,
  programAttempt,
  type ProgramEntry,
  stopped,
  stoppedFromScoped,
  stoppedInSealed,
} from './attempt.ts';
import type { Surroundings } from './surroundings.ts';

/** Makes an attempt that needs nothing and is stopped everywhere. */
const call = (program: string, title: string): ProgramEntry => ({ name: program, title, program, promises: stopped });

const calls: readonly ProgramEntry[] = [
  call('unshare-user', 'enter a user namespace of its own'),
  call('clone-user', 'start a child in a user namespace of its own'),
  call('clone-user-high-bits', 'do so with meaningless bits set in the argument'),
  call('clone3-user', 'start a child in a user namespace by clone3'),
  call('setns', 'enter a namespace by its descriptor'),
  call('mount', 'mount a file system'),
  call('remount', 'mount the workdir anew with other attributes'),
  call('unmount', 'unmount what is mounted'),
  call('pivot-root', 'take another root'),
  call('chroot', 'take another root by chroot'),
  call('open-tree', 'copy a mount'),
  call('fsopen', 'make a file system to mount'),
  call('bpf', 'load a map into the kernel by bpf'),
  call('perf-event', 'measure by perf_event_open'),
  call('userfaultfd', 'handle its own page faults'),
  call('io-uring', 'set up an io_uring'),
  call('keyctl', "find the session's keyring"),
  call('add-key', 'keep a key in the kernel'),
  call('tiocsti', 'type into a terminal'),
  call('tiocsti-high-bits', 'type into a terminal, with meaningless bits set in the request'),
  call('become-root', 'become root by setresuid'),
  call('set-capabilities', 'have a capability again by capset'),
  call('kernel-log', 'read the messages of the kernel'),
  call('host-name', 'set the name of the host'),
  {
    ...call('execute-for-capabilities', 'have a capability again by running something'),
    operands: ({ program }) => [program],
  },
  {
    ...call('execute-setuid', 'become root by a setuid program'),
    operands: ({ tools }) => [tools.setuidProgram ?? ''],
    grants: ({ tools }) => ({ commands: [tools.setuidProgram ?? ''] }),
    needs: ['setuidProgram'],
  },
  {
    ...call('open-by-handle', 'open a file by its handle'),
    operands: ({ secretFile, secret }) => [secretFile, secret],
  },
  { ...call('int80', 'make a call of 32-bit programs'), promises: killed, needs: ['olderModes'] },
  { ...call('x32', 'make a call of x32 programs'), promises: killed, needs: ['olderModes'] },
  {
    name: 'open-setting',
    title: 'open a setting of the kernel for writing',
    program: 'open-for-writing',
    operands: () => ['/proc/sys/kernel/core_pattern'],
    promises: stoppedFromScoped,
  },
];

/** Dead by the signal of the attempt, and not by ours. */
async function wasSignaled(place: Surroundings): Promise<boolean> {
  return (await (await place.victim()).end()) === 'SIGUSR1';
}

const onProcesses: readonly ProgramEntry[] = [
  {
    ...call('ptrace', 'trace a process of the host'),
    operands: async (place) => [(await place.victim()).pid],
  },
  {
    ...call('read-memory', 'read the memory of a process of the host'),
    operands: async (place) => {
      const { pid, address } = await place.victim();
      return [pid, address, place.secret];
    },
  },
  {
    ...call('take-descriptor', 'take a descriptor from a process of the host'),
    operands: descriptorOperands,
  },
  {
    ...call('read-limits', 'read the limits of a process of the host'),
    operands: async (place) => [(await place.victim()).pid],
  },
  {
    ...call('attach-segment', 'attach shared memory of the host'),
    operands: async (place) => [(await place.victim()).segment, place.secret],
  },
  {
    ...call('signal', 'signal a process of the host'),
    operands: async (place) => [(await place.victim()).pid],
    promises: stoppedFromScoped,
    effect: wasSignaled,
  },
  {
    ...call('signal-by-descriptor', 'have the kernel signal a process of the host'),
    operands: async (place) => [(await place.victim()).pid],
    promises: stoppedFromScoped,
    effect: wasSignaled,
  },
  {
    ...call('slow-down', 'give a process of the host less processor time'),
    operands: async (place) => [(await place.victim()).pid],
    promises: stoppedInSealed,
    effect: async (place) => getPriority(Number((await place.victim()).pid)) !== getPriority(),
  },
  {
    ...call('read-environment', 'read the environment of a process of the host'),
    operands: async (place) => [(await place.victim()).pid, place.secret],
    promises: stoppedFromScoped,
  },
  {
    ...call('read-through-root', 'read a file through the root of a process of the host'),
    operands: async (place) => [(await place.victim()).pid, place.secretFile, place.secret],
    promises: stoppedFromScoped,
  },
  {
    ...call('read-through-root', 'read a file through the root of the first process it sees'),
    name: 'read-through-init',
    operands: ({ secretFile, secret }) => ['1', secretFile, secret],
    // The host's first process promises no more than the attempts on another show.
    promises: { advisory: null, scoped: null, sealed: 'stopped' },
  },
  {
    ...call('read-through-descriptor', 'read a file through a descriptor of a process of the host'),
    operands: descriptorOperands,
    promises: stoppedFromScoped,
  },
];

async function descriptorOperands(place: Surroundings): Promise<string[]> {
  const { pid, descriptor } = await place.victim();
  return [pid, descriptor, place.secret];
}

/** On the kernel, privileges, and other processes. */
export const kernelAttempts: readonly ProgramAttempt[] = [...calls, ...onProcesses].map(programAttempt);
