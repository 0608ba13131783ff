/** What a command can do although a reader of its grants might think otherwise, by class. */

import type { Grants, SandboxClass } from './requests.ts';

/** One such thing. */
export interface Unstopped {
  /** A whole sentence for a person. */
  readonly text: string;
  /** The attempts of `sandbox-check` that succeed; none where no attempt of one process can show it. */
  readonly shownBy: readonly string[];
  readonly classes: readonly SandboxClass[];
  /** When the grants make it matter; always, when absent. */
  readonly when?: (grants: Grants) => boolean;
}

const all: readonly SandboxClass[] = ['advisory', 'scoped', 'sealed'];
const belowSealed: readonly SandboxClass[] = ['advisory', 'scoped'];

export const unstopped: readonly Unstopped[] = [
  {
    text: 'Files are not protected: the command can read, change and remove every file of its user, and run every program.',
    shownBy: ['read-outside', 'write-outside', 'remove-outside', 'run-unlisted', 'run-copy'],
    classes: ['advisory'],
  },
  {
    text: 'It can signal other processes of its user, and read their environment.',
    shownBy: ['signal', 'read-environment'],
    classes: ['advisory'],
  },
  {
    text: 'It can see that files outside its grants exist, and change their mode and times where its user may; not their content.',
    shownBy: ['stat-outside', 'watch-outside', 'chmod-outside', 'utimes-outside'],
    classes: ['scoped'],
  },
  {
    text: 'It can have the loader of the system run a copy of a program that it wrote.',
    shownBy: ['load-copy', 'map-library'],
    classes: belowSealed,
  },
  {
    text: 'It can slow down other processes of its user.',
    shownBy: ['slow-down'],
    classes: belowSealed,
  },
  {
    text: 'What it starts and detaches can go on running after it.',
    shownBy: ['daemon'],
    classes: belowSealed,
  },
  {
    text: 'Services of this machine that listen on a UNIX socket with a path can be reached, a container engine among them.',
    shownBy: ['unix-path-when-granted'],
    classes: belowSealed,
    when: ({ unixSockets }) => unixSockets === true,
  },
  {
    text: 'An interpreter that it may run runs any code, and code that was never a file can run.',
    shownBy: ['interpret', 'run-memory'],
    classes: all,
  },
  {
    text: 'Programs that it writes can run.',
    shownBy: ['run-copy-where-granted'],
    classes: all,
    when: ({ runWritten }) => runWritten === true,
  },
  {
    text: 'What it can read it can send to every destination that was granted, and a name may lead to the local network.',
    shownBy: ['listed-host-by-proxy'],
    classes: ['sealed'],
    when: ({ network = [] }) => network.length > 0,
  },
  {
    text: 'Shared memory does not count as memory of a process, and processor time is counted for each process alone.',
    shownBy: ['shared-memory'],
    classes: all,
  },
  { text: 'A bug of the kernel can undo all of this.', shownBy: [], classes: all },
];

/** The sentences that apply to a command. */
export function notStopped(wanted: SandboxClass, grants: Grants): readonly string[] {
  return unstopped
    .filter(({ classes, when }) => classes.includes(wanted) && (when?.(grants) ?? true))
    .map(({ text }) => text);
}
