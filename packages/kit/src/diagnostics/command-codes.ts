/** The codes of the commands of svc. */

import type { CatalogueEntry } from './catalogue-entry.ts';

/** Codes of what `svc run` says of its tasks, and of the commands that talk to a running capsule; a part of the catalogue. */
export const commandCodes = {
  'E-IO-004': {
    title: 'something else answers where a session is to listen',
    explanation:
      'svc watch and svc stop ask for the agent card of a session at the address it bound before they send anything else. The card is of another session, or there is none. Nothing was sent to it.',
  },
  'E-IO-005': {
    title: 'a capsule that is no session of this user asks for a token',
    explanation:
      'SVC_LISTENER_TOKEN goes by itself only to sessions of this user, at the very address they bound: any other program that listens at a host:port could keep it. --send-token sends it there all the same.',
  },
  'E-RUN-059': {
    title: 'a task failed',
    explanation:
      'The message is the true reason, in the words that task_end of the trace has. The status frame says only what clients are to know.',
  },
  'E-RUN-060': {
    title: 'the task cannot be read from standard input',
    explanation:
      'With --task -, all of standard input is the task: UTF-8 text of at most 10 MiB. It was longer, was no text, could not be read, or svc run was stopped before its end. Nothing has been run.',
  },
  'E-RUN-061': {
    title: 'no more files can be opened',
    explanation:
      'svc met the limit of open files, its own or that of the whole machine, where it cannot go on without one. Raise it (ulimit -n); a session needs 64 and more with each component, command and connection.',
  },
  'W-RUN-059': {
    title: 'programs run with less than scoped containment',
    explanation:
      'Shell commands, native tools and a driver that is a process get the strongest class that the host offers, and this one offers no more than advisory: they read and write what the user who runs svc can. The message has the reason. svc doctor says what the host offers; --containment scoped refuses to run without.',
  },
} as const satisfies Record<string, CatalogueEntry>;
