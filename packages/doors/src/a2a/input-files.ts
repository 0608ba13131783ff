/** Gives files that come with messages a place in the workdir, and says to the model where they are. */

import { sha256Hex } from '@svc/kit/sha256.ts';
import type { KeptPart } from '@svc/session/task/task-record.ts';

/** A file that belongs into `in/` of the workdir. */
export interface InputFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

const maxName = 100;

/**
 * `of` identifies the part among those of all messages. The same part of the same message has the same name with the same bytes, however often
 * it comes, and nobody else's: a client does not decide what is replaced.
 */
export function inputFile({ raw, filename }: Extract<KeptPart, { raw: string }>, of: string): InputFile {
  const key = sha256Hex(`${of} ${raw}`).slice(0, 16);
  // Both alphabets of base64 are read.
  return { name: `${key}-${safeName(filename ?? 'file')}`, bytes: Buffer.from(raw, 'base64') };
}

/** For the model. The type is what the client says of it. */
export function describeFile({ name, bytes }: InputFile, mediaType: string | undefined): string {
  const type = mediaType === undefined || !/^[\w.+/-]{1,100}$/.test(mediaType) ? '' : `, ${mediaType}`;
  return `[A file that came with this message: in/${name}, ${bytes.length} bytes${type}]`;
}

/** The last part of a name, in characters that no shell and no path gives a meaning. */
function safeName(filename: string): string {
  const last = filename.split(/[/\\]/).at(-1) ?? '';
  const safe = last
    .normalize('NFC')
    .replaceAll(/[^A-Za-z0-9._-]+/g, '_')
    .slice(-maxName);
  return /[A-Za-z0-9]/.test(safe) ? safe : 'file';
}
