/** Reads lines of a trace as a worker does, at one go. */

import type { Block } from '../../src/messages.ts';
import { RowBlocks } from '../../src/worker/row-blocks.ts';

export function blockOf(texts: readonly string[]): Block {
  const blocks = new RowBlocks();
  blocks.add(texts);
  const block = blocks.take();
  if (block === null) throw new Error('there are no rows');
  return block;
}
