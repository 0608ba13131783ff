import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { containmentClasses } from '@svc/protocol/containment-class.ts';
import { ExportedWorkdir, get, refusalOf } from './exported-workdir.ts';
import { ask, exchange, parseResponse, type RawResponse } from '../../../kit/test/http/raw-client.ts';

let plane: ExportedWorkdir;

beforeEach(() => {
  plane = new ExportedWorkdir();
  mkdirSync(join(plane.out, 'dir'));
  writeFileSync(join(plane.out, 'a.txt'), 'a');
  writeFileSync(join(plane.out, 'dir', 'b.txt'), 'b');
  writeFileSync(join(plane.base, 'workdir', 'secret.txt'), 'secret');
  writeFileSync(join(plane.base, 'secret.txt'), 'secret');
});

afterEach(() => plane.close());

const outside = '{"error":"outside_root","message":"The path leaves the export root."}';
const notFound = '{"error":"not_found","message":"There is nothing at this path."}';

describe('a path that would leave the root', () => {
  it.each([
    ['plain', '../secret.txt'],
    ['plain, twice', '../../secret.txt'],
    ['plain, from below', 'dir/../../secret.txt'],
    ['plain, and back into the root', '../out/a.txt'],
    ['plain, at the end', 'dir/..'],
    ['plain, alone', '..'],
    ['escaped, lower case', '%2e%2e/secret.txt'],
    ['escaped, upper case', '%2E%2E/secret.txt'],
    ['escaped, mixed case', '%2e%2E/secret.txt'],
    ['half escaped', '.%2e/secret.txt'],
    ['the other half escaped', '%2E./secret.txt'],
    ['with an escaped slash', '..%2fsecret.txt'],
    ['with an escaped slash, upper case', '..%2Fsecret.txt'],
    ['escaped all through', '%2e%2e%2f%73ecret.txt'],
    ['behind what exists', 'dir/%2e%2e/%2e%2e/secret.txt'],
    ['behind what does not exist', 'none/../../secret.txt'],
    ['behind a file', 'a.txt/../../secret.txt'],
    ['a single point', '.'],
    ['a single point, escaped', '%2e/a.txt'],
    ['a single point within', 'dir/%2E/b.txt'],
    ['absolute', '/etc/passwd'],
    ['absolute, escaped', '%2fetc%2fpasswd'],
    ['absolute, with two slashes', '//etc/passwd'],
    ['absolute, of the root itself', '%2Ftmp'],
    ['an empty component', 'dir//b.txt'],
    ['an empty component, escaped', 'dir%2f%2fb.txt'],
    ['an empty component at the end', 'dir/'],
    ['an empty component at the end of a file', 'a.txt%2F'],
    ['nothing', ''],
    ['nothing but slashes', '///'],
    ['NUL', '%00'],
    ['NUL at the end', 'a.txt%00'],
    ['NUL before an ending', 'a.txt%00.png'],
    ['NUL in a directory', 'dir%00/b.txt'],
    ['overlong points', '%c0%ae%c0%ae/secret.txt'],
    ['longer overlong points', '%e0%80%ae%e0%80%ae/secret.txt'],
    ['the longest overlong points', '%f0%80%80%ae%f0%80%80%ae/secret.txt'],
    ['overlong slash', '..%c0%afsecret.txt'],
    ['overlong NUL', 'a.txt%c0%80'],
    ['a byte that begins nothing', '%ff'],
    ['a character cut short', 'a.txt%c3'],
    ['a character without its beginning', '%a4'],
    ['half a surrogate pair', '%ed%a0%80'],
    ['a character past the last one', '%f4%90%80%80'],
    ['an escape cut short', 'a.txt%'],
    ['an escape cut in half', 'a.txt%2'],
    ['an escape of no digits', '%zz'],
    ['an escape of one digit', 'a%2x'],
    ['an escape with a sign', '%+2'],
    ['an escape of sixteen bits', '%u002e%u002e/secret.txt'],
  ])('%s: %j is refused in every class [D3-PATH-02] [D3-PATH-03] [D3-PATH-04] [D3-PATH-07]', async (_how, path) => {
    for (const achieved of containmentClasses) {
      const port = await plane.open({ achieved });
      const response = await get(port, `/resources/files/${path}`);
      expect(response).toMatchObject({ status: 403, body: outside });
      expect(response.headers).not.toHaveProperty('etag');
    }
  });

  it.each([
    ['escaped twice', '%252e%252e%252fsecret.txt'],
    ['escaped three times', '%25252e%25252e/secret.txt'],
    ['with backslashes', '..\\secret.txt'],
    ['with escaped backslashes', '..%5csecret.txt'],
    ['with backslashes after a drive', 'c:%5c..%5csecret.txt'],
    ['with points of full width', '%ef%bc%8e%ef%bc%8e/secret.txt'],
    ['with a slash of full width', '..%ef%bc%8fsecret.txt'],
    ['with three points', '.../secret.txt'],
    ['with points and a space', '..%20/secret.txt'],
    ['with points and a semicolon', '..;/secret.txt'],
    ['with the home of a user', '~/secret.txt'],
  ])('%s: %j is the name of a file that does not exist [D3-PATH-02]', async (_how, path) => {
    const port = await plane.open();
    expect(await get(port, `/resources/files/${path}`)).toMatchObject({ status: 404, body: notFound });
  });

  it('counts as a name like any other where a file has that name [D3-PATH-02]', async () => {
    const port = await plane.open();
    for (const name of ['..\\secret.txt', '%2e%2e', '...', '..;', '.. ', 'ä+b', '\u{1f600}']) {
      writeFileSync(join(plane.out, name), `named ${name}`);
      const { body } = await get(port, `/resources/files/${encodeURIComponent(name)}`);
      expect(Buffer.from(body, 'latin1').toString('utf8')).toBe(`named ${name}`);
    }
  });

  it('fails before anything is looked up, so also when there is no root', async () => {
    const port = await plane.open({ files: { root: 'none', max_bytes: 10 } });
    expect(refusalOf(await get(port, '/resources/files/..'))).toBe('403 outside_root');
    expect(refusalOf(await get(port, '/resources/files/a.txt'))).toBe('404 not_found');
  });
});

describe('a path of 10,000 characters', () => {
  it.each([
    ['in one component', 'x'.repeat(10_000), '404 not_found'],
    ['in components that do not exist', `${'x/'.repeat(4_999)}xx`, '404 not_found'],
    ['in components that begin in one that does', `${'dir/'.repeat(2_499)}b.tx`, '404 not_found'],
    ['of escapes', '%41'.repeat(3_333), '404 not_found'],
    ['that leave the root', '../'.repeat(3_333), '403 outside_root'],
    ['that come back into the root', `${'dir/../'.repeat(1_428)}a`, '403 outside_root'],
    ['of slashes', '/'.repeat(10_000), '403 outside_root'],
  ])('%s is refused like a short one', async (_how, path, refusal) => {
    const port = await plane.open();
    expect(refusalOf(await get(port, `/resources/files/${path}`))).toBe(refusal);
    expect((await get(port, '/resources/files/a.txt')).body).toBe('a');
  });

  it('never reaches the plane beyond what a request head may hold', async () => {
    const port = await plane.open();
    expect((await get(port, `/resources/files/${'x'.repeat(20_000)}`)).status).toBe(431);
    expect(plane.events).toEqual([]);
  });
});

describe('a request target', () => {
  it.each([
    ['absolute', 'http://127.0.0.1/resources/files/a.txt'],
    ['absolute, of another host', 'http://example.com/resources/files/a.txt'],
    ['an asterisk', '*'],
  ])('%s is refused before any plane is asked', async (_how, target) => {
    const port = await plane.open();
    expect(refusalOf(await get(port, target))).toBe('400 bad_target');
    expect(plane.events).toEqual([]);
  });

  it.each([
    ['/resources/files/a.txt#top', { event_type: 'resource_read', path: 'a.txt#top' }],
    ['/resources/files?a#b', { event_type: 'resource_list' }],
  ])('with a fragment fails before any plane sees it, and the record has it: %s', async (target, event) => {
    const port = await plane.open();
    expect(refusalOf(await get(port, target))).toBe('400 bad_target');
    expect(plane.events).toEqual([{ ...event, outcome: 'bad_target', status: 400 }]);
  });

  it.each([
    ['a relative path', 'resources/files/a.txt'],
    ['a raw NUL', '/resources/files/a.txt\x00'],
    ['a raw tab', '/resources/files/a.txt\t'],
    ['a raw space', '/resources/files/a b'],
    ['a raw byte above ASCII', '/resources/files/\xff'],
    ['raw UTF-8', '/resources/files/\xc3\xa4'],
  ])('with %s fails as malformed', async (_how, target) => {
    const port = await plane.open();
    expect((await get(port, target)).status).toBe(400);
    expect(plane.events).toEqual([]);
  });

  it.each([
    '//resources/files/a.txt',
    '/resources//files/a.txt',
    '/resources/./files/a.txt',
    '/%72esources/files/a.txt',
    '/resources/%66iles/a.txt',
    '/resources%2ffiles/a.txt',
    '/resources\\files\\a.txt',
    '/RESOURCES/files/a.txt',
    '/resources',
  ])('%s addresses no plane: the prefix is taken as it is written', async (target) => {
    const port = await plane.open();
    expect(refusalOf(await get(port, target))).toBe('404 not_found');
  });

  it('may have a query, which selects and changes nothing [D3-GEN-03] [D3-READ-03]', async () => {
    const port = await plane.open();
    for (const query of ['', 'generation=0', '/../../secret.txt', '%00', '?', 'a&b=%zz']) {
      expect((await get(port, `/resources/files/a.txt?${query}`)).body).toBe('a');
      expect(JSON.parse((await get(port, `/resources/files?${query}`)).body)).toMatchObject({
        entries: [{ path: 'a.txt' }, { path: 'dir/b.txt' }],
      });
    }
    expect(refusalOf(await get(port, '/resources/files/?a.txt'))).toBe('403 outside_root');
    expect(refusalOf(await get(port, '/resources/files/a.txt%3Fb'))).toBe('404 not_found');
  });
});

describe('a method other than GET', () => {
  it.each(['HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'MKCOL', 'MOVE', 'COPY', 'LOCK'])(
    '%s is refused and changes nothing [D3-READ-11] [D3-READ-12] [D3-ERR-10]',
    async (method) => {
      const port = await plane.open();
      for (const target of [
        '/resources/files',
        '/resources/files/a.txt',
        '/resources/files/new',
        '/resources/files/dir/',
      ]) {
        const response = await ask(port, `${method} ${target} HTTP/1.1`);
        expect([response.status, response.headers['allow']]).toEqual([405, 'GET']);
      }
      const { body } = await get(port, '/resources/files');
      const { entries } = JSON.parse(body) as { entries: { path: string; size_bytes: number }[] };
      expect(entries.map((entry) => [entry.path, entry.size_bytes])).toEqual([
        ['a.txt', 1],
        ['dir/b.txt', 1],
      ]);
    },
  );

  it.each(['get', 'Get', 'READ', 'GETS'])('%s is no method at all', async (method) => {
    expect((await ask(await plane.open(), `${method} /resources/files HTTP/1.1`)).status).toBe(400);
  });

  it('cannot hide in a header', async () => {
    const response = await ask(await plane.open(), 'GET /resources/files/a.txt HTTP/1.1', {
      headers: ['X-HTTP-Method-Override: DELETE', 'X-Original-URL: /resources/files/dir/b.txt', 'Range: bytes=5-9'],
    });
    expect(response).toMatchObject({ status: 200, body: 'a' });
  });
});

describe('requests on one connection', () => {
  const head = 'HTTP/1.1\r\nHost: localhost\r\n\r\n';

  /** Writes the requests in one piece; the responses by their heads and bodies. */
  async function pipelined(port: number, requests: readonly string[]): Promise<RawResponse[]> {
    const text = await exchange({ port, bytes: [requests.map((request) => `${request} ${head}`).join('')] });
    return text.split(/(?=HTTP\/1\.1 \d)/).map(parseResponse);
  }

  it('end with the first that is read [D3-READ-10]', async () => {
    const port = await plane.open();
    const target = 'GET /resources/files/a.txt';
    const responses = await pipelined(port, [target, 'GET /resources/files/dir/b.txt']);
    expect(responses.map(({ status, body }) => [status, body])).toEqual([[200, 'a']]);
  });

  it('end with the first that is read also when it takes longer than the second', async () => {
    const port = await plane.open();
    writeFileSync(join(plane.out, 'held'), 'h'.repeat(100_000));
    writeFileSync(join(plane.out, 'spooled'), 's'.repeat(9_000_000));
    const target = 'GET /resources/files/a.txt';
    for (const [name, length, letter] of [
      ['held', 100_000, 'h'],
      ['spooled', 9_000_000, 's'],
    ] as const) {
      const responses = await pipelined(port, [`GET /resources/files/${name}`, target]);
      expect(responses.map(({ status }) => status)).toEqual([200]);
      expect(responses[0]?.body === letter.repeat(length)).toBe(true);
    }
  });

  it('get their refusals in order', async () => {
    const port = await plane.open();
    const responses = await pipelined(port, [
      'GET /resources/files/none',
      'HEAD /resources/files/a.txt',
      'GET /resources/files/..',
      'GET /resources/files/dir/b.txt',
    ]);
    expect(responses.map(({ status, body }) => [status, body])).toEqual([
      [404, notFound],
      [405, ''],
      [403, outside],
      [200, 'b'],
    ]);
  });

  it('count as one when the second hides in the body of the first', async () => {
    const port = await plane.open();
    const hidden = `GET /resources/files/dir/b.txt ${head}`;
    const text = await exchange({
      port,
      bytes: [
        `GET /resources/files/a.txt HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
      ],
    });
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
    expect(parseResponse(text).body).toBe('a');
    expect(plane.events).toHaveLength(1);
  });
});
