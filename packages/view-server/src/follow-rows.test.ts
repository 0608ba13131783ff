import { appendFileSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { OpenBody } from '@svc/kit/http/open-body.ts';
import type { Block } from '@svc/protocol/viewed-rows.ts';
import { describe, expect, it, onTestFinished } from 'vitest';

import { LineFile } from '@svc/record/journal/line-file.ts';
import { followRows } from './follow-rows.ts';

const line = (number: number, fields: object = {}): string =>
  `${JSON.stringify({ event_type: 'shell', task_id: `tsk_${number % 3}`, timestamp: number, command_name: `c${number % 5}`, ...fields })}\n`;
const lines = (from: number, to: number, fields: object = {}): string =>
  Array.from({ length: to - from }, (_, index) => line(from + index, fields)).join('');

interface Following {
  readonly path: string;
  readonly blocks: Block[];
  readonly over: Promise<void>;
  readonly end: () => void;
  /** How often the file was walked through, and asked for its size. */
  readonly reads: { walks: number; sizes: number };
}

function following(text: string, from = 0, isLive = false): Following {
  const folder = mkdtempSync(join(tmpdir(), 'svc-rows-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'trace');
  writeFileSync(path, text);
  const reads = { walks: 0, sizes: 0 };
  const file = new (class extends LineFile {
    override walk(from: number): ReturnType<LineFile['walk']> {
      reads.walks += 1;
      return super.walk(from);
    }
    override get size(): number {
      reads.sizes += 1;
      return super.size;
    }
  })(openSync(path, 'r'));
  const blocks: Block[] = [];
  let lives = isLive;
  const body = {
    gone: new AbortController().signal,
    put: async (bytes: string) => {
      for (const each of bytes.trimEnd().split('\n')) blocks.push(JSON.parse(each) as Block);
      return await Promise.resolve(true);
    },
  };
  const over = followRows({ file, from, isLive: () => lives }, body as unknown as OpenBody).finally(() => file.close());
  return { path, blocks, over, end: () => void (lives = false), reads };
}

const rowsOf = (blocks: readonly Block[]): readonly string[] =>
  blocks.flatMap(({ rows }) => rows.details.map((_detail, index) => `${rows.first + index}`));
const namesOf = (blocks: readonly Block[]): readonly string[] => blocks.flatMap(({ rows }) => rows.names);

describe('the rows of a trace', () => {
  it('come in few blocks, the first a small one', async () => {
    const { blocks, over } = following(lines(0, 20_000, { padding: 'x'.repeat(400) }));
    await over;
    expect(rowsOf(blocks)).toEqual(Array.from({ length: 20_000 }, (_, row) => `${row}`));
    expect(blocks.length).toBeLessThanOrEqual(4);
    expect(blocks[0]?.rows.kind.length).toBeLessThan(400);
    expect(namesOf(blocks)).toEqual(['c0', 'c1', 'c2', 'c3', 'c4']);
  });

  it('go on behind those that are known, with names and tasks as if all had come', async () => {
    const all = following(lines(0, 10));
    await all.over;
    const rest = following(lines(0, 10), 3);
    await rest.over;
    expect(rowsOf(rest.blocks)).toEqual(['3', '4', '5', '6', '7', '8', '9']);
    expect(namesOf(rest.blocks)).toEqual(['c3', 'c4']);
    expect(rest.blocks[0]?.rows.name).toEqual(all.blocks[0]?.rows.name.slice(3));
    expect(rest.blocks[0]?.rows.task).toEqual(all.blocks[0]?.rows.task.slice(3));
    expect([all.blocks[0]?.tasks.length, rest.blocks[0]?.tasks]).toEqual([3, []]);
    const none = following(lines(0, 10), 10);
    await none.over;
    expect(none.blocks).toEqual([]);
  });

  it.each([[2900], [3000], [5000]])('go on behind %i of a long trace, and repeat nothing', async (from) => {
    const { blocks, over } = following(lines(0, 3000, { padding: 'x'.repeat(400) }), from);
    await over;
    expect(rowsOf(blocks)).toEqual(Array.from({ length: Math.max(0, 3000 - from) }, (_, row) => `${from + row}`));
    expect([blocks.flatMap(({ tasks }) => tasks), namesOf(blocks)]).toEqual([[], []]);
  });

  it('cost nothing while nothing is written', async () => {
    const { blocks, over, end, reads } = following(`${line(0)}${'x'.repeat(1000)}`, 0, true);
    await expect.poll(() => rowsOf(blocks)).toEqual(['0']);
    await expect.poll(() => reads.sizes).toBeGreaterThan(4);
    expect(reads.walks).toBe(1);
    end();
    await over;
  });

  it('come as they are written, a line once it is whole', async () => {
    const { path, blocks, over, end } = following(lines(0, 2), 0, true);
    await expect.poll(() => rowsOf(blocks)).toEqual(['0', '1']);
    const [begun, rest] = [line(2).slice(0, 20), line(2).slice(20)];
    appendFileSync(path, `${line(3)}${begun}`);
    await expect.poll(() => rowsOf(blocks)).toEqual(['0', '1', '2']);
    appendFileSync(path, rest);
    await expect.poll(() => rowsOf(blocks)).toEqual(['0', '1', '2', '3']);
    appendFileSync(path, line(4));
    end();
    await over;
    expect(rowsOf(blocks)).toEqual(['0', '1', '2', '3', '4']);
  });

  it('have one for each line, however long and damaged it is', async () => {
    const { blocks, over } = following(`${line(0)}no event\n\n${'x'.repeat(17 * 1024 * 1024)}\n${line(1)}`);
    await over;
    expect(blocks.flatMap(({ rows }) => rows.kind)).toEqual([6, 254, 254, 254, 6]);
    expect(blocks.flatMap(({ rows }) => rows.details)[3]).toBe('x'.repeat(160));
  });

  it('end behind 100,000 lines that are shorter than any event, with one that stands for the rest, and others have turns meanwhile', async () => {
    let [turns, isOver] = [0, false];
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const { blocks, over } = following('{}\n'.repeat(300_000));
    await over;
    isOver = true;
    expect(rowsOf(blocks)).toHaveLength(100_001);
    expect(turns).toBeGreaterThanOrEqual(50);
  });

  it('do not parse a line of millions of values', async () => {
    const { blocks, over } = following(`{"event_type":"shell","arguments":[${'{},'.repeat(4_000_000)}0]}\n${line(1)}`);
    await over;
    expect([namesOf(blocks), blocks.flatMap(({ rows }) => rows.kind)]).toEqual([
      ['line of too much', 'c1'],
      [254, 6],
    ]);
  });
});
