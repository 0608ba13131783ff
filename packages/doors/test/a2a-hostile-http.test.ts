import { describe, expect, it } from 'vitest';

import { hangs } from '../../../test/support/fake-driver.ts';
import { exchange, parseResponse, type RawResponse } from '../../kit/test/http/raw-client.ts';
import { type A2aCapsule, useA2aCapsules, userMessage } from './a2a-capsule.ts';

const open = useA2aCapsules();

/** Every path of every door. */
const paths = [
  '/a2a',
  '/a2a/',
  '/a2a/message:send',
  '/a2a/message:stream',
  '/a2a/tasks',
  '/a2a/tasks/x',
  '/a2a/tasks/x:cancel',
  '/a2a/tasks/x:subscribe',
  '/a2a/tasks/x/pushNotificationConfigs',
  '/a2a/tasks/x/pushNotificationConfigs/y',
  '/a2a/extendedAgentCard',
  '/a2a/nothing',
];

const version = 'A2A-Version: 1.0';
const json = 'Content-Type: application/json';

/** A request with all that a sound one has, and these lines too. */
function post(path: string, lines: readonly string[], body: string): string {
  return [`POST ${path} HTTP/1.1`, 'Host: localhost', version, json, ...lines, '', body].join('\r\n');
}

const sent = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: userMessage('x') });
const length = `Content-Length: ${sent.length}`;
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

/** By what is wrong: the status, and the request for a path. */
const unsound: readonly (readonly [string, number, (path: string) => string])[] = [
  ['two hosts', 400, (path) => post(path, ['Host: localhost', length], sent)],
  ['no host', 400, (path) => post(path, [length], sent).replace('Host: localhost\r\n', '')],
  ['an absolute target', 400, (path) => post(`http://localhost${path}`, [length], sent)],
  ['a fragment', 400, (path) => post(`${path}#a`, [length], sent)],
  ['HTTP/0.9', 505, (path) => `GET ${path}\r\n\r\n`],
  ['a name that is not loopback', 421, (path) => post(path, [length], sent).replace('localhost', 'evil.example')],
  ['a page of another origin', 403, (path) => post(path, ['Origin: https://evil.example', length], sent)],
  ['a fetch of another site', 403, (path) => post(path, ['Sec-Fetch-Site: cross-site', length], sent)],
  ['a length and a coding', 400, (path) => post(path, [length, 'Transfer-Encoding: chunked'], chunk(sent))],
  ['two lengths', 400, (path) => post(path, [length, length], sent)],
  ['a coding beside chunked', 501, (path) => post(path, ['Transfer-Encoding: gzip, chunked'], chunk(sent))],
  ['a chunk size that is no number', 400, (path) => post(path, ['Transfer-Encoding: chunked'], `zz\r\n${sent}\r\n`)],
  ['a body that ends early', 400, (path) => post(path, [`Content-Length: ${sent.length + 1}`], sent)],
  ['a chunked body that ends early', 400, (path) => post(path, ['Transfer-Encoding: chunked'], chunk(sent))],
  ['a folded header', 400, (path) => post(path, [length, 'X: a', ' b'], sent)],
  ['a space in a header name', 400, (path) => post(path, [length, 'X : a'], sent)],
  ['17,000 bytes of headers', 431, (path) => post(path, [length, `X: ${'a'.repeat(17_000)}`], sent)],
  ['NUL in the target', 400, (path) => post(`${path}\0`, [length], sent)],
  ['another expectation', 417, (path) => post(path, [length, 'Expect: more'], sent)],
  ['a length of 10 MiB and a byte', 413, (path) => post(path, ['Content-Length: 10485761'], '')],
];

/** A client that has said everything, so that a body that lacks something never gets it. */
async function sayAll(capsule: A2aCapsule, text: string): Promise<RawResponse> {
  return parseResponse(await exchange({ port: capsule.port, bytes: [text], halfClose: true }));
}

/** A client that waits for the other side to close, as it asks it to. */
async function ask(capsule: A2aCapsule, text: string): Promise<RawResponse> {
  return parseResponse(await exchange({ port: capsule.port, bytes: [text] }));
}

describe('an unsound request reaches nothing', () => {
  it.each(paths)('on a socket at %s', async (path) => {
    const capsule = (await open({ turns: [hangs] })).run();
    const answers: unknown[] = [];
    for (const [what, , request] of unsound) {
      const { status, head } = await sayAll(capsule, request(path));
      expect(head.toLowerCase()).not.toContain('access-control');
      answers.push([what, status]);
    }
    expect(answers).toEqual(unsound.map(([what, status]) => [what, status]));
    const { board } = capsule.fixture.session;
    expect(board.accepted).toBe(0);
    await capsule.result('SendMessage', { ...userMessage('x'), configuration: { returnImmediately: true } });
    expect(board.accepted).toBe(1);
  });
});

describe('a request for another path', () => {
  it.each([
    '/a2a%2fmessage:send',
    '/%612a/message:send',
    '/a2a//message:send',
    '/a2a/./message:send',
    '/a2a/../a2a/message:send',
    '/a2a/message%3asend',
    '/a2a/message:send/',
    '/A2A/message:send',
    '/a2a/message:send;x',
    '//a2a/message:send',
    '/a2ax',
  ])('finds nothing at %s', async (path) => {
    const capsule = await open();
    expect((await ask(capsule, post(path, [length, 'Connection: close'], sent))).status).toBe(404);
    expect(capsule.fixture.session.board.accepted).toBe(0);
  });

  it.each(['PUT', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND'])('fails with %s', async (method) => {
    const capsule = await open();
    const answers = new Set<number>();
    for (const path of paths) {
      const text = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${version}\r\nConnection: close\r\n\r\n`;
      answers.add((await ask(capsule, text)).status);
    }
    expect(answers).toEqual(new Set([405, 404]));
  });
});

describe('a body', () => {
  it.each(['/a2a', '/a2a/message:send'])('without an end stops at 10 MiB: %s', async (path) => {
    const capsule = await open();
    const piece = chunk(' '.repeat(1024 * 1024));
    const bytes = [post(path, ['Transfer-Encoding: chunked'], ''), ...Array.from({ length: 12 }, () => piece)];
    const answer = await exchange({ port: capsule.port, bytes });
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(capsule.fixture.session.board.accepted).toBe(0);
  });

  it.each(['/a2a', '/a2a/message:send'])('hides no request behind it: %s', async (path) => {
    const capsule = await open();
    const inner = post('/a2a', [length], sent);
    const answer = await exchange({ port: capsule.port, bytes: [post(path, ['Content-Length: 10485761'], inner)] });
    expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(capsule.fixture.session.board.accepted).toBe(0);
  });

  it.each(['[', '{"a":', '{"message":'])('with many thousand %j fails', async (deep) => {
    const capsule = await open();
    const response = await capsule.http('POST', '/message:send', deep.repeat(100_000));
    expect(response.status).toBe(400);
    const call = await capsule.post(deep.repeat(100_000));
    expect(((await call.json()) as { error: { code: number } }).error.code).toBeLessThan(-32_000);
  });

  it('means nothing with GET and DELETE, and svc still reads it', async () => {
    const capsule = await open();
    const text = ['GET /a2a/tasks HTTP/1.1', 'Host: localhost', version, length, 'Connection: close', '', sent];
    const { status, body } = await ask(capsule, text.join('\r\n'));
    expect([status, (JSON.parse(body) as { totalSize: number }).totalSize]).toEqual([200, 0]);
  });
});
