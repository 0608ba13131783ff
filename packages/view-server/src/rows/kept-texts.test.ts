import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { describe, expect, it } from 'vitest';

import { RowBlocks } from './row-blocks.ts';

/** After all that nobody holds is gone. */
function heldBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // The engine keeps the shapes of objects, and with them their keys, for a few collections.
  for (let times = 0; times < 6; times += 1) collect();
  return process.memoryUsage().heapUsed;
}

const long = 2_000_000;
/** The most that may be held of ten long texts: the engine may still hold the last one or two. */
const maxHeld = 3 * long;

describe('the kept part of a long text', () => {
  it.each([
    ['of a name', (text: string) => ({ event_type: 'tool_call', tool_name: text })],
    ['of the path of a call', (text: string) => ({ event_type: 'tool_call', arguments: { path: text } })],
    ['of a value within a call', (text: string) => ({ event_type: 'tool_call', arguments: { a: [text] } })],
    ['of a key within a call', (text: string) => ({ event_type: 'tool_call', arguments: { [text]: 1 } })],
    ['of a type', (text: string) => ({ event_type: text })],
    ['of a task', (text: string) => ({ event_type: 'task_end', task_id: text, error: text })],
    ['of a delegation', (text: string) => ({ event_type: 'delegation', delegation_id: text, capsule: text })],
  ])('holds at most what is shown: %s', (_, eventOf) => {
    const blocks = new RowBlocks();
    const before = heldBytes();
    for (let at = 0; at < 10; at += 1) blocks.add(JSON.stringify(eventOf(`${at} ${'x'.repeat(long)}`)));
    expect(heldBytes() - before).toBeLessThan(maxHeld);
    expect(blocks.take()?.rows.details.length).toBe(10);
  });

  it('holds at most what is shown: a damaged line', () => {
    const blocks = new RowBlocks();
    const before = heldBytes();
    for (let at = 0; at < 10; at += 1) blocks.add(`{${at} ${'x'.repeat(long)}`);
    expect(heldBytes() - before).toBeLessThan(maxHeld);
    expect(blocks.take()?.rows.details.length).toBe(10);
  });
});
