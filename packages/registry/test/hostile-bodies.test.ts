import { connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';

import { describe, expect, it, onTestFinished } from 'vitest';

import { ask, received } from '../../kit/test/http/raw-client.ts';
import { zipBytes } from '../../artifacts/test/store/zip-bytes.ts';
import { RegistryKit, authorized, bareArchive, refusal, toolArchive } from './registry-kit.ts';

const query = 'name=echo&version=1.0.0&runtime=wasm';
const mebibyte = 1024 * 1024;

/** A connection that has sent the head of a publish, and so much of a body. */
function begin(port: number, headers: readonly string[], body: Buffer | string = ''): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => socket.destroy());
  onTestFinished(() => void socket.destroy());
  const head = [`POST /v1/artifacts?${query} HTTP/1.1`, 'Host: localhost', authorized, ...headers, '', ''];
  socket.write(head.join('\r\n'));
  socket.write(body);
  return socket;
}

/** Waits until the directory below `staging` of an upload is there, or all of them are gone. */
async function untilStaged(kit: RegistryKit, isThere: boolean): Promise<void> {
  while (kit.staged.length > 0 !== isThere) await turn();
}

describe('a body that is no archive', () => {
  const manifest = { name: 'svc.yaml', data: Buffer.from('name: echo\nversion: 1.0.0\nruntime: tool\n') };
  const small = { name: 'x', data: Buffer.from('x') };

  it.each<[string, () => Promise<Buffer> | Buffer, RegExp]>([
    ['an empty one', () => Buffer.alloc(0), /not a readable zip archive/],
    ['text', () => Buffer.from('PK? no'), /not a readable zip archive/],
    ['a truncated one', async () => (await toolArchive('echo')).subarray(0, -1), /not a readable zip archive/],
    ['one without its first byte', async () => (await toolArchive('echo')).subarray(1), /archive/],
    ['a damaged entry', () => zipBytes([manifest, { ...small, crc: 1 }]), /entry "x" has a wrong checksum/],
    ['a nested path out', () => zipBytes([manifest, { ...small, name: 'a/../../x' }]), /has a "\.\." component/],
    ['an absolute path', () => zipBytes([manifest, { ...small, name: '/etc/x' }]), /has an absolute path/],
    ['a link', () => zipBytes([manifest, { ...small, mode: 0o120777 }]), /is a symbolic link/],
    ['the same name twice', () => zipBytes([small, small]), /is there twice/],
    ['a deep path', () => zipBytes([{ ...small, name: 'a/'.repeat(40) + 'x' }]), /is nested too deep/],
    [
      'a bomb that admits it',
      () => zipBytes([{ name: 'x', data: Buffer.alloc(mebibyte), deflate: true, size: 600 * mebibyte }]),
      /^the archive unpacks to more than 500 MiB\. No svc would install it; --max-bytes does not change this limit\.$/,
    ],
    [
      'a bomb that does not',
      () => zipBytes([{ name: 'x', data: Buffer.alloc(512 * mebibyte), deflate: true, size: 10 }]),
      /unpacks to more bytes than it declares/,
    ],
    [
      '10,001 entries',
      () => zipBytes(Array.from({ length: 10_001 }, (_, index) => ({ name: `f${index}` }))),
      /more than 10000 entries/,
    ],
    [
      'a manifest of 2 MiB',
      () => zipBytes([{ name: 'svc.yaml', data: Buffer.alloc(2 * mebibyte, 'a') }]),
      /larger than 1 MiB/,
    ],
  ])('%s', async (_what, body, message) => {
    const kit = await RegistryKit.open();
    const response = await kit.publish(query, await body());
    expect(refusal(response)).toBe('400 invalid archive');
    expect((JSON.parse(response.body) as { message: string }).message).toMatch(message);
    expect([kit.stored, kit.staged, kit.faults, kit.bugs]).toEqual([[], [], [], []]);
    expect((await kit.publish(query, await toolArchive('echo'))).status).toBe(201);
  });

  it('gives 400 and leaves nothing, and 10,000 entries are an archive', async () => {
    const kit = await RegistryKit.open();
    const body = zipBytes(Array.from({ length: 10_000 }, (_, index) => ({ name: `d${index % 100}/f${index}` })));
    expect((await kit.publish(query, body)).status).toBe(201);
  });

  it('any change of any bytes is stored as it is or refused, and never a bug', async () => {
    const kit = await RegistryKit.open();
    const archive = await toolArchive('echo');
    const statuses = new Set<number>();
    for (let index = 0; index < archive.length; index += 7) {
      const changed = Buffer.from(archive);
      changed[index] = (changed[index] ?? 0) ^ 0xff;
      const response = await kit.publish(`name=echo&version=1.0.0&runtime=wasm&platform=a-p${index}`, changed);
      statuses.add(response.status);
    }
    expect([...statuses].filter((status) => status !== 400 && status !== 201)).toEqual([]);
    expect([statuses.has(400), kit.bugs, kit.faults, kit.staged]).toEqual([true, [], [], []]);
  });
});

describe('a body above the limit is 413, naming it, and leaves nothing', () => {
  it('by its announced length, before it is asked for', async () => {
    const kit = await RegistryKit.open({ maxBytes: 1000 });
    const headers = ['Expect: 100-continue', 'Content-Length: 1001'];
    const response = await kit.ask(`POST /v1/artifacts?${query}`, { headers });
    expect(response.head).toMatch(/^HTTP\/1\.1 413 /);
    expect(JSON.parse(response.body)).toEqual({
      error: 'body_too_large',
      message: 'The request body exceeds 1000 bytes.',
    });
  });

  it('as soon as it has come, when it did not say', async () => {
    const kit = await RegistryKit.open({ maxBytes: mebibyte });
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
    const socket = begin(kit.port, ['Transfer-Encoding: chunked'], chunk.repeat(17));
    expect(await received(socket, '"body_too_large"')).toContain('HTTP/1.1 413 ');
    await untilStaged(kit, false);
    expect(kit.stored).toEqual([]);
  });

  it('except at the limit itself', async () => {
    const archive = await toolArchive('echo');
    const kit = await RegistryKit.open({ maxBytes: archive.length });
    expect((await kit.publish(query, archive)).status).toBe(201);
  });
});

describe('a body is taken in every legal form', () => {
  it('asked for with 100 Continue once the head is in order', async () => {
    const kit = await RegistryKit.open();
    const archive = await toolArchive('echo');
    const socket = begin(kit.port, ['Expect: 100-continue', `Content-Length: ${archive.length}`]);
    await received(socket, 'HTTP/1.1 100 Continue');
    socket.write(archive);
    expect(await received(socket, 'artifact_id')).toContain('HTTP/1.1 201 Created');
  });

  it('in chunks', async () => {
    const kit = await RegistryKit.open();
    const archive = await toolArchive('echo');
    const socket = begin(kit.port, ['Transfer-Encoding: chunked']);
    socket.write(`${archive.length.toString(16)}\r\n`);
    socket.write(archive);
    socket.write('\r\n0\r\n\r\n');
    expect(await received(socket, 'artifact_id')).toContain('HTTP/1.1 201 Created');
  });
});

describe('a sender that does not keep its word leaves nothing', () => {
  it.each([
    ['goes away', (socket: Socket) => void socket.destroy()],
    ['ends before the length it announced', (socket: Socket) => void socket.end()],
    ['resets the connection', (socket: Socket) => void socket.resetAndDestroy()],
  ])('when it %s', async (_what, leave) => {
    const kit = await RegistryKit.open();
    const archive = await toolArchive('echo');
    const socket = begin(kit.port, [`Content-Length: ${archive.length + 1}`], archive);
    await untilStaged(kit, true);
    leave(socket);
    await untilStaged(kit, false);
    while (kit.answered.length === 0) await turn();
    expect(kit.answered).toEqual(['POST -']);
    expect([kit.stored, kit.faults, kit.bugs]).toEqual([[], [], []]);
    expect((await kit.publish(query, archive)).status).toBe(201);
  });

  it('when its chunks are malformed', async () => {
    const kit = await RegistryKit.open();
    const archive = await toolArchive('echo');
    const socket = begin(kit.port, ['Transfer-Encoding: chunked'], `${archive.length.toString(16)}\r\n`);
    socket.write(archive);
    await untilStaged(kit, true);
    socket.write('\r\nnot a length\r\n');
    await untilStaged(kit, false);
    expect([kit.stored, kit.bugs]).toEqual([[], []]);
  });

  it('when it sends more than it announced: what was announced counts', async () => {
    const kit = await RegistryKit.open();
    const archive = await bareArchive();
    const socket = begin(kit.port, [`Content-Length: ${archive.length - 1}`], archive);
    expect(await received(socket, '\r\n\r\n')).toContain('HTTP/1.1 400 ');
    await untilStaged(kit, false);
    while (kit.answered.length === 0) await turn();
    expect([kit.stored, kit.bugs]).toEqual([[], []]);
  });

  it('when it has slowed to a stop, with 408', async () => {
    const kit = await RegistryKit.open({ slowest: { bytes: 1000, ms: 50 } });
    const socket = begin(kit.port, ['Content-Length: 5000'], 'x'.repeat(2_500));
    const answer = await received(socket, '"body_too_slow"');
    expect(answer).toContain('HTTP/1.1 408 Request Timeout');
    expect(answer).toContain('Less than 1000 bytes came within 0.05 seconds.');
    await untilStaged(kit, false);
    expect([kit.stored, kit.bugs]).toEqual([[], []]);
  });

  it('when it sends its head and nothing else', async () => {
    const kit = await RegistryKit.open({ slowest: { bytes: 1, ms: 50 } });
    const socket = begin(kit.port, ['Content-Length: 5000']);
    expect(await received(socket, '"body_too_slow"')).toContain('HTTP/1.1 408 ');
  });
});

it('a body that is taken whole is not waited for without an end', async () => {
  const kit = await RegistryKit.open({ wholeBodyMs: 50 });
  const socket = connect(kit.port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const target = `/v1/signatures/${'a'.repeat(64)}`;
  socket.write(`POST ${target} HTTP/1.1\r\nHost: localhost\r\n${authorized}\r\nContent-Length: 100\r\n\r\n{`);
  const answer = await received(socket, '"body_too_slow"');
  expect(answer).toContain('HTTP/1.1 408 Request Timeout');
  expect(answer).toContain('The request body did not arrive within 0.05 seconds.');
  expect(kit.bugs).toEqual([]);
});

it('a body nobody asked for is not waited for', async () => {
  const kit = await RegistryKit.open();
  const headers = [authorized, 'Content-Length: 100000'];
  expect((await ask(kit.port, 'GET /v1/artifacts HTTP/1.1', { headers })).status).toBe(200);
});
