/** Takes secrets out of the log of what imports answered a component, before the journal keeps that log. */

import { type ImportLogEntry, type LoggedValue, parseImportLog } from '@svc/components/import-log.ts';
import { isJsonObject } from '@svc/protocol/json-object.ts';
import { redactedTexts } from '@svc/record/trace/file-trace.ts';

/**
 * The log without the secrets that `redact` knows. Returns null for one that is not kept: it is longer than `maxBytes`, is no log, or a secret in it
 * is a number or lies across the pieces in which a component reads or writes, where taking it out would change more than itself.
 */
export function keptLog(log: string, redact: (text: string) => string, maxBytes: number): string | null {
  if (log.length > maxBytes) return null;
  const entries = parseImportLog(log);
  if (entries === null || streamsOf(entries).some((pieces) => liesAcross(pieces, redact))) return null;
  if (redact(log) === log) return log;
  const kept = JSON.stringify(redactedTexts(entries, redact));
  return kept.length <= maxBytes && redact(kept) === kept ? kept : null;
}

function liesAcross(pieces: readonly Piece[], redact: (text: string) => string): boolean {
  if (pieces.some(({ text, isText }) => !isText && redact(text) !== text)) return true;
  if (pieces.length < 2) return false;
  const joined = redact(pieces.map(({ text }) => text).join(''));
  return joined !== pieces.map(({ text }) => redact(text)).join('');
}

interface Piece {
  readonly text: string;
  /** False for bytes that are no text as a whole. */
  readonly isText: boolean;
}

/** The texts that each import took from a component, and those that it gave, for each thing that it has a handle of. */
function streamsOf(entries: readonly ImportLogEntry[]): readonly (readonly Piece[])[] {
  const streams = new Map<string, Piece[]>();
  const add = (key: string, value: LoggedValue): void => {
    const found = streams.get(key) ?? [];
    streams.set(key, found);
    collect(value, found);
  };
  for (const [name, args, outcome] of entries) {
    const of = name.replace(/\..*/, '') + JSON.stringify(handleOf(args[0]));
    for (const arg of args) add(`taken ${of}`, arg);
    if ('ok' in outcome) add(`given ${of}`, outcome.ok);
    else if ('err' in outcome) add(`given ${of}`, outcome.err);
  }
  return [...streams.values()];
}

function handleOf(value: LoggedValue | undefined): LoggedValue {
  return (isJsonObject(value) ? value['$r'] : null) ?? null;
}

function collect(value: LoggedValue, pieces: Piece[]): void {
  if (typeof value === 'string') pieces.push({ text: value, isText: true });
  else if (Array.isArray(value)) for (const each of value as readonly LoggedValue[]) collect(each, pieces);
  else if (isJsonObject(value)) collectObject(value, pieces);
}

function collectObject(value: Readonly<Record<string, LoggedValue>>, pieces: Piece[]): void {
  const { $t: text, $b: bytes, $r: handle, $n: number } = value;
  if (handle !== undefined || number !== undefined) return;
  if (typeof text === 'string') pieces.push({ text, isText: true });
  else if (typeof bytes === 'string')
    pieces.push({ text: Buffer.from(bytes, 'base64').toString('utf8'), isText: false });
  else for (const each of Object.values(value)) collect(each, pieces);
}
