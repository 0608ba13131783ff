/** Makes a test of a session that was recorded, for `svc test --record`. */

import { realpathSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { stringify } from 'yaml';

import { packArchive } from '@svc/artifacts/store/archive-writer.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { makeDirectories } from '@svc/kit/files/make-directories.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { makeScratch, removeScratch, placeFolder } from '@svc/kit/files/scratch-folder.ts';
import { namesIfThere } from '@svc/kit/files/unless-refused.ts';
import { shortened } from '@svc/kit/diagnostics/printable.ts';
import { damaged } from '@svc/record/journal/journal-reader.ts';
import { exportLimits } from '@svc/record/sessions/export-limits.ts';
import type { Exported } from '@svc/record/sessions/without-texts.ts';
import type { WorkspaceOption } from '@svc/record/sessions/recorded-sessions.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { filesOf } from '../trace/export.ts';
import { withJournal } from '../../command/session-arguments.ts';
import { expectationHead } from './accept-changes.ts';
import { namedFolder } from './named-folders.ts';
import { openRecording, type WholeRecording } from './recorded-test.ts';
import { expectationFile, recordingFile, type TestFolder } from './test-folders.ts';

interface RecordRequest extends WorkspaceOption {
  /** The name of the test to be made. */
  readonly name: string;
  /** As everywhere; the newest when absent. */
  readonly session: string | undefined;
  /** Where tests lie, and what messages call it. */
  readonly directory: string;
  readonly shownDirectory: string;
  /** Takes the secrets of today out of a text. */
  readonly redact: (text: string) => string;
}

/** A test that was made. */
export interface MadeTest {
  readonly test: TestFolder;
  readonly session: string;
  readonly steps: number;
  readonly warnings: readonly Diagnostic[];
}

const nameShape = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/**
 * Makes the folder of a test as a whole or not at all: the session as an archive, and an `expect.yaml` that says how its tasks ended. Throws
 * `E-RUN-066` where there is a test of that name, whatever its case, `E-RUN-063` for a name that cannot be one, `E-RUN-078` for a session that was not
 * recorded to its end, `E-RUN-136` for one that took no step, `E-RUN-069` for one that holds a secret of today, and what opening a session throws.
 */
export async function recordTest(request: RecordRequest, context: CommandContext): Promise<MadeTest> {
  const { name, directory, shownDirectory, session: wanted } = request;
  const test = { name, path: join(directory, name), shown: join(shownDirectory, name), isUtf8: true };
  if (!nameShape.test(name)) throw unfitName(name);
  refuseExisting(test, directory);
  return await withRecorded(context, wanted, request, async (reader, session) => {
    const staging = stagingIn(directory, shownDirectory);
    try {
      const recording = join(staging, recordingFile);
      const { files, damage } = filesOf({ reader });
      if (damage !== null) throw damaged(damage);
      refuseSecrets(files, session, request.redact);
      await replaceFile(recording, packArchive(files, exportLimits), { mode: 0o644 });
      const whole = await openRecording(recording, session);
      const steps = whole.recording.historyEvents.filter(({ kind }) => kind === 'start').length;
      if (steps === 0) throw noStep(session);
      writeFileSync(join(staging, expectationFile), expectationOf(whole, request.redact));
      refuseExisting(test, directory);
      if (!(await placeFolder(staging, test.path))) throw isThere(test.shown);
      return { test, session, steps, warnings: warningsOf(whole, test, foldersOf(request, context)) };
    } catch (error) {
      throw ioFault(error, `cannot make the test ${test.shown}`);
    } finally {
      removeScratch(staging);
    }
  });
}

type Reader = Parameters<typeof filesOf>[0]['reader'];

async function withRecorded<Value>(
  context: CommandContext,
  wanted: string | undefined,
  options: WorkspaceOption,
  use: (reader: Reader, session: string) => Promise<Value>,
): Promise<Value> {
  try {
    return await withJournal(context, wanted, options, async ({ reader, session }) => await use(reader, session));
  } catch (error) {
    if (!(error instanceof Diagnostic) || !['E-RUN-070', 'E-RUN-071'].includes(error.code)) throw error;
    const hint =
      'a test is made of a session that kept a journal, which none does with trace.capture: none or on a disk that is full (W-RUN-063): svc run --capture content, then this command again';
    throw new Diagnostic(error.code, error.message, { hint, cause: error });
  }
}

function refuseExisting({ name, shown }: TestFolder, directory: string): void {
  const folded = name.toLowerCase();
  const names = namesIfThere(directory, `the tests in ${directory} cannot be listed`);
  if (names.some((each) => each.toLowerCase() === folded)) throw isThere(shown);
}

function isThere(shown: string): Diagnostic {
  return new Diagnostic('E-RUN-066', `there is a test ${shown} already`, {
    hint: `take another name, or remove it first: rm -r ${shown}`,
  });
}

/** A test is given to others: what the session did not know as a secret, and this project does, is in it as it was. */
function refuseSecrets(files: Exported['files'], session: string, redact: (text: string) => string): void {
  const isIn = files.some(({ data }) => {
    const text = data.toString('utf8');
    return redact(text) !== text;
  });
  if (!isIn) return;
  throw new Diagnostic('E-RUN-069', `the recording of ${session} holds a secret of this project in plain`, {
    hint: 'it was not known as one when that session ran: run it again, which records [secret] in its place, and record that',
  });
}

function noStep(session: string): Diagnostic {
  return new Diagnostic('E-RUN-136', `${session} took no step, so a test of it would pass whatever happens`, {
    hint: 'svc sessions lists others; svc test --record <name> --session <session> takes one of them',
  });
}

function unfitName(name: string): Diagnostic {
  return new Diagnostic('E-RUN-063', `${JSON.stringify(name)} cannot be the name of a test`, {
    hint: 'up to 100 letters, digits, dots, hyphens and underscores, the first a letter or a digit',
  });
}

function stagingIn(directory: string, shown: string): string {
  try {
    makeDirectories(directory);
    return makeScratch(directory, '.svc-record-');
  } catch (error) {
    throw ioFault(error, `cannot make a test in ${shown}`);
  }
}

const maxDescription = 100;
/** Nobody reads longer ones here: without tasks, what was recorded is expected. */
const maxResults = 32 * 1024;

function expectationOf({ recording }: WholeRecording, redact: (text: string) => string): string {
  const tasks = recording.historyEvents.flatMap((historyEvent) =>
    historyEvent.kind === 'arrived' && historyEvent.what === 'task' ? [historyEvent.task] : [],
  );
  const [line = ''] = redact(tasks[0]?.text ?? '')
    .trim()
    .split('\n');
  const description = shortened(line, maxDescription);
  const ends = tasks.flatMap(({ id }) => {
    const end = recording.ends.find((each) => each.id === id);
    return end === undefined ? [] : [{ state: end.state, ...(end.result == null ? {} : { result: end.result }) }];
  });
  const resultsLength = ends.reduce((sum, { result = '' }) => sum + result.length, 0);
  const told = resultsLength > maxResults ? {} : { tasks: ends };
  return `${expectationHead}${stringify({ description, ...told }, { lineWidth: 0 })}`;
}

/** What of this machine a recording should not name: the project, and the home folder. */
function foldersOf({ manifest }: WorkspaceOption, { cwd, home }: CommandContext): readonly string[] {
  const project = dirname(resolve(cwd, manifest));
  return [project, realpathSync(project), home].filter(
    (folder, index, all) => folder.length > 1 && all.indexOf(folder) === index,
  );
}

/** A warning where the recording names one of the folders. */
function warningsOf(whole: WholeRecording, { shown }: TestFolder, folders: readonly string[]): readonly Diagnostic[] {
  const named = namedFolder(whole, folders);
  if (named === null) return [];
  const { folder, step } = named;
  const where = step === 0 ? 'before its first step' : `in #${step}`;
  return [
    new Diagnostic('W-RUN-064', `the recording in ${shown} names ${folder}, a folder of this machine, first ${where}`, {
      hint: 'the test runs elsewhere all the same; everybody who gets it can read this path',
    }),
  ];
}
