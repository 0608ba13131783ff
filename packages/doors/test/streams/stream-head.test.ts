import { describe, expect, it } from 'vitest';

import { callBytes, completedBytes, hello, useStreamDoors } from './stream-door.ts';

const openDoor = useStreamDoors();

/** The lines of a head; the one that differs from run to run has its form checked and is left out. */
function headLines(head: string): string[] {
  expect(head.endsWith('\r\n\r\n')).toBe(true);
  const lines = head.slice(0, -4).split('\r\n');
  return lines.filter((line) => !/^Date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/.test(line));
}

const eventStreamHead = [
  'HTTP/1.1 200 OK',
  'content-type: text/event-stream',
  'cache-control: no-cache',
  'connection: keep-alive',
];

describe('the head of an event stream', () => {
  it('has, for stream/watch, these headers in this order, no length and no chunks [D1-STREAM-07, D1-STREAM-08, D1-STREAM-23]', async () => {
    const door = await openDoor();
    const reader = await door.watch();
    expect(headLines(reader.head)).toEqual(eventStreamHead);
    door.fixture.stream.end();
    expect((await reader.untilClosed()).body).toBe(
      'event: connection-ack\ndata: {"role":"observer","conversation_mode":"stateless"}\n\nevent: capsule-closed\ndata: {}\n\n',
    );
  });

  it('has, for message/stream, these headers in this order, no length and no chunks [D1-STREAM-07, D1-STREAM-08, D1-STREAM-16]', async () => {
    const door = await openDoor();
    const reader = await door.submit();
    expect(headLines(reader.head)).toEqual(eventStreamHead);
    expect(reader.body).toBe('');
    door.completed(3n);
    expect((await reader.untilClosed()).body).toBe(completedBytes(3));
  });

  it('comes at once, before there is any frame [D1-STREAM-16]', async () => {
    const door = await openDoor();
    const reader = await door.call('message/stream', hello);
    await reader.untilHead();
    expect(reader.ended).toBe(false);
    expect(reader.bytes.toString()).toMatch(/\r\n\r\n$/);
  });

  it('stays the same for HTTP/1.0, whose body ends with the connection too', async () => {
    const door = await openDoor();
    const reader = await door.connect();
    reader.send(callBytes('stream/watch', {}).replace('HTTP/1.1', 'HTTP/1.0'));
    await reader.until('event: connection-ack\n');
    expect(headLines(reader.head)).toEqual(eventStreamHead);
  });

  it('stays the same for a request whose body comes in chunks', async () => {
    const door = await openDoor();
    const reader = await door.connect();
    const body = '{"jsonrpc":"2.0","id":1,"method":"stream/watch"}';
    reader.send(
      `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    );
    await reader.until('event: connection-ack\n');
    expect(headLines(reader.head)).toEqual(eventStreamHead);
  });
});

describe('a call that is no event stream', () => {
  const json = (length: number): string[] => [
    'HTTP/1.1 200 OK',
    'content-type: application/json',
    `content-length: ${length}`,
    'Connection: keep-alive',
    'Keep-Alive: timeout=5',
  ];

  it('message/stream of a capsule that takes no tasks is answered in JSON [D1-STREAM-10]', async () => {
    const door = await openDoor({ acceptance: { taskAcceptance: 'none', afterTask: 'exit' } });
    const reader = await door.call('message/stream', hello, ['Last-Event-ID: 0']);
    await reader.until('}}');
    expect(reader.body).toBe('{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}');
    expect(headLines(reader.head)).toEqual(json(77));
  });

  it.each(['message/stream', 'stream/watch'])(
    '%s without an id is an invalid request and starts nothing',
    async (method) => {
      const door = await openDoor();
      const answer =
        '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: id must be a string or a number that a double holds exactly"}}';
      for (const id of [undefined, null]) {
        const reader = await door.connect();
        const body = JSON.stringify({ jsonrpc: '2.0', id, method, params: hello });
        reader.send(
          `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        );
        await reader.until('}}');
        expect(reader.body).toBe(answer);
        expect(headLines(reader.head)).toEqual(json(140));
      }
      expect(door.fixture.traced).toEqual([]);
    },
  );

  it.each(['message/Stream', 'stream/watch ', 'Stream/watch'])('%j is no method', async (method) => {
    const door = await openDoor();
    const reader = await door.call(method, hello);
    await reader.until('}}');
    expect(reader.body).toBe('{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}');
  });
});
