/** The codes of journals and of svc trace. */

import type { CatalogueEntry } from './catalogue-entry.ts';

/** Codes of what writes a journal and of what reads one; a part of the catalogue. */
export const journalCodes = {
  'E-IO-006': {
    title: 'the journal cannot be written',
    explanation:
      'A session never goes on with a journal that lacks something. The disk is full, read-only or failing; the message gives the reason.',
  },
  'E-RUN-070': {
    title: 'no such recorded session',
    explanation:
      'The sessions of a workspace are recorded in .svc/sessions beside its manifest. The one that was named is not there, was removed, or several end with those characters. svc trace list lists them.',
  },
  'E-RUN-071': {
    title: 'a session has no journal',
    explanation:
      'svc trace reads the journal of a session. One that ran with trace.capture: none has none, nor has one that found the disk full when it began (W-RUN-063) or one of an older svc, and trace.keep removes old ones. Its trace.jsonl says which calls were made and how they ended.',
  },
  'E-RUN-072': {
    title: 'the folder of a session holds what svc did not put there',
    explanation:
      'A session folder and its journal belong to the user who ran the session, and hold no links. What is a link, or belongs to another user, could be anything: it is not read, and nothing is removed through it.',
  },
  'E-RUN-073': {
    title: 'a journal is damaged',
    explanation:
      'Each line of a journal has a number and a chain over the line before. The message names the first record and byte that do not fit: the file was changed or cut, or was written by another version of svc. svc trace steps shows what is before that place.',
  },
  'E-RUN-068': {
    title: 'a session is too large to be exported',
    explanation:
      'svc trace import and svc test take archives of up to 500 MiB in up to 16384 files, since they may come from a stranger, and svc trace export and svc test --record write no larger ones. --redact leaves the texts out. All of svc trace but import takes the path of a session folder as well as an archive, such as that of a copy.',
  },
  'E-RUN-069': {
    title: 'a recording holds a secret',
    explanation:
      'A test lies in a repository and is read by many. The recorded session has in it the key of the provider, the listener token, or the value of a variable that the capsule is granted and whose name contains KEY, TOKEN, SECRET or PASSWORD: it ran before that was so, or with another environment. A session that runs now records [secret] in its place.',
  },
  'E-RUN-078': {
    title: 'a session cannot be run again',
    explanation:
      'svc run --replay needs every text of a session, which trace.capture: content or --capture content records. A journal of meta has hashes alone, and one of a session that was killed within its first moments does not say what it began with. One that somebody made up is refused where it holds what no session has met, and any where its texts hold more than 8388608 JSON values.',
  },
  'E-RUN-079': {
    title: 'a replay differs from its recording',
    explanation:
      'Run again over its journal, the session did something else than it did then, or the journal lacks what it answered. The message names the first place where the two differ. Another version of svc, or a changed recording, is the cause; svc trace show shows the step as it was.',
  },
  'E-RUN-062': {
    title: 'there is no such test',
    explanation:
      'svc test runs the recorded sessions below tests/ beside the manifest, or below the folder that is given: each is a folder with a session.zip and, where something else than what was recorded is expected, an expect.yaml. None was found there, or none of the name that was given. A run without a single test is an error, so that a wrong path does not pass. svc test --record <name> makes one.',
  },
  'E-RUN-063': {
    title: 'a test folder is not as it has to be',
    explanation:
      'A test is a folder of its own, no link, with the archive session.zip in it, and no other test has a name that differs only in case. Its name is made of letters, digits, dots, hyphens and underscores. The message says what is wrong.',
  },
  'E-RUN-065': {
    title: 'an expect.yaml is invalid',
    explanation:
      'The file says what is expected of a recorded session (docs/testing.md). A key that it does not know would be an expectation that nobody holds the session to, so it refuses the test. The message names the place, and the key that was probably meant.',
  },
  'E-RUN-066': {
    title: 'a test is there already',
    explanation:
      'svc test --record never replaces a test. Take another name, or remove the folder of the old one first; with git, a look at git diff then shows what has changed.',
  },
  'E-RUN-136': {
    title: 'a session without a step is no test',
    explanation:
      'A test runs a session again over what was answered to its steps: calls of the model, of tools and of commands. That session took none, as one that was stopped before its first task; the test would pass whatever the project does. Record one that did something.',
  },
  'W-RUN-064': {
    title: 'a recorded test names folders of this machine',
    explanation:
      'Somewhere in the recorded session stands the path of its project or of your home folder, mostly because a command printed it. The test runs the same elsewhere, because it compares recorded texts with recorded texts. Everybody who gets the test can read the path.',
  },
  'W-RUN-061': {
    title: 'a journal is full',
    explanation:
      'The journal of the session has reached trace.max_bytes. From there on it keeps hashes and sizes of texts and not the texts: two sessions can still be compared, but this one cannot be run again beyond that point.',
  },
  'W-RUN-062': {
    title: 'the workspace lets a journal keep less than was asked for',
    explanation:
      'trace.capture of .svc/config.yaml is the most that a session of this workspace keeps of itself, whatever --capture or trace.capture of the manifest say. The session runs and keeps that.',
  },
  'W-RUN-063': {
    title: 'a session goes on without its journal',
    explanation:
      'The journal cannot be written, and neither --capture nor trace.capture of the manifest asked for one: it is kept by default. The session does its work, and its trace is written as ever; svc trace shows of the journal what there is. A session that was asked to record itself ends instead (E-IO-006).',
  },
  'E-RUN-074': {
    title: 'a file is not an exported session',
    explanation:
      'An export is a zip archive that holds journal.jsonl and the long texts of the session, each in bodies/ under its hash, and nothing else. The message says what was found instead.',
  },
  'E-RUN-075': {
    title: 'a session has no such step or block of code',
    explanation:
      'Steps have the numbers from 1 on in which svc trace steps lists them. Blocks of code are counted from the last one back, which is 1.',
  },
  'E-RUN-076': {
    title: 'an imported session is there already',
    explanation:
      'A session of the same id is recorded in this workspace, and an import replaces nothing. Remove that one first with svc trace rm, or import into another workspace.',
  },
  'E-RUN-077': {
    title: 'a session that runs is not removed',
    explanation: 'Its record is being written. Stop the session with svc stop, then remove it.',
  },
  'W-RUN-173': {
    title: 'lines of a trace are left out',
    explanation:
      'A line of trace.jsonl of more than 16 MiB, or of more than 300,000 values, is passed over and what stands behind it is read, so that no list takes more memory than that. Behind 100,000 lines of fewer than 64 bytes on average, which svc never writes, nothing is read; they count as one. What only that line says is missing: a task, tokens, or how the session ended. Of a task whose text alone makes its line so long, the beginning is shown, and nothing is missing. svc trace export --otlp sends nothing of such a line, nor of one that is no event which this version of svc knows; svc run --replay compares no more of it than what kind of event it is.',
  },
  'W-RUN-072': {
    title: 'a journal may have been written by others',
    explanation:
      'The commands of the session ran as the user who runs svc, with less than scoped containment, so that they could write to the journal. It is shown as it is.',
  },
  'E-RUN-067': {
    title: 'the components of a session cannot be run again',
    explanation:
      'svc run --replay --components runs drivers, tools and hooks that are components again, with the answers that their imports got when the session was recorded, and reaches nothing itself. The journal of this session has no such answers: trace.components was not true, or no component was called. Without --components the session can be replayed all the same.',
  },
  'W-RUN-066': {
    title: 'calls of components were served and not run again',
    explanation:
      'What a component was answered during one call is kept up to 2 MiB and up to trace.max_body, and of a whole session up to a quarter of trace.max_bytes; of a call that was cut off, and of one in which a secret lay across the pieces of a stream, nothing is kept. Such a call has its recorded result, and so do all later ones of the same instance: what that had in memory is not known.',
  },
} as const satisfies Record<string, CatalogueEntry>;
