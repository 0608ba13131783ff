import { describe, expect, it } from 'vitest';

import { type DriverNote, DriverNotes, parseDriverNote } from './driver-notes.ts';

function notesOf(...pieces: readonly string[]): DriverNote[] {
  const notes: DriverNote[] = [];
  const reader = new DriverNotes((note) => notes.push(note));
  for (const piece of pieces) reader.write(Buffer.from(piece));
  return notes;
}

const retry = 'svc-note: {"retry":{"wait_ms":2000,"attempt":1,"of":3}}';

describe('a note of a driver', () => {
  it('says that it waits, what it left out, and what a cache had', () => {
    expect(parseDriverNote(retry)).toEqual({ kind: 'retry', waitMs: 2000, attempt: 1, of: 3 });
    expect(parseDriverNote('svc-note: {"cache":{"read":7,"write":0}}')).toEqual({
      kind: 'cache',
      tokens: { cacheReadTokens: 7, cacheWriteTokens: 0 },
    });
    expect(parseDriverNote('svc-note: {"left_out":{"tool":"a","reason":"no"}}')).toEqual({
      kind: 'left-out',
      tool: 'a',
      reason: 'no',
    });
    expect(parseDriverNote('svc-note: {"cache":{"read":7,"write":null}}')).toEqual({
      kind: 'cache',
      tokens: { cacheReadTokens: 7 },
    });
  });

  it.each([
    'waiting for the provider',
    'svc-note: {',
    'svc-note: 7',
    'svc-note: {"later":{"a":1}}',
    'svc-note: {"retry":{"wait_ms":-1,"attempt":1,"of":3}}',
    'svc-note: {"retry":{"wait_ms":1.5,"attempt":1,"of":3}}',
    'svc-note: {"retry":{"wait_ms":1e308,"attempt":1,"of":3}}',
    'svc-note: {"left_out":{"tool":"a"}}',
    ' svc-note: {"cache":{}}',
  ])('cannot be %s', (line) => {
    expect(parseDriverNote(line)).toBeNull();
  });

  it('may come in pieces, and counts once its line has ended', () => {
    const wait = { kind: 'retry', waitMs: 2000, attempt: 1, of: 3 };
    expect(notesOf('hello\nsvc-no', `${retry.slice(6)}\nmore\n`, `${retry}\n${retry}`)).toEqual([wait, wait]);
  });

  it('has at most 1 KiB, and the next one counts again', () => {
    const long = `${retry}${' '.repeat(1024)}`;
    expect(notesOf(long, `${long}\n`, `${retry}\n`)).toHaveLength(1);
    expect(notesOf(`${long}\n${retry}\n`)).toHaveLength(1);
  });

  it('counts up to the 256th of a call', () => {
    expect(notesOf(`${retry}\n`.repeat(300))).toHaveLength(256);
  });
});
