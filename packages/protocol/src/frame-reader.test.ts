import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { anyCharacter } from '../../../test/support/any-character.ts';
import { encodeConnectionFrame, encodeNumberedFrame, heartbeat, maxEventId } from './frames.ts';
import type { NumberedFrame } from './frames.ts';
import type { ContextId, TaskId } from './ids.ts';
import { FrameReader, type ReceivedFrame } from './frame-reader.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** What is read of a stream that comes in these pieces. */
function read(...pieces: readonly (string | Uint8Array)[]): ReceivedFrame[] {
  const reader = new FrameReader();
  return pieces.flatMap((piece) => reader.read(Buffer.from(piece)));
}

/** A piece of a stream, and the frames it is. */
interface Written {
  readonly bytes: Buffer;
  readonly frames: readonly ReceivedFrame[];
}

/** The lines of a frame are few enough to be read by looking at them. */
function numbered(id: bigint, frame: NumberedFrame): Written {
  const bytes = Buffer.from(encodeNumberedFrame(id, frame));
  const data = /\ndata: ([^\n]*)\n\n$/.exec(bytes.toString())?.[1] ?? 'no data';
  return { bytes, frames: [{ id: id.toString(), event: frame.event, data }] };
}

function unnumbered(bytes: Buffer | string, event: string, data: string): Written {
  return { bytes: Buffer.from(bytes), frames: [{ id: undefined, event, data }] };
}

function noFrame(bytes: Buffer | string): Written {
  return { bytes: Buffer.from(bytes), frames: [] };
}

const text = fc.string({ unit: anyCharacter, maxLength: 40 });
const line = text.map((each) => each.replaceAll(/[\r\n]/g, ''));
const task = fc.stringMatching(/^tsk_[0-9a-f]{32}$/).map((each) => each as TaskId);
const context = text.map((each) => each as ContextId);

const frame: fc.Arbitrary<NumberedFrame> = fc.oneof(
  fc.record({
    event: fc.constant('status' as const),
    taskId: task,
    state: fc.constantFrom('working' as const, 'completed' as const, 'failed' as const, 'canceled' as const),
    message: text,
    final: fc.boolean(),
  }),
  fc.record({
    event: fc.constant('status' as const),
    taskId: task,
    contextId: context,
    state: fc.constant('input-required' as const),
    message: text,
    final: fc.constant(false as const),
  }),
  fc.record({
    event: fc.constant('artifact' as const),
    taskId: task,
    toolName: text,
    content: text,
    fenceSource: fc.option(text),
    toolCallId: fc.option(text),
    isError: fc.boolean(),
    durationMs: fc.option(fc.nat()),
    exitCode: fc.option(fc.integer()),
    truncated: fc.boolean(),
  }),
  fc.record({ event: fc.constant('text' as const), taskId: task, text, final: fc.boolean() }),
  fc.record({ event: fc.constant('thinking' as const), taskId: task, text }),
);

const piece: fc.Arbitrary<Written> = fc.oneof(
  { arbitrary: fc.tuple(fc.bigInt(0n, maxEventId), frame).map(([id, each]) => numbered(id, each)), weight: 6 },
  fc
    .bigInt(0n, maxEventId)
    .map((id) =>
      unnumbered(encodeConnectionFrame({ event: 'gap', firstAvailableId: id }), 'gap', `{"first_available_id":${id}}`),
    ),
  fc.constant(noFrame(heartbeat)),
  line.map((each) => noFrame(`:${each}\n`)),
  line.map((each) => noFrame(`retry: ${each}\nfuture: ${each}\n`)),
  fc
    .tuple(line, line)
    .map(([one, other]) =>
      unnumbered(
        `:${one}\nevent: future\n:${other}\ndata: ${one}\ndata:${other}\n\n`,
        'future',
        `${one}\n${other.replace(/^ /, '')}`,
      ),
    ),
);

const cutStream = fc.record({
  pieces: fc.array(piece, { maxLength: 12 }),
  cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 12 }),
});

function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...cuts.map((cut) => Math.floor(cut * bytes.length)).toSorted((a, b) => a - b), bytes.length];
  return places.slice(1).map((place, index) => bytes.subarray(places[index], place));
}

describe('the reader of frames', () => {
  it('reads the same frames however the bytes are cut', () => {
    fc.assert(
      fc.property(cutStream, ({ pieces, cuts }) => {
        const bytes = Buffer.concat(pieces.map((each) => each.bytes));
        expect(read(...cutAt(bytes, cuts))).toEqual(pieces.flatMap((each) => each.frames));
      }),
      { numRuns: 10_000 },
    );
  });

  it('reads a stream byte by byte, also inside a character and between two line feeds', () => {
    const stream = 'id: 7\nevent: text\ndata: {"text":"Łódź 👩‍🚀"}\n\n:heartbeat\n\nevent: gap\ndata: {}\n\n';
    expect(read(...Array.from(Buffer.from(stream), (byte) => Uint8Array.of(byte)))).toEqual([
      { id: '7', event: 'text', data: '{"text":"Łódź 👩‍🚀"}' },
      { id: undefined, event: 'gap', data: '{}' },
    ]);
  });

  it('knows how long the server wants a client to wait, where it says so in digits', () => {
    const reader = new FrameReader();
    const waits = ['retry: 250\n', 'retry: soon\n', 'data: {}\n\nretry:5\n'].map((text) => {
      reader.read(Buffer.from(text));
      return reader.retryMs;
    });
    expect([new FrameReader().retryMs, ...waits]).toEqual([null, 250, 250, 5]);
  });

  it('passes over comment lines wherever they stand', () => {
    expect(read(':heartbeat\n\n: a\nid: 1\n:b\nevent: text\n:\ndata: {}\n:c\n\n:d\n')).toEqual([
      { id: '1', event: 'text', data: '{}' },
    ]);
  });

  it.each([
    ['line ends of carriage return and line feed', 'id: 1\r\nevent: text\r\ndata: {}\r\n\r\n'],
    ['a byte order mark', '\uFEFFid: 1\nevent: text\ndata: {}\n\n'],
    ['unknown fields', 'id: 1\nretry: soon\nlater: x\nnothing\nevent: text\ndata: {}\n\n'],
    ['no blank after the colon', 'id:1\nevent:text\ndata:{}\n\n'],
    ['another order of lines', 'data: {}\nevent: text\nid: 1\n\n'],
    ['blank lines before it', '\n\n\nid: 1\nevent: text\ndata: {}\n\n'],
    ['an event without data before it', 'event: gap\nid: 9\n\nid: 1\nevent: text\ndata: {}\n\n'],
    ['a frame behind it that is cut off', 'id: 1\nevent: text\ndata: {}\n\nid: 2\nevent: text\ndata: {}\n'],
  ])('reads a frame with %s', (_name, stream) => {
    const expected = [{ id: '1', event: 'text', data: '{}' }];
    expect(read(stream)).toEqual(expected);
    expect(read(...Array.from(Buffer.from(stream), (byte) => Uint8Array.of(byte)))).toEqual(expected);
  });

  it.each([
    ['id: eleven\nevent: text\ndata: {}\n\n', { id: 'eleven', event: 'text', data: '{}' }],
    ['id: 18446744073709551615\nevent: text\ndata: \n\n', { id: '18446744073709551615', event: 'text', data: '' }],
    ['event: text\ndata\n\n', { id: undefined, event: 'text', data: '' }],
    ['data: {}\n\n', { id: undefined, event: 'message', data: '{}' }],
  ])('reads %j as it came', (stream, expected) => {
    expect(read(stream)).toEqual([expected]);
  });

  it('gives no frame the id of the one before', () => {
    expect(read('id: 5\ndata: a\n\ndata: b\n\n').map(({ id }) => id)).toEqual(['5', undefined]);
  });

  it('puts bytes that are no UTF-8 in their place', () => {
    expect(read(Buffer.from([...Buffer.from('data: a'), 0xff, ...Buffer.from('b\n\n')]))[0]?.data).toBe('a\uFFFDb');
  });

  it('reads a frame of 20 MB that comes in pieces of 1 KiB', () => {
    const content = 'ź'.repeat(10_000_000);
    const bytes = Buffer.from(`id: 3\nevent: artifact\ndata: "${content}"\n\n`);
    const pieces = Array.from({ length: Math.ceil(bytes.length / 1024) }, (_, index) =>
      bytes.subarray(index * 1024, (index + 1) * 1024),
    );
    const frames = read(...pieces);
    expect(frames.map(({ id, event }) => ({ id, event }))).toEqual([{ id: '3', event: 'artifact' }]);
    expect(frames[0]?.data === `"${content}"`).toBe(true);
  });

  it('gives up on a line without end', () => {
    const reader = new FrameReader();
    const piece64k = Buffer.alloc(65_536, 'x');
    for (let pieces = 0; pieces < 2048; pieces += 1) reader.read(piece64k);
    expect(reader.isTooLong).toBe(false);
    reader.read(piece64k);
    expect(reader.isTooLong).toBe(true);
  });

  it.each(['data: x', 'data', ':', ': a comment', 'id: 7', 'event: text', 'later: x'])(
    'gives up on a frame of %j without end, and counts no frame before it',
    (line) => {
      const reader = new FrameReader(1000);
      for (let frames = 0; frames < 100; frames += 1) reader.read(Buffer.from(`${line}\n`.repeat(20) + '\n'));
      const most = Math.floor(1000 / (line.length + 1));
      reader.read(Buffer.from(`${line}\n`.repeat(most)));
      expect(reader.isTooLong).toBe(false);
      reader.read(Buffer.from(`${line}\n`));
      expect(reader.isTooLong).toBe(true);
    },
  );

  it('keeps nothing of the comments between the lines of a frame', () => {
    const reader = new FrameReader();
    const piece = Buffer.from(`data: ${'x'.repeat(20)}\n:${'y'.repeat(65_500)}\n`);
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let pieces = 0; pieces < 1000; pieces += 1) reader.read(piece);
    collect();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(10_000_000);
    expect(reader.read(Buffer.from('\n'))[0]?.data).toHaveLength(20_999);
  });
});

describe('a standard parser of event streams', () => {
  it('reads every stream that is written, with ids as text', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const frames: ReceivedFrame[] = [];
        const parser = createParser({
          onEvent: ({ id, event = 'none', data }) => frames.push({ id, event, data }),
        });
        parser.feed(Buffer.concat(pieces.map((each) => each.bytes)).toString());
        expect(frames).toEqual(pieces.flatMap((each) => each.frames));
      }),
      { numRuns: 1000 },
    );
  });

  it.each([0n, 2n ** 53n + 1n, 4611686018427387903n, 9223372036854775807n, maxEventId])(
    'reads the id %s exactly',
    (id) => {
      const ids: (string | undefined)[] = [];
      const parser = createParser({ onEvent: (event) => ids.push(event.id) });
      parser.feed(encodeNumberedFrame(id, { event: 'text', taskId: 'tsk_1' as TaskId, text: 'a', final: false }));
      expect(ids).toEqual([String(id)]);
    },
  );
});
