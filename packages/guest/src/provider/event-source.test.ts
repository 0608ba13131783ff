import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { EventSource, type ServerSentEvent } from './event-source.ts';
import { RequestFailure } from '../request-failure.ts';

function eventsOf(...pieces: readonly string[]): readonly ServerSentEvent[] {
  const source = new EventSource();
  return pieces.flatMap((piece) => Array.from(source.push(piece))).concat(source.end());
}

const datas = (...pieces: readonly string[]): readonly string[] => eventsOf(...pieces).map(({ data }) => data);

describe('the events of a stream', () => {
  it('are read with and without a space behind the colon', () => {
    expect(datas('data: a\n\ndata:b\n\n')).toEqual(['a', 'b']);
  });

  it('are read with CR LF, comments and unknown fields', () => {
    expect(datas(': keep-alive\r\n\r\nretry: 10\r\nodd: x\r\ndata: a\r\n\r\n')).toEqual(['a']);
  });

  it('join several data lines by line feeds', () => {
    expect(datas('data: {"a":\ndata: 1}\n\n')).toEqual(['{"a":\n1}']);
  });

  it('carry their type', () => {
    expect(eventsOf('event: ping\ndata: {}\n\n')).toEqual([{ type: 'ping', data: '{}' }]);
  });

  it('count when the last blank line or line end is missing', () => {
    expect(datas('data: a\n\ndata: b\n')).toEqual(['a', 'b']);
    expect(datas('data: a\n\ndata: b')).toEqual(['a', 'b']);
  });

  it('are the same however the stream is cut', () => {
    const stream = 'data: first\r\n\r\n: note\n\ndata: {"x":\ndata:1}\n\nevent: ping\ndata: {}\n\n';
    fc.assert(
      fc.property(fc.array(fc.nat({ max: stream.length }), { maxLength: 8 }), (at) => {
        const bounds = [0, ...at.sort((a, b) => a - b), stream.length];
        const pieces = bounds.slice(0, -1).map((start, index) => stream.slice(start, bounds[index + 1]));
        expect(datas(...pieces)).toEqual(['first', '{"x":\n1}', '{}']);
      }),
    );
  });

  it('end with more lines of no event, or more values in one, than any that is meant', () => {
    expect(() => datas('x\n'.repeat(65_537), 'data: a\n\n')).toThrow('more than 65536 lines that are of no event');
    expect(datas('x\n'.repeat(65_536), 'data: a\n\n')).toEqual(['a']);
    expect(() => datas(`data: [${'{},'.repeat(600_000)}0]\n\n`)).toThrow('JSON of over a million values');
  });

  it('may not be endless', () => {
    const pieces = Array.from({ length: 17 }, () => 'x'.repeat(1024 * 1024));
    expect(() => datas('data: ', ...pieces)).toThrow(RequestFailure);
  });
});
