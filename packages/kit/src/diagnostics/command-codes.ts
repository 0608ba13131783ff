/** The codes of commands that look at sessions, talk to them or show them. */

import type { CatalogueEntry } from './catalogue-entry.ts';

export const commandCodes = {
  'E-IO-004': {
    title: 'something else answers where a session is to listen',
    explanation:
      'svc watch and svc stop ask for the agent card of a session at the address it bound before they send anything else. The card belongs to another session, or nothing answered with one. Nothing was sent to it.',
  },
  'E-IO-005': {
    title: 'a capsule that is no session of this user asks for a token',
    explanation:
      'SVC_LISTENER_TOKEN goes by itself only to sessions of this user, at the very address they bound: any other program that listens at a host:port could keep it. --send-token sends it there all the same.',
  },
  'E-RUN-026': {
    title: 'no such running capsule',
    explanation: 'The session named is not running on this machine for this user, or the name fits several.',
  },
  'E-RUN-027': {
    title: 'a capsule did not stop in time',
    explanation:
      'The process did not end within 20 seconds of being asked to. It can be killed; its trace stays readable.',
  },
  'E-RUN-057': {
    title: 'a capsule does not serve what a command needs',
    explanation:
      'The agent card of the capsule lists the methods that it answers, and the one that the command calls is not among them: it runs under another version of svc. Nothing was asked of it. Of svc serve mcp: its manifest closes the door that is wanted (doors.serve), or its version has none.',
  },
  'E-RUN-090': {
    title: 'a length of time cannot be read',
    explanation:
      'Ages are a whole number and a unit without a blank between them: m for minutes, h for hours, d for days, w for weeks.',
  },
  'E-RUN-091': {
    title: 'a name fits several sessions',
    explanation:
      'The last characters that were given are those of more than one session; the message lists them. Nothing was done, and the exit code is 2. Give more characters, or the whole id.',
  },
  'E-RUN-092': {
    title: 'a capsule took no task',
    explanation:
      'The capsule answered with a task in the state rejected: it works on one and has no room for more (lifecycle.queue_depth), takes one task ever (task_acceptance: single), or is ending. Nothing was started.',
  },
  'E-RUN-093': {
    title: 'there is no question to answer',
    explanation:
      'svc answer sends its text only while a task of the capsule waits for input: at any other time it would start another task. Somebody else may have answered meanwhile, or the time to answer has passed (lifecycle.input_timeout_secs). Nothing was sent.',
  },
  'E-RUN-094': {
    title: 'a task waits for an answer',
    explanation:
      'svc send --wait waits for the end of the task, and the task has asked for input, which the command has none of. The task goes on waiting: svc answer gives it one, svc cancel ends it.',
  },
  'E-RUN-095': {
    title: 'no task was canceled',
    explanation:
      'The session has no such task, its name fits several, or it had come to its end already. Nothing was changed.',
  },
  'E-RUN-120': {
    title: 'the capsule for a chat did not start',
    explanation:
      'svc chat without a session starts svc run, and waits up to three minutes for the line with which that says where it listens. Start the capsule with svc run, which shows what it does, and join it: svc chat <session>.',
  },
  'E-RUN-121': {
    title: 'a chat needs a terminal',
    explanation:
      'svc chat reads keys and draws while a model answers, so that standard input and standard output have to be a terminal. Scripts ask with svc -p, or with svc send --wait of a capsule that runs.',
  },
  'E-RUN-125': {
    title: 'a step has no log',
    explanation:
      'Commands have logs of what they wrote beyond the 16 KiB that their result holds, and so have answers of MCP servers of more than 64 KiB. What was shorter is whole in the result of the step, which svc trace show has.',
  },
  'E-RUN-126': {
    title: 'svc prune needs --yes where nobody can answer',
    explanation:
      'svc prune asks before it removes something, and standard input is no terminal on which somebody could answer. Nothing was removed. Look at what --dry-run lists, then give --yes.',
  },
  'E-RUN-129': {
    title: 'svc prune does not know which artifacts are needed',
    explanation:
      'svc prune --artifacts removes what no svc.lock names, so it needs one: that of the project, or with -g those of the projects in ~/.svc/projects.json, where svc install, add and update record them, and svc run one that uses the store of the user. Without any, everything would look as if nobody needed it. Nothing was removed.',
  },
  'E-RUN-140': {
    title: 'somebody has guessed at the token of a page',
    explanation:
      'svc view takes requests of its page by a token of 256 bits, which stands in the address that it prints. Five others were shown to it, all different, so its server has ended: some program of this machine, perhaps of another user, has tried to guess it. Run svc view again, which makes a new token.',
  },
  'E-RUN-141': {
    title: 'the port for a page cannot be had',
    explanation:
      'svc view listens on a port of 127.0.0.1 until Ctrl+C. Another program has the one that --port names, or the system does not give it to this user. Without --port the system chooses a free one.',
  },
  'E-RUN-170': {
    title: 'svc was replaced or removed while it ran',
    explanation:
      'svc reads parts of itself when they are first needed. A package manager or a build put another version in the place of the one that was running, or removed it, and svc could not read the next part. Run the command again. A capsule that was running has ended: start it again, its trace and journal are kept. To upgrade without that, end the capsules that svc ps lists first.',
  },
  'W-RUN-127': {
    title: 'the cache stays while sessions run',
    explanation:
      'Processes that the components of a session run in read from ~/.svc/cache when they are started, so svc prune --caches removes nothing of it while a session of this user runs. Everything else was looked at as ever.',
  },
  'W-RUN-128': {
    title: 'the history of what was typed is not kept, or only in part',
    explanation:
      'svc chat keeps the last 1,000 texts that were typed in ~/.svc/history, one string of JSON a line, for this user alone. The file, or ~/.svc, is of another user, is no file or no directory, cannot be read or written, has lines that are no such strings, or is longer than 4 MiB. A link is never followed. The chat goes on; the message says what is missing. Mend or remove the file, or start the chat with --no-history.',
  },
  'W-RUN-142': {
    title: 'no browser was started',
    explanation:
      'svc view --open starts xdg-open, or open on macOS, with a file that leads on to the page. It is not installed, or found no browser. The page is served all the same: open the address that svc view printed.',
  },
  'E-RUN-200': {
    title: 'a session cannot be gone on with',
    explanation:
      'svc --continue and svc chat <session> take the conversation of an ended session out of its journal. The message says what is missing there: its texts were not kept (trace.capture: meta, or a journal that was full), a text is damaged, it is the session of another capsule, or its published capsule is in no store and no registry any more. The session itself stays as it is.',
  },
  'E-RUN-201': {
    title: 'the folder of a session is not there any more',
    explanation:
      'A session that is gone on with works in the folder of the one before. That folder was moved or removed, or something else stands in its place. Move it back, or begin anew in the folder that there is: what was said and done is still in svc trace show.',
  },
  'E-RUN-202': {
    title: 'the last session still runs',
    explanation:
      'svc -p --continue starts another session with the conversation of the last one of the folder. That one has not ended: send it the message with svc send --wait, or join it with svc --continue on a terminal.',
  },
  'E-RUN-203': {
    title: 'a published capsule has other bytes than those that the session ran',
    explanation:
      "The journal of a session of svc run --capsule has the hash of the archive. svc --continue and svc chat <session> go on with those bytes alone: a version that was replaced in a store or a registry may be somebody else's capsule. Find out who replaced it, or begin anew with svc run --capsule.",
  },
  'E-RUN-206': {
    title: 'a command that a person typed in a chat cannot be run',
    explanation:
      'A line that begins with ! is a command for the shell of the capsule, held to what the capsule is granted. It needs a shell in capabilities.shell.allow, such as sh; and a capsule of this user that svc chat has started, or that has approvals: only such a one has a key by which it knows the person from all other clients. With !! it needs a conversation too (lifecycle.conversation: threaded). A message that begins with ! is sent with /say.',
  },
} as const satisfies Record<string, CatalogueEntry>;
