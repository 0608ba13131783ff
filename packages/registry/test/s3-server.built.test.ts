import { connect } from 'node:net';

import { describe, expect, it, onTestFinished } from 'vitest';

import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { S3Store } from '../src/s3/s3-store.ts';
import { ask } from '../../kit/test/http/raw-client.ts';
import { temporaryDirectory } from '../../artifacts/test/store/artifacts.ts';
import { authorized, bareArchive, key, refusal, RegistryKit } from './registry-kit.ts';
import { runRegistry, startRegistry } from './registry-process.ts';
import { now, s3Environment, s3Settings, shortLimits } from './s3-kit.ts';
import { refuse, S3StandIn, standInUser } from './s3-stand-in.ts';

const post = 'name=a&version=1&runtime=static';
const get = 'GET /v1/artifacts/a/1';

describe('a registry on S3', () => {
  async function open(standIn: S3StandIn): Promise<{ readonly kit: RegistryKit; readonly cut: Diagnostic[] }> {
    const cut: Diagnostic[] = [];
    const settings = s3Settings('s3://bucket/p', standIn.endpoint, standInUser);
    const onFault = (fault: Diagnostic): void => void cut.push(fault);
    const store = await S3Store.open(settings, { now, onFault, limits: shortLimits });
    onTestFinished(() => store.close());
    return { kit: await RegistryKit.open({ store }), cut };
  }

  it('answers 503 while the service fails, stages and stores nothing, and goes on when it is back', async () => {
    const standIn = await S3StandIn.start();
    const { kit } = await open(standIn);
    const body = await bareArchive();
    standIn.misbehave = (_request, response) => {
      refuse(response, 503, 'SlowDown');
      return true;
    };
    for (const answer of [await kit.publish(post, body), await kit.ask(get)]) {
      expect([refusal(answer), answer.headers['retry-after']]).toEqual(['503 store_unavailable', '5']);
    }
    expect(kit.staged).toEqual([]);
    standIn.misbehave = ({ name }, response) => {
      if (!name.startsWith('p/archives/')) return false;
      response.destroy();
      return true;
    };
    expect(refusal(await kit.publish(post, body))).toBe('503 store_unavailable');
    standIn.misbehave = null;
    expect(refusal(await kit.ask(get))).toBe('404 artifact not found: a@1');
    expect((await kit.publish(post, body)).status).toBe(201);
    expect((await kit.ask(get)).body).toBe(body.toString('latin1'));
    expect([kit.staged, kit.bugs, kit.faults.every(({ code }) => code === 'E-REG-025')]).toEqual([[], [], true]);
  });

  it('answers 500 when it is refused, and says why on its log alone', async () => {
    const standIn = await S3StandIn.start();
    const { kit } = await open(standIn);
    standIn.misbehave = ({ method }, response) => {
      if (method !== 'PUT') return false;
      refuse(response, 403, 'AccessDenied');
      return true;
    };
    const answer = await kit.publish(post, await bareArchive());
    expect([refusal(answer), answer.body.includes('AccessDenied')]).toEqual(['500 io_error', false]);
    expect(kit.faults.map(({ code, message }) => `${code} ${message}`)).toEqual([
      'E-REG-024 cannot store a@1@1: the service answered 403 AccessDenied',
    ]);
  });

  it('cuts a download whose bytes are not those of the record: a client never has all of them', async () => {
    const standIn = await S3StandIn.start();
    const { kit, cut } = await open(standIn);
    const body = await bareArchive('x'.repeat(300_000));
    await kit.publish(post, body);
    const kept = standIn.objects.get(standIn.names('p/archives/')[0] ?? '');
    if (kept !== undefined) kept.body = Buffer.from(body).fill(1, body.length - 1);
    const answer = await kit.ask(get);
    expect(Number(answer.headers['content-length'])).toBe(body.length);
    expect(answer.body.length).toBeLessThan(body.length);
    expect([cut.map(({ code }) => code), kit.bugs]).toEqual([['E-REG-023'], []]);
    expect((await kit.ask('GET /healthz')).status).toBe(200);
  });

  it('gives parts of an archive, and asks the service for those parts only', async () => {
    const standIn = await S3StandIn.start();
    const { kit } = await open(standIn);
    const body = await bareArchive();
    await kit.publish(post, body);
    const ranges: unknown[] = [];
    standIn.misbehave = ({ name, headers }) => {
      if (name.startsWith('p/archives/')) ranges.push(headers.range);
      return false;
    };
    const part = await kit.ask(get, { headers: ['Range: bytes=-4'] });
    const from = body.length - 4;
    expect([part.status, part.body]).toEqual([206, body.subarray(from).toString('latin1')]);
    expect(part.headers['content-range']).toBe(`bytes ${from}-${body.length - 1}/${body.length}`);
    expect(ranges).toEqual([`bytes=${from}-${body.length - 1}`]);
  });

  it('ends the transfer from the service when the client leaves', async () => {
    const standIn = await S3StandIn.start();
    const { kit, cut } = await open(standIn);
    await kit.publish(post, await bareArchive());
    const left = new Promise<void>((resolve) => {
      standIn.misbehave = ({ name }, response) => {
        if (!name.startsWith('p/archives/')) return false;
        const length = standIn.objects.get(name)?.body.length ?? 0;
        response.writeHead(200, { 'content-length': length }).flushHeaders();
        response.on('close', resolve);
        // A client that ends its half might still read.
        socket.resetAndDestroy();
        return true;
      };
    });
    const socket = connect(kit.port, '127.0.0.1');
    socket.write(`${get} HTTP/1.1\r\nHost: x\r\n${authorized}\r\n\r\n`);
    await left;
    expect([cut, kit.bugs]).toEqual([[], []]);
  });
});

describe('svc-registry --store', () => {
  it('serves from the bucket, says so, and keeps the secret out of its output', async () => {
    const standIn = await S3StandIn.start();
    const env = { ...s3Environment(standIn.endpoint, standInUser), REGISTRY_STORE: 's3://bucket/p' };
    const { process: server, port } = await startRegistry(temporaryDirectory(), env);
    expect(server.stderr).toContain(', data in s3://bucket/p/\n');
    const body = await bareArchive();
    const published = await ask(port, `POST /v1/artifacts?${post} HTTP/1.1`, { headers: [authorized], body });
    expect(published.status).toBe(201);
    expect(standIn.names('p/records/')).toEqual(['p/records/a@1@1']);
    const secret = standInUser.secretAccessKey;
    await ask(port, `GET /${secret} HTTP/1.1`, { headers: [authorized] });
    await server.printed(/GET \/\S+ 404 /);
    expect(server.stdout + server.stderr).not.toContain(secret);
  });

  it('ends at its signal, whatever connections to the service it keeps', async () => {
    const standIn = await S3StandIn.start();
    const env = { ...s3Environment(standIn.endpoint, standInUser), REGISTRY_STORE: 's3://bucket/p' };
    const { process: server } = await startRegistry(temporaryDirectory(), env);
    server.child.kill('SIGTERM');
    expect(await server.ended).toMatchObject({ code: 0, stderr: expect.stringMatching(/\nstopped\n$/) });
  });

  it('ends before it listens, with 1, when the service would let publishes replace one another', async () => {
    const standIn = await S3StandIn.start();
    standIn.misbehave = (request, response) => {
      standIn.answer({ ...request, headers: { ...request.headers, 'if-none-match': undefined } }, response);
      return true;
    };
    const env = { REGISTRY_API_KEY: key, REGISTRY_BIND: '127.0.0.1:0', HOME: temporaryDirectory() };
    const args = ['--store', 's3://bucket'];
    const end = await runRegistry(args, { ...env, ...s3Environment(standIn.endpoint, standInUser) });
    expect([end.code, end.stdout]).toEqual([1, '']);
    expect(end.stderr).toMatch(/^error\[E-REG-026\]: [^\n]*\nhint: [^\n]*\n$/);
  });

  it('ends with 2 when a credential is missing or the address is invalid', async () => {
    const env = { REGISTRY_API_KEY: key, HOME: temporaryDirectory() };
    const missing = await runRegistry(['--store', 's3://bucket'], { ...env, AWS_ACCESS_KEY_ID: 'a' });
    expect([missing.code, missing.stderr]).toEqual([
      2,
      'error[E-REG-021]: AWS_SECRET_ACCESS_KEY is not set\nhint: a store on S3 needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY\n',
    ]);
    const other = await runRegistry([], { ...env, REGISTRY_STORE: '/var/data' });
    expect([other.code, other.stderr.split('\n')[0]]).toEqual([
      2,
      'error[E-REG-021]: the store is "/var/data", which is not a bucket',
    ]);
  });
});
