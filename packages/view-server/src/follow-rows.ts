/** Puts the lines of a trace into an answer as rows, in blocks that a page can draw one by one. */

import { yieldToLoop } from '@svc/kit/yield-to-loop.ts';
import type { OpenBody } from '@svc/kit/http/open-body.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import type { LineFile } from '@svc/record/journal/line-file.ts';
import { eachLine } from './each-line.ts';
import { type Followed, whileLive } from './follow.ts';
import { RowBlocks } from './rows/row-blocks.ts';

/** A small first block is painted early. The page draws each: later ones are large, and some time apart. */
const [firstBytes, blockBytes, betweenMs] = [128 * 1024, 4 * 1024 * 1024, 250];

/** The rows behind the first `from`, as they are written. Ends once the session does not live, or the reader is gone. */
export async function followRows({ file, from, isLive }: Followed, body: OpenBody): Promise<void> {
  const blocks = new RowBlocks();
  let [byte, told, toldAt, seen] = [0, 0, systemClock.monotonicMs(), -1];
  const tell = async (): Promise<boolean> => {
    [told, toldAt] = [byte, systemClock.monotonicMs()];
    const block = blocks.take();
    return block === null || (await body.put(`${JSON.stringify(block)}\n`));
  };
  await whileLive(isLive, body, async () => {
    // The last line may be long, and without its end for long.
    if (file.size === seen) return;
    seen = file.size;
    for (const line of eachLine(file, byte)) {
      if (line === null) {
        await yieldToLoop();
        if (body.gone.aborted) return;
        continue;
      }
      blocks.add(line.line.toString('utf8'));
      byte = line.next;
      if (blocks.count <= from) {
        // These are known already.
        if (blocks.count === from || byte - told >= blockBytes) {
          blocks.take();
          told = byte;
        }
        continue;
      }
      const isDue = told === 0 ? byte >= firstBytes : byte - told >= blockBytes;
      if (isDue && (told === 0 || systemClock.monotonicMs() - toldAt >= betweenMs) && !(await tell())) return;
    }
    if (blocks.count > from) await tell();
  });
}

/** All rows of a file that has its end: the first block holds 128 KiB of its lines or a little more, each later one 4 MiB. */
export function* rowsOf(file: LineFile, textOf: (line: Buffer) => string): Generator<string> {
  const blocks = new RowBlocks();
  const made = (): string => `${JSON.stringify(blocks.take())}\n`;
  let told = 0;
  for (const line of eachLine(file, 0)) {
    if (line === null) continue;
    blocks.add(textOf(line.line));
    if (line.next - told < (told === 0 ? firstBytes : blockBytes)) continue;
    told = line.next;
    yield made();
  }
  if (blocks.hasMore) yield made();
}
