import { describe, expect, it } from 'vitest';

import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { ask } from '../../kit/test/http/raw-client.ts';
import { RegistryKit, authorized, bareArchive, key, refusal } from './registry-kit.ts';

const endpoints = [
  'GET /v1/artifacts',
  'HEAD /v1/artifacts',
  'POST /v1/artifacts?name=a&version=1&runtime=static',
  'GET /v1/artifacts/a/1',
  'GET /v1/artifacts/../a',
  'DELETE /v1/artifacts/a/1',
  'GET /v1/health',
  'GET /v1',
  'GET /',
  'GET /healthz',
  'POST /healthz',
  'OPTIONS /v1/artifacts',
];

describe('the key', () => {
  it.each(endpoints)('opens %s [D3-AUTH-01] [D3-AUTH-02]', async (requestLine) => {
    const kit = await RegistryKit.open();
    const response = await ask(kit.port, `${requestLine} HTTP/1.1`);
    expect([response.status, response.headers['www-authenticate']]).toEqual([401, 'Bearer']);
    if (requestLine.startsWith('HEAD')) return;
    expect(JSON.parse(response.body)).toEqual({ error: 'unauthorized', message: 'A valid bearer token is required.' });
  });

  it.each([
    `Authorization: Bearer ${key}x`,
    `Authorization: Bearer ${key.slice(0, -1)}`,
    `Authorization: Bearer ${key.toUpperCase()}`,
    'Authorization: Bearer',
    'Authorization: Bearer ',
    `Authorization: Basic ${key}`,
    `Authorization: ${key}`,
    `X-Api-Key: ${key}`,
  ])('cannot be %j [D3-AUTH-02] [D3-REG-17]', async (header) => {
    const kit = await RegistryKit.open();
    const response = await ask(kit.port, 'GET /v1/artifacts/a/1 HTTP/1.1', { headers: [header] });
    expect(refusal(response)).toBe('401 unauthorized');
  });

  it('lets its bearer in, in any case of the scheme [D3-AUTH-01]', async () => {
    const kit = await RegistryKit.open();
    for (const header of [authorized, `authorization: bearer ${key}`]) {
      expect((await ask(kit.port, 'GET /v1/artifacts HTTP/1.1', { headers: [header] })).status).toBe(200);
    }
  });

  it('may be of any letters', async () => {
    const kit = await RegistryKit.open({ key: new Secret('clé-ключ-鍵') });
    const headers = [`Authorization: Bearer ${Buffer.from('clé-ключ-鍵').toString('latin1')}`];
    expect((await ask(kit.port, 'GET /v1/artifacts HTTP/1.1', { headers })).status).toBe(200);
  });

  it('counts before a body is asked for or anything is stored', async () => {
    const kit = await RegistryKit.open();
    const body = await bareArchive();
    const requestLine = 'POST /v1/artifacts?name=a&version=1&runtime=static HTTP/1.1';
    expect(refusal(await ask(kit.port, requestLine, { body }))).toBe('401 unauthorized');
    const headers = ['Expect: 100-continue', `Content-Length: ${body.length}`];
    expect((await ask(kit.port, requestLine, { headers })).head).toMatch(/^HTTP\/1\.1 401 /);
    expect(kit.stored).toEqual([]);
  });

  it('lets its bearer ask after the health', async () => {
    const kit = await RegistryKit.open();
    const response = await kit.ask('GET /healthz');
    expect([response.status, response.body]).toEqual([200, '{"status":"ok"}']);
  });

  it('suffices: a proxy in front may pass on the name it is known by', async () => {
    const kit = await RegistryKit.open();
    const lines = ['GET /v1/artifacts HTTP/1.0', 'Host: registry.example.com', authorized, '', ''];
    const { exchange, parseResponse } = await import('../../kit/test/http/raw-client.ts');
    expect(parseResponse(await exchange({ port: kit.port, bytes: [lines.join('\r\n')] })).status).toBe(200);
  });
});
