/** The codes of tasks, and of the commands that talk to a running capsule. */

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
      'The message says why. "provider answered" and a number is what the provider of the model said: 401 it does not take the key, 403 the key may not do this, 404 there is no such model or address, 429 too many requests or a quota that is used up, 500 and more a failure of its own. "without an event stream" is a web page or a proxy that answers in its place, "cannot reach" a network or an address that does not work, "the connection broke" an answer that was cut off. inference.model, inference.endpoint and inference.api_key of svc.yaml say which model is asked, where and with which key. svc trace steps shows how far the task came. Clients of the capsule are told no more than that it failed.',
  },
  'E-RUN-054': {
    title: 'a question that nobody can answer',
    explanation:
      'A tool asked whoever gave the task, and the task came from svc -p, where nobody is there to answer. The task was ended at once instead of waiting until lifecycle.input_timeout_secs has passed. Put the answer into the task, or start the capsule with svc run and answer with a message.',
  },
  'E-RUN-055': {
    title: 'the time of --timeout is over',
    explanation:
      'The time counts from the start of svc -p. The task was canceled, and what it started has been ended. Its trace and journal are kept: svc trace steps shows how far it came.',
  },
  'E-RUN-056': {
    title: 'a task was canceled',
    explanation:
      'The task of svc -p did not come to its end: a signal or svc stop ended the capsule, or a client canceled the task. There is no answer.',
  },
  'E-RUN-080': {
    title: 'svc ended before its session did',
    explanation:
      'A second signal ended it at once, a stop took more than 18 seconds, or svc has a bug, which it then says too. The last lines of the trace and the journal may be missing.',
  },
  'E-RUN-081': {
    title: 'the tokens of a session are used up',
    explanation:
      'The next call of the model could pass --max-tokens, or inference.max_session_tokens of the manifest, whichever is lower: its input as estimated, and its answer at its longest (inference.max_tokens). It was not made, and the task failed.',
  },
  'E-RUN-082': {
    title: 'a component of a session broke off',
    explanation:
      'The driver or a hook is a WebAssembly component and trapped. The session went on, but cannot be relied on; status says trapped. The trace names the component.',
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
