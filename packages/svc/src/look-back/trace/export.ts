/** The command `svc trace export`: packs a session into one archive. */

import { dirname, resolve } from 'node:path';
import { Command, Option } from 'commander';

import { packArchive, type PackedFile } from '@svc/artifacts/store/archive-writer.ts';
import { replaceFile } from '@svc/kit/files/replace-file.ts';
import { removeLeftovers } from '@svc/kit/files/scratch-folder.ts';
import { temporaryPrefix } from '@svc/kit/files/temporary-name.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { isSessionId } from '@svc/protocol/ids.ts';
import { damaged, type JournalReader } from '@svc/record/journal/journal-reader.ts';
import { bodiesDirectory, journalFile } from '@svc/record/journal/journal-writer.ts';
import type { OpenJournal, WorkspaceOption } from '@svc/record/sessions/recorded-sessions.ts';
import { thisUser } from '@svc/record/sessions/recorded-process.ts';
import { exportLimits, ExportSize } from '@svc/record/sessions/export-limits.ts';
import { type Exported, withoutTexts } from '@svc/record/sessions/without-texts.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { exactLine, jsonLine } from '@svc/terminal/screen/shown.ts';
import { manifestFlag, manifestHelp, sessionHelp, withJournal } from '../../command/session-arguments.ts';

interface ExportOptions extends WorkspaceOption {
  readonly output?: string;
  readonly otlp?: boolean;
  readonly redact?: boolean;
  readonly json?: boolean;
}

/** `svc trace export <session> -o <file.zip>`: the journal as far as it holds, with the texts in use; `E-RUN-073` after that where it is damaged. */
export function exportCommand(context: CommandContext): Command {
  return new Command('export')
    .description('Pack a session into one archive, to be kept or given away; or send its trace to a collector.')
    .argument('[session]', sessionHelp)
    .addOption(
      new Option('-o, --output <file.zip>', 'where the archive goes; one that is there is replaced').conflicts('otlp'),
    )
    .option('--redact', 'leave out all texts: hashes, sizes, names and times remain')
    .addOption(
      new Option('--otlp', 'send its spans and logs to OTEL_EXPORTER_OTLP_ENDPOINT instead').conflicts('redact'),
    )
    .option(manifestFlag, manifestHelp, './svc.yaml')
    .option('--json', 'write one JSON object')
    .action(async (wanted: string | undefined, options: ExportOptions, command: Command) => {
      if (options.otlp === true) {
        const { sendTrace } = await import('./send-trace.ts');
        return await sendTrace(context, wanted, options);
      }
      const { output } = options;
      if (output === undefined) return command.error("error: required option '-o, --output <file.zip>' not specified");
      await withJournal(context, wanted, options, async (journal) => {
        const { session } = journal;
        if (!isSessionId(session)) throw damaged({ record: 0, byte: 0, why: 'names no session' });
        const { files, damage } = options.redact === true ? withoutTexts(journal.reader) : filesOf(journal);
        const path = resolve(context.cwd, output);
        const archive = packArchive(files, exportLimits);
        removeLeftovers(dirname(path), temporaryPrefix, { now: systemClock.now(), owner: thisUser() });
        await replaceFile(path, archive, { mode: 0o600 });
        context.stdout.write(
          options.json === true
            ? jsonLine({ path, session, is_redacted: options.redact === true, damage })
            : exactLine`${path}\n`,
        );
        if (damage !== null) throw damaged(damage);
      });
    });
}

/**
 * What an export with texts holds: what stands before the first record that is damaged, or names a text that is. `E-RUN-068` for more than
 * an import takes, before any text is read.
 */
export function filesOf({ reader }: Pick<OpenJournal, 'reader'>): Exported {
  checkSize(reader);
  // All kinds: an import holds every record to its shape.
  const scan = reader.scan();
  const files: PackedFile[] = [];
  const packed = new Set<string>();
  for (const { record, byte } of scan.records()) {
    if (record.k !== 'body' || record.file === undefined || packed.has(record.sha256)) continue;
    packed.add(record.sha256);
    const body = reader.body(record.sha256);
    if (body.kind === 'text') {
      files.push({ name: `${bodiesDirectory}/${record.sha256}`, data: Buffer.from(body.text) });
      continue;
    }
    const why = `names a text that is not there: ${body.kind === 'damaged' ? body.why : body.kind}`;
    return { files: [journalUpTo(reader, byte), ...files], damage: { record: record.n, byte, why } };
  }
  return { files: [journalUpTo(reader, scan.end), ...files], damage: scan.damage };
}

function checkSize(reader: JournalReader): void {
  const size = new ExportSize();
  const counted = new Set<string>();
  const scan = reader.scan(['body']);
  for (const { record } of scan.records()) {
    if (record.file === undefined || counted.has(record.sha256)) continue;
    counted.add(record.sha256);
    size.add(record.bytes);
  }
  size.add(scan.end);
}

function journalUpTo(reader: JournalReader, end: number): PackedFile {
  return { name: journalFile, data: reader.bytesUpTo(end) };
}
