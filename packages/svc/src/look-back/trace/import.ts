/** The command `svc trace import`: takes in a session that was exported. */

import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Command } from 'commander';

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { HeldDirectory } from '@svc/kit/files/held-directory.ts';
import { ioFault } from '@svc/kit/files/io-fault.ts';
import { makeDirectories } from '@svc/kit/files/make-directories.ts';
import { makeScratch, removeScratch, placeFolder } from '@svc/kit/files/scratch-folder.ts';
import { isSessionId } from '@svc/protocol/ids.ts';
import { damaged, JournalReader } from '@svc/record/journal/journal-reader.ts';
import { bodiesDirectory } from '@svc/record/journal/journal-writer.ts';
import { workspaceSessions, type WorkspaceOption } from '@svc/record/sessions/recorded-sessions.ts';
import { thisUser } from '@svc/record/sessions/recorded-process.ts';
import { noExport, unpackExport } from '@svc/record/sessions/unpack-export.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { manifestFlag, manifestHelp } from '../../command/session-arguments.ts';

/** `svc trace import <file.zip>`: whole, checked to the last record, and never in the place of another. */
export function importCommand(context: CommandContext): Command {
  return new Command('import')
    .description('Take an exported session into this workspace.')
    .argument('<file.zip>', 'what svc trace export made')
    .option(manifestFlag, manifestHelp, './svc.yaml')
    .option('--json', 'write one JSON object')
    .action(async (file: string, options: WorkspaceOption & { readonly json?: boolean }) => {
      const folder = workspaceSessions(context, options);
      const path = resolve(context.cwd, file);
      const session = await takeIn(path, folder);
      context.stdout.write(
        options.json === true ? jsonLine({ session, path: join(folder, session) }) : say`${session}\n`,
      );
    });
}

/** Uses another name first, which no list shows. */
async function takeIn(path: string, folder: string): Promise<string> {
  const staging = stagingIn(folder);
  try {
    await unpackExport(path, staging);
    const session = checkedSession(path, staging);
    const target = join(folder, session);
    if (existsSync(target)) throw isThere(session);
    const isPlaced = await placeFolder(staging, target).catch((error: unknown) => {
      throw ioFault(error, `cannot import into ${folder}`);
    });
    if (!isPlaced) throw isThere(session);
    return session;
  } finally {
    removeScratch(staging);
  }
}

function stagingIn(folder: string): string {
  try {
    makeDirectories(folder);
    return makeScratch(folder, '.svc-import-');
  } catch (error) {
    throw ioFault(error, `cannot import into ${folder}`);
  }
}

/** The id of the session, once every record holds and every long text is there that is named, and no other. */
function checkedSession(path: string, staging: string): string {
  const directory = HeldDirectory.at(staging);
  try {
    const reader = JournalReader.open(directory, thisUser());
    if (reader === null) throw noExport(path, 'it holds no journal');
    try {
      const { session, found } = sessionOf(path, reader);
      const other = readdirSync(join(staging, bodiesDirectory)).find((name) => !found.has(name));
      if (other !== undefined) throw noExport(path, `its journal does not name the text ${other}`);
      return session;
    } finally {
      reader.close();
    }
  } finally {
    directory.close();
  }
}

function sessionOf(
  path: string,
  reader: JournalReader,
): { readonly session: string; readonly found: ReadonlySet<string> } {
  const scan = reader.scan();
  let session: string | null = null;
  const found = new Set<string>();
  for (const { record } of scan.records()) {
    if (record.k === 'open') session ??= record.session;
    else if (record.k === 'body' && record.file !== undefined && !found.has(record.sha256)) {
      if (reader.body(record.sha256).kind !== 'text') throw noExport(path, `it lacks the text ${record.sha256}`);
      found.add(record.sha256);
    }
  }
  if (scan.damage !== null) throw damaged(scan.damage);
  if (scan.end !== reader.size) throw noExport(path, 'its journal ends within a line');
  if (session === null || !isSessionId(session)) throw noExport(path, 'its journal names no session');
  return { session, found };
}

function isThere(session: string): Diagnostic {
  return new Diagnostic('E-RUN-076', `the session ${session} is recorded in this workspace already`, {
    hint: `remove it with svc trace rm ${session}, or import into another workspace`,
  });
}
