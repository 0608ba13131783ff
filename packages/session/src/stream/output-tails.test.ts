import { describe, expect, it } from 'vitest';

import { FakeClock } from '../../../../test/support/fake-clock.ts';
import type { CallPlace } from '../task/activity.ts';
import { type OutputPiece, OutputTails } from './output-tails.ts';
import type { Task } from '../task/task.ts';

const call = (place: string): CallPlace => ({ task: { id: 'tsk_1' } as Task, turn: 1, callId: 'c1', place });
const build = { name: 'make', number: 1, output: 'stdout' } as const;
const warnings = { ...build, output: 'stderr' } as const;

function tails(): { readonly clock: FakeClock; readonly tails: OutputTails; readonly pieces: OutputPiece[] } {
  const clock = new FakeClock();
  const pieces: OutputPiece[] = [];
  const redact = (text: string): string => text.replaceAll('s3cret', '[secret]');
  return { clock, pieces, tails: new OutputTails({ clock, redact, tell: (piece) => pieces.push(piece) }) };
}

describe('the output of a running command', () => {
  it('arrives in whole lines of both outputs, once in 100 ms', () => {
    const { clock, tails: told, pieces } = tails();
    told.wrote(call('a'), build, Buffer.from('one\ntw'));
    told.wrote(call('a'), warnings, Buffer.from('careful\n'));
    expect(pieces).toEqual([]);
    clock.advance(100);
    told.wrote(call('a'), build, Buffer.from('o\n'));
    clock.advance(99);
    expect(pieces.map(({ text }) => text)).toEqual(['one\ncareful\n']);
    clock.advance(1);
    expect(pieces.map(({ text, commandName }) => [commandName, text])).toEqual([
      ['make', 'one\ncareful\n'],
      ['make', 'two\n'],
    ]);
  });

  it('keeps its last 4 KiB, and says what is left out', () => {
    const { clock, tails: told, pieces } = tails();
    for (let line = 0; line < 1000; line += 1)
      told.wrote(call('a'), build, Buffer.from(`${line}`.padStart(9, '.') + '\n'));
    clock.advance(100);
    const [{ text, leftOutBytes } = { text: '', leftOutBytes: 0 }] = pieces;
    expect(Buffer.byteLength(text)).toBe(4096);
    expect(text.endsWith('......999\n')).toBe(true);
    expect(leftOutBytes).toBe(10_000 - 4096);
  });

  it('begins with a whole character', () => {
    const { clock, tails: told, pieces } = tails();
    told.wrote(call('a'), build, Buffer.from(`${'€'.repeat(2000)}\n`));
    clock.advance(100);
    expect(pieces[0]?.text).toBe(`${'€'.repeat(1365)}\n`);
    expect(pieces[0]?.leftOutBytes).toBe(635 * 3);
  });

  it('has no secret in it that came in two pieces', () => {
    const { clock, tails: told, pieces } = tails();
    told.wrote(call('a'), build, Buffer.from('the key is s3c'));
    clock.advance(100);
    told.wrote(call('a'), build, Buffer.from('ret\n'));
    clock.advance(100);
    expect(pieces.map(({ text }) => text)).toEqual(['the key is [secret]\n']);
  });

  it('arrives to its end, and belongs to one call', () => {
    const { clock, tails: told, pieces } = tails();
    told.wrote(call('a'), build, Buffer.from('no line feed'));
    told.wrote(call('b'), { ...build, number: 2 }, Buffer.from('goes on'));
    told.over(call('a'));
    expect(pieces.map(({ text }) => text)).toEqual(['no line feed']);
    clock.advance(1000);
    expect(pieces).toHaveLength(1);
  });

  it('arrives from 32 commands at a time', () => {
    const { clock, tails: told, pieces } = tails();
    for (let number = 1; number <= 40; number += 1) told.wrote(call('a'), { ...build, number }, Buffer.from('x\n'));
    clock.advance(100);
    expect(pieces).toHaveLength(32);
  });
});
