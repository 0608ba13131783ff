import { describe, expect, it } from 'vitest';

import { ask, exchange } from '../../kit/test/http/raw-client.ts';
import { refusal, sentence, TestReferee } from './referee-kit.ts';

const mebibyte = 1024 * 1024;

describe('the referee', () => {
  it.each([
    '/',
    '/spawn/',
    '/spawnx',
    '/Spawn',
    '/sessions',
    '/status',
    '/healthz',
    '//spawn',
    '/v1/spawn',
    '/./spawn',
  ])('serves nothing at %s [D2-CORE-02] [D2-ERR-18]', async (path) => {
    const referee = await TestReferee.open();
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const answer = await ask(referee.port, `${method} ${path} HTTP/1.1`);
      expect(refusal(answer)).toEqual([404, sentence('nothing is served at this path')]);
    }
  });

  it.each([
    ['/spawn', ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'], 'POST'],
    ['/register', ['GET', 'PUT', 'PATCH', 'OPTIONS'], 'POST'],
    ['/deregister', ['GET', 'PUT', 'DELETE', 'OPTIONS'], 'POST'],
    ['/health', ['POST', 'PUT', 'DELETE', 'OPTIONS'], 'GET, HEAD'],
    ['/status/ses_1', ['POST', 'PUT', 'DELETE', 'OPTIONS'], 'GET, HEAD'],
  ])('takes at %s none of %j [D2-ERR-18]', async (path, methods, allow) => {
    const referee = await TestReferee.open();
    for (const method of methods) {
      const { status, headers, body } = await ask(referee.port, `${method} ${path} HTTP/1.1`);
      expect([status, headers['allow']]).toEqual([405, allow]);
      expect(body).toBe(method === 'HEAD' ? '' : sentence(`this path takes ${allow}`));
    }
  });

  it.each(['%', '%zz', '%ff', 'a%2', ''])('knows no session at /status/%s', async (id) => {
    const referee = await TestReferee.open();
    referee.registry.publish('lead');
    await referee.session('lead');
    expect(refusal(await referee.get(`/status/${id}`))).toEqual([404, sentence('session not found')]);
  });

  it('answers HEAD as GET, without the body', async () => {
    const referee = await TestReferee.open();
    referee.registry.publish('lead');
    const { id } = await referee.session('lead');
    for (const path of ['/health', `/status/${id}`]) {
      const [got, head] = [await referee.get(path), await ask(referee.port, `HEAD ${path} HTTP/1.1`)];
      expect([head.status, head.headers['content-length'], head.body]).toEqual([200, `${got.body.length}`, '']);
    }
  });

  it('takes a body of any media type, or none', async () => {
    const referee = await TestReferee.open();
    referee.registry.publish('lead');
    const body = (id: string): unknown => ({ session_id: id, name: 'lead', version: '1.0.0' });
    expect((await referee.post('/register', { body: body('a') })).status).toBe(200);
    const headers = ['Content-Type: text/plain; charset=latin1'];
    expect((await referee.post('/register', { headers, body: body('b') })).status).toBe(200);
  });

  it.each(['https://example.com', 'http://localhost:7700', 'null', ''])(
    'takes nothing that a web page sends: Origin %j',
    async (origin) => {
      const referee = await TestReferee.open();
      referee.registry.publish('lead');
      const { credential } = await referee.session('lead');
      const headers = [`Origin: ${origin}`];
      for (const [path, body] of [
        ['/register', { session_id: 'ses_b', name: 'lead', version: '1.0.0' }],
        ['/spawn', { name: 'lead', version: '1.0.0' }],
        ['/deregister', { outcome: 'complete' }],
      ] as const) {
        const answer = await referee.post(path, { credential, headers, body });
        expect(refusal(answer)).toEqual([403, sentence('Requests of web pages are not taken.')]);
      }
      expect(await referee.status('ses_b')).toBe(404);
    },
  );

  it('answers to loopback names alone', async () => {
    const referee = await TestReferee.open();
    const answer = await exchange({
      port: referee.port,
      bytes: ['GET /health HTTP/1.1\r\nHost: rebound.example\r\nConnection: close\r\n\r\n'],
    });
    expect(answer).toContain('HTTP/1.1 421 ');
    expect(answer).toContain('\r\n\r\n{"error":"This address answers to localhost and loopback addresses only."}');
  });

  it.each(['/spawn', '/register', '/deregister'])(
    'refuses a body of 11 MiB at %s and serves on [D2-ERR-18]',
    async (path) => {
      const referee = await TestReferee.open();
      const { status, body } = await ask(referee.port, `POST ${path} HTTP/1.1`, {
        body: Buffer.alloc(11 * mebibyte, 'a'),
      });
      expect(status).toBe(413);
      expect(body).toBe('{"error":"The request body exceeds 1048576 bytes."}');
      expect((await referee.get('/health')).status).toBe(200);
    },
  );

  it('refuses an endless chunked body once it is too large, and acts on none of it', async () => {
    const referee = await TestReferee.open();
    referee.registry.publish('lead');
    const start = '{"session_id":"ses_a","name":"lead","version":"1.0.0"}';
    const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
    const answer = await exchange({
      port: referee.port,
      bytes: [
        'POST /register HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n',
        chunk(start),
        chunk(' '.repeat(mebibyte)),
        '0\r\n\r\n',
      ],
    });
    expect(answer).toContain('HTTP/1.1 413 ');
    expect(await referee.status('ses_a')).toBe(404);
  });

  it('takes a large body that it has no use for', async () => {
    const referee = await TestReferee.open();
    referee.registry.publish('lead');
    const envelope = { text: 'a'.repeat(mebibyte - 1_000) };
    const body = { session_id: 'ses_a', name: 'lead', version: '1.0.0', envelope };
    expect((await referee.post('/register', { body })).status).toBe(200);
  });

  it.each(['[', '{"a":'])('refuses a body of many thousand %j', async (open) => {
    const referee = await TestReferee.open();
    const body = open.repeat(100_000);
    for (const path of ['/spawn', '/register', '/deregister']) {
      const answer = await referee.post(path, { body });
      expect(answer.status).toBe(400);
      expect(answer.body).toMatch(/^\{"error":"the body nests too deep: the body must be a JSON object /);
    }
  });

  it('acts on no body that does not end well', async () => {
    const referee = await TestReferee.open();
    referee.registry.publish('lead');
    const body = '{"session_id":"ses_a","name":"lead","version":"1.0.0"}';
    const head = `POST /register HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length + 1}\r\n\r\n`;
    await exchange({ port: referee.port, bytes: [head, body], halfClose: true });
    expect(await referee.status('ses_a')).toBe(404);
  });
});
