import type { Readable } from 'node:stream';

import { readOutput } from '../containment/read-output.ts';
import type { OutputLog, OutputLogReceipt } from './output-log.ts';

export interface CapturedOutput {
  /** The output, cut at the limit between two characters. Bytes that are no UTF-8 show as U+FFFD. */
  readonly text: string;
  /** Bytes that `text` does not show. */
  readonly cutBytes: number;
  /** Where the whole is; null when nothing was cut. */
  readonly log: OutputLogReceipt | null;
}

/** Reads an output to its end and keeps `maxBytes` of it; a longer one goes whole to the log. Memory use is bounded. */
export async function captureOutput(output: Readable, maxBytes: number, log: OutputLog): Promise<CapturedOutput> {
  let head: Buffer = Buffer.alloc(0);
  let totalBytes = 0;
  for await (const chunk of readOutput(output)) {
    const before = totalBytes;
    totalBytes += chunk.length;
    if (totalBytes > maxBytes) {
      if (before <= maxBytes) await log.append(head);
      await log.append(chunk);
    }
    if (before < maxBytes) head = Buffer.concat([head, chunk.subarray(0, maxBytes - before)]);
  }
  if (totalBytes <= maxBytes) return { text: head.toString('utf8'), cutBytes: 0, log: null };
  const shown = head.subarray(0, characterBoundary(head));
  return { text: shown.toString('utf8'), cutBytes: totalBytes - shown.length, log: await log.close() };
}

/** The length of `bytes` without a character at its end that lacks bytes. */
function characterBoundary(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(4, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0b1100_0000) === 0b1000_0000) continue;
    const needed = byte >= 0b1111_0000 ? 4 : byte >= 0b1110_0000 ? 3 : byte >= 0b1100_0000 ? 2 : 1;
    return needed > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}
