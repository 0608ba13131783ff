/** The codes of approvals: their rules, and the answers to what they ask. */

import type { CatalogueEntry } from './catalogue-entry.ts';

export const approvalCodes = {
  'E-APR-001': {
    title: 'a rule of approvals is wrong',
    explanation:
      'approvals of the manifest says which calls run, which a person is asked about and which are refused (docs/boundary.md). One of its keys is misspelt, names something that the capsule does not have, allows more than anybody could mean, or asks for what this version of svc cannot decide. A capsule is never started with less than its rules.',
  },
  'E-APR-002': {
    title: 'a person is to be asked, and the programs of the capsule could answer',
    explanation:
      'A rule of approvals asks, and the capsule runs programs that are held by nothing here, or starts capsules that may: they read the files of the user, the key for answers among them. Run it where programs are held at least by scoped, or set approvals to deny in place of ask.',
  },
  'E-APR-003': {
    title: 'no approval was answered',
    explanation:
      'No call of this user waits for an approval, or none or several that the name fits; or the call was answered, canceled or too late meanwhile; or there is no terminal to ask on, and neither --allow nor --deny is given. svc approve --list shows what waits.',
  },
  'E-APR-004': {
    title: 'programs that commands start cannot be judged here',
    explanation:
      'A rule of approvals asks about a command or denies it. svc stops each program that a command of the capsule starts, before its first instruction, and decides about it too. That takes the class scoped or sealed, and a kernel that lets a process trace its own children: with 2 or 3 in /proc/sys/kernel/yama/ptrace_scope it does not. A capsule is never started with less than its rules.',
  },
  'W-APR-001': {
    title: 'a program that starts others is allowed with any arguments',
    explanation:
      'Programs such as env, find, git or make start other programs that their arguments name. A rule that allows them with any arguments allows those too. Allow whole lines, word for word.',
  },
  'W-APR-002': {
    title: 'commands are held by their words alone',
    explanation:
      'A rule asks about a command or denies it, and everything that no rule names is allowed. Such a rule holds for programs that commands start too. It stops a mistake, not an opponent: the same can be done by a program of its own, by a copy or a link under another name, or with an option before the word. A rule with request holds more, since it decides where something leaves this machine; so does approvals.default: ask with rules that allow whole lines.',
  },
  'W-APR-003': {
    title: 'a call was denied because nobody can be asked',
    explanation:
      'A rule of approvals asks a person, and nobody is there who could see the question or answer it: no terminal, no editor, no door token with the scope answer, and no notify in the manifest. svc denies such calls at once and says so for the first of a session; the trace has all of them (docs/boundary.md).',
  },
  'W-APR-004': {
    title: 'svc refused something that somebody should look at',
    explanation:
      'The capsule asked for an address at which clouds give keys to any program, or showed a key where none belongs, or was refused ten things within a minute. svc refused it: nothing of it happened. Each of these is said once a minute at most; the trace has the refusals, with what asked for them (docs/boundary.md).',
  },
  'W-APR-005': {
    title: 'a notification did not arrive',
    explanation:
      'notify of the manifest names the address, and it did not take a notification: it could not be reached in ten seconds, gave another answer than 2xx, or redirects. Or notify.command of ~/.svc/config.yaml names a program that cannot be run, lies where the capsule writes, did not end in ten seconds, or ended with another code than 0. svc tries five more times, then goes on with the next one, and no task waits for that. This is said once until one arrives (docs/boundary.md). A question that is open already waits on, also where nobody counts as there from now on: svc approve answers it.',
  },
  'W-APR-006': {
    title: 'calls that were approved for every session will be asked about again',
    explanation:
      'A call that a person approved for every session counts for the approvals, capabilities and artifacts that svc.yaml had then, and for the very bytes of these artifacts. One of them has changed since, so svc has dropped all of these approvals, and asks again.',
  },
  'W-APR-007': {
    title: 'calls that were approved for every session do not count',
    explanation:
      'They lie in ~/.svc/approvals, in a file that only this user may own, read and write. That file is a link, or others could have written it, or it is not what svc wrote, or it could not be written. svc asks about every call as if nothing had been approved. svc approve --forget all removes what was approved so far.',
  },
  'W-APR-008': {
    title: 'a task waits for a person, and nobody is at the terminal',
    explanation:
      'A rule of approvals asks a person about a call. svc was started without a terminal, in a service or a pipe, so its log says what waits. svc approve answers, and svc approve --list shows what waits; so do the page of svc view and a client with a door token. When the time of the question is over, the call is denied.',
  },
  'W-APR-009': {
    title: 'a rule of approvals may not name the program that is meant',
    explanation:
      'A rule asks about a command or denies it, and its first word is almost the name of a program in capabilities.shell.allow, but not quite. A shell of the capsule could start a program of that very name, so svc takes the rule as it is. If it is a slip, calls of the program that is meant are not held by this rule.',
  },
} as const satisfies Record<string, CatalogueEntry>;
