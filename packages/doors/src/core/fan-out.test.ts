import { describe, expect, it } from 'vitest';

import { FanOut, type FanOutSink } from './fan-out.ts';

class Sink implements FanOutSink {
  readonly head: string;
  readonly tail = '}\n\n';
  readonly pieces: Uint8Array[] = [];
  events = 0;
  ended = false;

  constructor(id: number) {
    this.head = `data: {"id":${id},"result":`;
  }

  write(pieces: readonly Uint8Array[], events: number): void {
    this.pieces.push(...pieces);
    this.events += events;
  }

  end(): void {
    this.ended = true;
  }

  get text(): string {
    return this.pieces.map((piece) => Buffer.from(piece).toString()).join('');
  }
}

function joined(count: number, idOf: (index: number) => number): { fanOut: FanOut; sinks: readonly Sink[] } {
  const fanOut = new FanOut();
  const sinks = Array.from({ length: count }, (_, index) => new Sink(idOf(index)));
  for (const sink of sinks) fanOut.join(sink);
  return { fanOut, sinks };
}

describe('an event for 10,000 who follow', () => {
  it('has the same bytes for all who write the same around it', () => {
    const { fanOut, sinks } = joined(10_000, () => 1);
    for (let event = 0; event < 50; event += 1) fanOut.push(`{"n":${event}}`);
    fanOut.end();
    const distinct = new Set(sinks.flatMap(({ pieces }) => pieces));
    expect(distinct.size).toBe(1);
    expect(sinks.every(({ events, ended }) => events === 50 && ended)).toBe(true);
    expect(sinks[9999]?.text.slice(0, 37)).toBe('data: {"id":1,"result":{"n":0}}\n\ndata');
  });

  it('has the same bytes for everybody where it is long', () => {
    const { fanOut, sinks } = joined(10_000, (index) => index);
    const long = `{"text":"${'x'.repeat(100_000)}"}`;
    fanOut.push(long);
    fanOut.flush();
    const held = new Set(sinks.flatMap(({ pieces }) => pieces.filter((piece) => piece.length > 1000)));
    expect(held.size).toBe(1);
    expect(sinks[7]?.text).toBe(`data: {"id":7,"result":${long}}\n\n`);
  });

  it('costs nothing where nobody follows', () => {
    const { fanOut, sinks } = joined(1, () => 1);
    fanOut.leave(sinks[0] as Sink);
    fanOut.push('{}');
    fanOut.flush();
    expect(sinks[0]?.events).toBe(0);
  });
});
