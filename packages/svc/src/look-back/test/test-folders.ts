/** Finds the recorded tests of a project: folders that hold a recording and what is expected of it. */

import { readdirSync, statSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';

import { didYouMean } from '@svc/kit/diagnostics/closest-name.ts';
import { Diagnostic, DiagnosticList } from '@svc/kit/diagnostics/diagnostic.ts';
import { firstNames } from '@svc/kit/diagnostics/printable.ts';
import { isErrno } from '@svc/kit/diagnostics/system-reason.ts';
import { HeldDirectory, isObstacle } from '@svc/kit/files/held-directory.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { decodeStrictUtf8 } from '@svc/protocol/strict-utf8.ts';
import { type Expectation, readExpectation } from './expectation.ts';
import { openRecording, type WholeRecording } from './recorded-test.ts';

export const recordingFile = 'session.zip';
export const expectationFile = 'expect.yaml';

/** The folder of a test, which nobody has looked into yet. */
export interface TestFolder {
  readonly name: string;
  /** As it is named to the user. */
  readonly shown: string;
  readonly path: string;
  /** False where the bytes of its name are no UTF-8: then `name` spells them, and nothing is found by `path`. */
  readonly isUtf8: boolean;
}

/** A test that can be run. */
export interface ReadTest {
  readonly whole: WholeRecording;
  /** It is null without an `expect.yaml`: what was recorded is expected. */
  readonly text: string | null;
  readonly expectation: Expectation;
}

/** Limit for an `expect.yaml`, in bytes. */
export const largestExpectation: number = 256 * 1024;

/**
 * The tests in a folder by their names, all or those that are named. A folder with neither is not a test. Throws `E-RUN-062` where
 * there is no test, or not the one that is named, and `E-RUN-063` for names that differ in case alone.
 */
export function findTests(directory: string, shownDirectory: string, names: readonly string[]): readonly TestFolder[] {
  const tests = namesIn(directory, shownDirectory)
    .filter((raw) => isTest(directory, raw))
    .map((raw) => folderOf(raw, directory, shownDirectory))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  if (tests.length === 0) throw noTests(`there is no test in ${shownDirectory}`);
  const known = tests.map(({ name }) => name);
  checkCase(
    tests.filter(({ isUtf8 }) => isUtf8).map(({ name }) => name),
    shownDirectory,
  );
  for (const name of names) {
    if (known.includes(name)) continue;
    throw new Diagnostic('E-RUN-062', `there is no test ${name} in ${shownDirectory}`, {
      hint: didYouMean(name, known) ?? `there are ${firstNames(known, maxListed)}`,
    });
  }
  return names.length === 0 ? tests : tests.filter(({ name }) => names.includes(name));
}

const maxListed = 10;

const dot = 0x2e;

/** As bytes, since a name need not be text. */
function namesIn(directory: string, shown: string): readonly Buffer[] {
  try {
    return readdirSync(directory, { encoding: 'buffer' }).filter(([first]) => first !== dot);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) throw noTests(`there is no folder ${shown}`);
    if (isErrno(error, 'ENOTDIR')) throw noTests(`${shown} is not a folder`);
    throw ioFault(error, `the tests in ${shown} cannot be listed`);
  }
}

/** Follows links, so that a link is reported instead of skipped. */
function isTest(directory: string, raw: Buffer): boolean {
  return [recordingFile, expectationFile].some((file) =>
    isThere(Buffer.concat([Buffer.from(`${directory}${sep}`), raw, Buffer.from(`${sep}${file}`)])),
  );
}

function folderOf(raw: Buffer, directory: string, shownDirectory: string): TestFolder {
  const text = decodeStrictUtf8(raw);
  const name = text ?? spelled(raw);
  return { name, shown: join(shownDirectory, name), path: join(directory, name), isUtf8: text !== null };
}

/** Bytes as text in which each that is no printable ASCII stands as `\xff` does. */
function spelled(bytes: Buffer): string {
  return Array.from(bytes, (byte) =>
    byte > 0x20 && byte < 0x7f ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`,
  ).join('');
}

function isThere(path: Buffer): boolean {
  try {
    statSync(path);
    return true;
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return false;
    throw ioFault(error, `cannot look at ${path.toString('utf8')}`);
  }
}

/** Where disks ignore case, as in most checkouts on macOS and Windows, these would be one folder. */
function checkCase(names: readonly string[], shown: string): void {
  const met = new Map<string, string>();
  for (const name of names) {
    const folded = name.normalize('NFC').toLowerCase();
    const other = met.get(folded);
    if (other !== undefined) {
      throw new Diagnostic(
        'E-RUN-063',
        `the tests ${other} and ${name} in ${shown} have names that differ only in case`,
        {
          hint: 'rename one of them: on a disk that ignores case they are one folder',
        },
      );
    }
    met.set(folded, name);
  }
}

function noTests(message: string): Diagnostic {
  return new Diagnostic('E-RUN-062', message, {
    hint: 'record one: svc run, then svc test --record <name>',
  });
}

/**
 * Reads a test without following a link in it. Throws `E-RUN-063` for a link, for a name that is not UTF-8 and for a recording that is missing,
 * `E-RUN-065` for an `expect.yaml` that is not right, and what `openRecording` throws.
 */
export async function readTest({ path, shown, isUtf8 }: TestFolder): Promise<ReadTest> {
  if (!isUtf8)
    throw unfit(
      shown,
      'has a name that is not UTF-8',
      'rename it: a name is made of letters, digits, dots, hyphens and underscores',
    );
  const folder = holdFolder(path, shown);
  try {
    const text = textOf(folder, shown);
    const expectation = readExpectation(join(shown, expectationFile), text ?? '');
    const recording = join(shown, recordingFile);
    const kind = kindOf(folder, recordingFile);
    if (kind !== 'file') {
      const why = kind === 'absent' ? `holds no ${recordingFile}` : `has a ${recordingFile} that is a ${kind}`;
      throw unfit(shown, why, 'a test holds the archive that svc trace export makes; svc test --record makes both');
    }
    return { whole: await openRecording(folder.entry(recordingFile), recording), text, expectation };
  } finally {
    folder.close();
  }
}

function holdFolder(path: string, shown: string): HeldDirectory {
  const parent = HeldDirectory.at(resolve(path, '..'));
  try {
    return parent.enter(relative(resolve(path, '..'), path));
  } catch (error) {
    if (isObstacle(error)) throw unfit(shown, 'is a link', 'put the folder itself there: no link is followed');
    throw ioFault(error, `cannot open the test ${shown}`);
  } finally {
    parent.close();
  }
}

function kindOf(folder: HeldDirectory, name: string): 'file' | 'absent' | 'directory' | 'link' | 'other' {
  try {
    const child = folder.child(name);
    if (child.kind === 'directory') child.directory.close();
    return child.kind;
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return 'absent';
    throw ioFault(error, `cannot look at ${name}`);
  }
}

function textOf(folder: HeldDirectory, shown: string): string | null {
  const kind = kindOf(folder, expectationFile);
  if (kind === 'absent') return null;
  if (kind !== 'file') throw unfit(shown, `has an ${expectationFile} that is a ${kind}`, 'put the file itself there');
  const bytes = folder.readFile(expectationFile, largestExpectation);
  const text = bytes === null ? null : decodeStrictUtf8(bytes);
  if (text !== null) return text;
  const why = bytes === null ? 'is larger than 256 KiB' : 'is not UTF-8 text';
  throw new DiagnosticList([new Diagnostic('E-RUN-065', `${join(shown, expectationFile)} ${why}`)]);
}

/** `E-RUN-063` */
function unfit(shown: string, why: string, hint: string): Diagnostic {
  return new Diagnostic('E-RUN-063', `the test ${shown} ${why}`, { hint });
}
