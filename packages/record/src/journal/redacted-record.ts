/** Takes secrets out of the records of a journal. */

import { redactedTexts } from '../trace/file-trace.ts';
import type { RecordKind, RecordOf } from './records.ts';

/** Keys whose values are made by `svc`: ids, hashes of texts that are redacted already, and words of the format. */
const own: ReadonlySet<string> = new Set(
  [
    'k session id task port capture origin trust lane by state what lost status',
    'sha256 data cut manifest lock system tools grants hooks settings',
    'principal question text result fixed add in value chunks steps bodies ended',
  ].flatMap((keys) => keys.split(' ')),
);

/** What `svc` makes of the values of other keys. */
const ownStart: Readonly<Record<string, RegExp>> = {
  e: /^(?:session(?=\/)|tsk_[0-9a-f]{32}\/\d+(?:\/m\d+)?(?:\/t\d+)?(?=\/|$))/,
  base: /^tsk_[0-9a-f]{32}\/\d+\/m\d+$/,
  ctx: /^ctx_[0-9a-f]{32}$/,
};

/**
 * The JSON of the record with every text that came from elsewhere redacted, places included: the same text in the same way each time, so that
 * a `base` still names its request.
 */
export function redactedRecord(record: RecordOf<RecordKind>, redact: (text: string) => string): string {
  const encoded = JSON.stringify(record);
  if (redact(encoded) === encoded) return encoded;
  return JSON.stringify(
    Object.fromEntries(
      Object.entries(record).map(([key, value]) => [key, own.has(key) ? value : redactedValue(key, value, redact)]),
    ),
  );
}

function redactedValue(key: string, value: unknown, redact: (text: string) => string): unknown {
  if (key === 'past') return (value as readonly string[]).map((place) => redactedValue('e', place, redact));
  const kept = typeof value === 'string' ? (ownStart[key]?.exec(value)?.[0] ?? '') : '';
  return typeof value === 'string' && kept !== ''
    ? kept + redact(value.slice(kept.length))
    : redactedTexts(value, redact);
}
