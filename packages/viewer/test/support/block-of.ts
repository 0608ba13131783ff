/** Reads lines of a trace as the server does, at one go. */

import type { Block } from '@svc/protocol/viewed-rows.ts';
import { RowBlocks } from '@svc/view-server/rows/row-blocks.ts';

export function blockOf(texts: readonly string[]): Block {
  const blocks = new RowBlocks();
  for (const text of texts) blocks.add(text);
  const block = blocks.take();
  if (block === null) throw new Error('there are no rows');
  return block;
}
