import { once } from 'node:events';
import { PassThrough, Readable, Writable } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';

import { writtenText } from '../../../../test/support/written-text.ts';
import { ClientError } from '@svc/client/client-error.ts';
import { type EventStream, framesIn } from '@svc/client/event-stream.ts';
import { followStream, type StreamEnd, renderFrameJson } from './follow-stream.ts';
import { Output } from '@svc/terminal/screen/output.ts';

interface Followed {
  readonly end: StreamEnd;
  readonly stdout: string;
  readonly stderr: string;
}

async function follow(source: Readable, json = false, onPrinted: () => void = () => {}): Promise<Followed> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  stdout.setEncoding('utf8');
  stderr.setEncoding('utf8');
  let printed = '';
  stdout.on('data', (text: string) => {
    printed += text;
    onPrinted();
  });
  const end = await followStream(eventStream(source), {
    json,
    stdout: new Output(() => stdout),
    stderr: new Output(() => stderr),
  });
  stdout.end();
  await new Promise((resolve) => stdout.once('end', resolve));
  return { end, stdout: printed, stderr: writtenText(stderr) };
}

function eventStream(source: Readable): EventStream {
  return { frames: framesIn(piecesOf(source)), hasEvents: false, close: () => source.destroy() };
}

/** As the client has them: what breaks a connection is the cause of its error. */
async function* piecesOf(source: Readable): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of source) yield piece as Buffer;
  } catch (error) {
    throw new ClientError('unreachable', 'cut', { cause: error });
  }
}

function outputs(stdout: Writable): { readonly stdout: Output; readonly stderr: Output } {
  return { stdout: new Output(() => stdout), stderr: new Output(() => new PassThrough()) };
}

function stream(...pieces: readonly string[]): Readable {
  return Readable.from(pieces.map((piece) => Buffer.from(piece)));
}

const hello = 'id: 7\nevent: text\ndata: {"id":"t","text":"Hello","final":false}\n\n';
const closed = 'event: capsule-closed\ndata: {}\n\n';

describe('a stream that is followed', () => {
  it('may be silent for as long as it likes', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval'] });
    try {
      const source = new PassThrough();
      const following = follow(source);
      source.write(hello);
      await vi.advanceTimersByTimeAsync(600_000);
      expect(source.destroyed).toBe(false);
      source.end(hello + closed);
      expect(await following).toMatchObject({ end: { kind: 'closed' }, stdout: '| HelloHello\n' });
    } finally {
      vi.useRealTimers();
    }
  });

  it('ends with capsule-closed, whatever comes behind it', async () => {
    expect(await follow(stream(hello + closed + hello, hello))).toEqual({
      end: { kind: 'closed' },
      stdout: '| Hello\n',
      stderr: 'the capsule closed its stream\n',
    });
  });

  it('becomes lost when it ends without, with the last id as it was [D1-FRAME-48]', async () => {
    const last = 'id: 18446744073709551615\nevent: future\ndata: {}\n\nevent: gap\ndata: {"first_available_id":3}\n\n';
    expect(await follow(stream(hello, last))).toEqual({
      end: { kind: 'lost', lastId: 18446744073709551615n },
      stdout: '| Hello\n',
      stderr: 'warning: earlier frames may be gone; the first available id is 3\n',
    });
  });

  it.each([
    ['nothing', ''],
    ['frames without ids', 'event: connection-ack\ndata: {}\n\n'],
    [
      'ids that are no unsigned 64-bit numbers',
      'id: x\ndata: {}\n\nid: 18446744073709551616\ndata: {}\n\nid: -1\ndata: {}\n\n',
    ],
    ['a frame that is cut off', 'id: 3\nevent: capsule-closed\ndata: {}\n'],
  ])('has no last id after %s', async (_name, text) => {
    expect((await follow(stream(text))).end).toEqual({ kind: 'lost', lastId: null });
  });

  it('becomes lost when it is cut in the middle of a frame', async () => {
    const source = new Readable({ read: () => {} });
    source.push(Buffer.from(`${hello}id: 8\nevent: te`));
    const cut = Object.assign(new Error('cut'), { code: 'ETIMEDOUT' });
    expect(await follow(source, false, () => source.destroy(cut))).toEqual({
      end: { kind: 'lost', lastId: 7n },
      stdout: '| Hello\n',
      stderr: '',
    });
  });

  it('shows a fault of this program as what it is', async () => {
    const source = new Readable({ read: () => source.destroy(new TypeError('a bug')) });
    await expect(follow(source)).rejects.toThrow('a bug');
  });

  it('prints one JSON object a frame, with the notices on stderr all the same', async () => {
    const gap = 'event: gap\ndata: {"first_available_id":9007199254740993}\n\n';
    const thought = 'id: 9007199254740993\nevent: thinking\ndata: {"id":"t","text":"hm","final":false}\n\n';
    const noJson = 'event: error\ndata: {"error":"a "b""}\n\n';
    expect(
      await follow(stream('event: connection-ack\ndata: {}\n\n:heartbeat\n\n', gap, thought, noJson, closed), true),
    ).toEqual({
      end: { kind: 'closed' },
      stdout: `{"event":"connection-ack","data":{}}
{"event":"gap","data":{"first_available_id":9007199254740993}}
{"id":"9007199254740993","event":"thinking","data":{"id":"t","text":"hm","final":false}}
{"event":"error","data":"{\\"error\\":\\"a \\"b\\"\\"}"}
{"event":"capsule-closed","data":{}}
`,
      stderr: `warning: earlier frames may be gone; the first available id is 9007199254740993
the capsule reported an error: a "b"
the capsule closed its stream
`,
    });
  });
});

describe('stdout that holds back', () => {
  it('keeps the rest of the stream where it is', async () => {
    const frame = Buffer.from(`id: 1\nevent: text\ndata: {"id":"t","text":"${'x'.repeat(1000)}","final":false}\n\n`);
    let maxWaiting = 0;
    let written = 0;
    const stdout = new Writable({
      highWaterMark: 4000,
      write: (chunk: Buffer, _encoding, done) => {
        written += chunk.length;
        setImmediate(done);
      },
    });
    function* frames(): Generator<Buffer> {
      for (let count = 0; count < 1000; count += 1) {
        maxWaiting = Math.max(maxWaiting, stdout.writableLength);
        yield frame;
      }
    }
    const end = await followStream(eventStream(Readable.from(frames())), { json: false, ...outputs(stdout) });
    expect(end).toEqual({ kind: 'lost', lastId: 1n });
    stdout.end();
    await once(stdout, 'finish');
    expect(written).toBe(1_000_003);
    expect(maxWaiting).toBeLessThanOrEqual(5000);
  });

  it.each([
    ['while it holds back', 10],
    ['while the stream is silent', 100_000],
  ])('ends the following when it is closed %s', async (_name, highWaterMark) => {
    const source = new Readable({ read: () => {} });
    const stdout = new Writable({
      highWaterMark,
      write: (_chunk, _encoding, done) => {
        setImmediate(() => done(Object.assign(new Error('gone'), { code: 'EPIPE' })));
      },
    });
    source.push(Buffer.from(hello.repeat(10)));
    const end = await followStream(eventStream(source), { json: false, ...outputs(stdout) });
    expect(end).toEqual({ kind: 'unread' });
    expect(source.destroyed).toBe(true);
  });
});

it.each([
  [
    { id: '18446744073709551615', event: 'text', data: '{"id":"t","text":"a\\nb","n":9007199254740993,"final":false}' },
    '{"id":"18446744073709551615","event":"text","data":{"id":"t","text":"a\\nb","n":9007199254740993,"final":false}}',
  ],
  [
    { id: undefined, event: 'gap', data: '{"first_available_id":18446744073709551615}' },
    '{"event":"gap","data":{"first_available_id":18446744073709551615}}',
  ],
  [
    { id: '1', event: 'text', data: '{ "b" : 1.50e+1,\t"a":"\\u00e9é" }' },
    '{"id":"1","event":"text","data":{ "b" : 1.50e+1,\t"a":"\\u00e9é" }}',
  ],
  [{ id: '1', event: 'text', data: '{\n"a": "b"\n}' }, '{"id":"1","event":"text","data":{ "a": "b" }}'],
  [
    { id: '1', event: 'error', data: '{"error":"not "quoted""}' },
    '{"id":"1","event":"error","data":"{\\"error\\":\\"not \\"quoted\\"\\"}"}',
  ],
  [{ id: '1', event: 'text', data: 'two\nlines' }, '{"id":"1","event":"text","data":"two\\nlines"}'],
  [{ id: 'a"b', event: 'new "kind"', data: '' }, '{"id":"a\\"b","event":"new \\"kind\\"","data":""}'],
  [{ id: '', event: 'message', data: 'null' }, '{"id":"","event":"message","data":null}'],
])('%j is one line of JSON with its data as it came', (frame, line) => {
  expect(renderFrameJson(frame).text).toBe(`${line}\n`);
});

it('renderFrameJson shows data that nests too deep to be checked as a string', () => {
  const data = '['.repeat(501) + ']'.repeat(501);
  expect(JSON.parse(renderFrameJson({ id: undefined, event: 'x', data }).text)).toEqual({ event: 'x', data });
});

it('renderFrameJson shows data that holds too many values to be checked as a string', () => {
  const data = `[${'{},'.repeat(20_000)}{}]`;
  expect(JSON.parse(renderFrameJson({ id: undefined, event: 'x', data }).text)).toEqual({ event: 'x', data });
});
