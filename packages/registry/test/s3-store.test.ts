import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';

import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';

import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import type { StagedArchive } from '../src/object-store.ts';
import { S3Store } from '../src/s3/s3-store.ts';
import { StagingArea } from '../src/staging.ts';
import { temporaryDirectory } from '../../artifacts/test/store/artifacts.ts';
import { objectStoreContract } from './object-store-contract.ts';
import { faultOf, now, openOn, s3Settings, shortLimits } from './s3-kit.ts';
import { always, atFirst, cutting, losingAnswer, refusing, silent } from './s3-misbehaviour.ts';
import { S3StandIn, standInUser, type Misbehaviour, type SeenRequest } from './s3-stand-in.ts';

/** As proxies answer. */
const notFoundPage: Misbehaviour = (_request, response) => {
  response.writeHead(404, { 'content-type': 'text/plain' }).end('404 page not found\n');
  return true;
};

objectStoreContract('S3, on a stand-in', async () => {
  const standIn = await S3StandIn.start();
  const staging = await StagingArea.open(temporaryDirectory());
  return { staging, store: async () => (await openOn(standIn)).store };
});

describe('the store on S3, of a service that fails', () => {
  let standIn: S3StandIn;
  let store: S3Store;
  let faults: Diagnostic[];
  let staging: StagingArea;

  beforeEach(async () => {
    standIn = await S3StandIn.start();
    ({ store, faults } = await openOn(standIn));
    staging = await StagingArea.open(temporaryDirectory());
    standIn.seen.length = 0;
  });

  async function staged(text = 'text'): Promise<StagedArchive> {
    const archive = await staging.receive(pieces(text));
    onTestFinished(async () => await staging.discard(archive));
    return archive;
  }

  async function put(key = 'a@1@1', text = 'text'): Promise<'stored' | 'taken'> {
    return await store.put(key, { record: `of ${text.slice(0, 10)}`, archive: await staged(text) });
  }

  it.each([
    ['500', refusing(500, 'InternalError')],
    ['503 SlowDown', refusing(503, 'SlowDown')],
    ['429', refusing(429, 'TooManyRequests')],
    ['409 of a conflict', refusing(409, 'ConditionalRequestConflict')],
    ['400 RequestTimeout', refusing(400, 'RequestTimeout')],
    ['a cut connection', cutting],
    ['silence', silent],
  ])('asks again after %s, for an archive, for its record and for reading', async (_name, what) => {
    const places = ['PUT p/archives/', 'PUT p/records/', 'GET p/records/', 'GET p/archives/', 'GET '];
    for (const [index, where] of places.entries()) {
      const key = `a@1@${index + 1}`;
      standIn.misbehave = atFirst(2, where, what);
      expect(await put(key), where).toBe('stored');
      expect(await store.readRecord(key), where).toBe('of text');
      expect(await textOf(await store.openArchive(key)), where).toBe('text');
      expect(await store.listKeys(), where).toContain(key);
    }
    expect(faults).toEqual([]);
  });

  it('gives up after three attempts, says why, and has stored nothing that shows', async () => {
    const cases: [string, Misbehaviour, string][] = [
      ['PUT p/archives/', refusing(500, 'InternalError'), 'the service answered 500 InternalError'],
      ['PUT p/archives/', cutting, 'the connection was closed before everything had gone over it'],
      ['PUT p/records/', refusing(503, 'SlowDown'), 'the service answered 503 SlowDown'],
      ['PUT p/records/', silent, 'nothing came for 0.3 s'],
    ];
    for (const [where, what, reason] of cases) {
      standIn.seen.length = 0;
      standIn.misbehave = always(where, what);
      expect(await faultOf(put())).toBe(`E-REG-025 cannot store a@1@1: ${reason}`);
      expect(standIn.seen.filter((line) => line.startsWith(where))).toHaveLength(3);
      standIn.misbehave = null;
      expect(await store.listKeys()).toEqual([]);
      expect(await store.openArchive('a@1@1')).toBe(null);
    }
    expect(await put()).toBe('stored');
  });

  it('does not ask again when it is refused', async () => {
    standIn.misbehave = always('PUT p/archives/', refusing(403, 'AccessDenied'));
    expect(await faultOf(put())).toBe('E-REG-024 cannot store a@1@1: the service answered 403 AccessDenied');
    expect(standIn.seen).toHaveLength(1);
  });

  it('knows its own record again when the answer to its commit was lost', async () => {
    standIn.misbehave = atFirst(1, 'PUT p/records/', losingAnswer);
    expect(await put()).toBe('stored');
    expect(standIn.seen.filter((line) => line.startsWith('PUT p/records/'))).toHaveLength(2);
    expect(await textOf(await store.openArchive('a@1@1'))).toBe('text');
  });

  it('keeps the archive of a commit whose outcome it cannot learn: its record may be there', async () => {
    standIn.misbehave = (request, response, service) =>
      always('PUT p/records/', losingAnswer)(request, response, service) ||
      always('GET p/records/', cutting)(request, response, service);
    expect(await faultOf(put())).toMatch(/^E-REG-025 /);
    standIn.misbehave = null;
    expect(await textOf(await store.openArchive('a@1@1'))).toBe('text');
  });

  it('removes the archive of a lost race at once', async () => {
    await put('a@1@1', 'one');
    expect(await put('a@1@1', 'two')).toBe('taken');
    expect(standIn.names('p/archives/')).toHaveLength(1);
    expect(await textOf(await store.openArchive('a@1@1'))).toBe('one');
  });

  it('has lost the race also when its own archive cannot be removed, and reports it', async () => {
    await put('a@1@1', 'one');
    standIn.misbehave = always('DELETE ', refusing(403, 'AccessDenied'));
    expect(await put('a@1@1', 'two')).toBe('taken');
    expect(faults.map(({ code }) => code)).toEqual(['E-REG-024']);
  });

  it.each([
    [
      'other bytes of the same length',
      (body: Buffer) => Buffer.from(body).fill('y', 699_999),
      /^E-REG-023 .* not those that were published$/,
    ],
    ['fewer bytes', (body: Buffer) => body.subarray(1), /^E-REG-023 .* not the 700000 bytes /],
    ['more bytes', (body: Buffer) => Buffer.concat([body, body]), /^E-REG-023 .* not the 700000 bytes /],
    ['no bytes', () => Buffer.alloc(0), /^E-REG-023 .* not the 700000 bytes /],
  ])('ends a download of %s in an error before its last byte, and reports it', async (_name, change, message) => {
    await put('a@1@1', 'x'.repeat(700_000));
    const [name = ''] = standIn.names('p/archives/');
    const kept = standIn.objects.get(name);
    if (kept !== undefined) kept.body = change(kept.body);
    const source = await store.openArchive('a@1@1');
    let received = 0;
    source?.on('data', (chunk: Buffer) => (received += chunk.length));
    const [, fault] = await endOf(source);
    expect(`${(fault as Diagnostic).code} ${fault?.message}`).toMatch(message);
    expect(received).toBeLessThan(700_000);
    expect(faults).toEqual([fault]);
  });

  it.each([
    [
      'is cut',
      (response: ServerResponse) => void response.destroy(),
      /the connection was closed before everything had gone over it$/,
    ],
    ['stalls', () => {}, /nothing came for 0.3 s$/],
  ])('ends a download that %s in an error, and reports it', async (_name, stop, message) => {
    await put('a@1@1', 'x'.repeat(700_000));
    standIn.misbehave = always('GET p/archives/', (_request, response) => {
      response.writeHead(200, { 'content-length': 700_000 });
      response.write(Buffer.alloc(300_000, 'x'), () => stop(response));
      return true;
    });
    const source = await store.openArchive('a@1@1');
    source?.resume();
    const [ended, fault] = await endOf(source);
    expect([ended, (fault as Diagnostic).code]).toEqual(['error', 'E-REG-025']);
    expect(fault?.message).toMatch(message);
    expect(faults).toEqual([fault]);
  });

  it('waits for who reads a download as long as that takes, and reads no further ahead', async () => {
    await put('a@1@1', 'x'.repeat(12_000_000));
    const source = await store.openArchive('a@1@1');
    source?.read(0);
    const isFull = (): boolean => source !== null && source.readableLength >= source.readableHighWaterMark;
    while (!isFull()) await new Promise(setImmediate);
    // Meanwhile the service is waited for in vain, three times as long as it may be silent.
    standIn.misbehave = silent;
    expect(await faultOf(store.readRecord('b@1@1'))).toMatch(/^E-REG-025 .* nothing came for 0\.3 s$/);
    expect(source?.readableLength).toBeLessThan(2_000_000);
    expect((await textOf(source)).length).toBe(12_000_000);
    expect(faults).toEqual([]);
  });

  it('refuses a part that is not the one asked for', async () => {
    await put('a@1@1', 'abcdef');
    const other = (request: SeenRequest): SeenRequest => ({
      ...request,
      headers: { ...request.headers, range: 'bytes=0-1' },
    });
    standIn.misbehave = always('GET p/archives/', (request, response, service) => {
      service.answer(other(request), response);
      return true;
    });
    const fault = 'E-REG-023 cannot read the archive of a@1@1: the service sends another part than was asked for';
    expect(await faultOf(store.openArchive('a@1@1', { first: 2, last: 3 }))).toBe(fault);
  });

  it('takes half a listing, or one that goes in circles, for none', async () => {
    await put();
    const half: Misbehaviour = (_request, response) => {
      response.end('<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>p/records/a@1@1</Key>');
      return true;
    };
    standIn.misbehave = always('GET ', half);
    expect(await faultOf(store.listKeys())).toMatch(/^E-REG-025 .* only a part of one$/);
    standIn.seen.length = 0;
    standIn.misbehave = always('GET ', ({ query }, response) => {
      const next = query.get('continuation-token') === 'a' ? 'b' : 'a';
      const page = `<IsTruncated>true</IsTruncated><NextContinuationToken>${next}</NextContinuationToken>`;
      response.end(`<ListBucketResult>${page}</ListBucketResult>`);
      return true;
    });
    expect(await faultOf(store.listKeys())).toMatch(/^E-REG-025 .* do not end$/);
    expect(standIn.seen).toHaveLength(3);
  });

  it('distinguishes a record that was altered from a missing one', async () => {
    await put();
    const kept = standIn.objects.get('p/records/a@1@1');
    if (kept !== undefined) kept.body = Buffer.from('{"archive":"../x"}');
    expect(await faultOf(store.readRecord('a@1@1'))).toMatch(/^E-REG-023 /);
    expect(await faultOf(store.openArchive('b@1@1').then(() => store.openArchive('a@1@1')))).toMatch(/^E-REG-023 /);
  });

  it('takes a 404 for the absence of an object only where the service says so', async () => {
    await put();
    await store.putState('a@1@1', 'blocked');
    for (const said of [refusing(404, 'NoSuchBucket'), notFoundPage]) {
      standIn.misbehave = always('GET p/', said);
      const reads = [store.readRecord('a@1@1'), store.readState('a@1@1'), store.openArchive('a@1@1')];
      for (const fault of await Promise.all(reads.map(faultOf))) expect(fault).toMatch(/^E-REG-024 /);
    }
    standIn.misbehave = null;
    expect([await store.readState('b@1@1'), await store.openArchive('b@1@1')]).toEqual([null, null]);
  });

  it('sweeps no archive of a key whose record is listed and then said to be absent', async () => {
    await put();
    const [kept = ''] = standIn.names('p/archives/');
    const changed = new Date(Date.now() - 25 * 60 * 60_000);
    Object.assign(standIn.objects.get(kept) ?? {}, { changed });
    standIn.objects.set(`p/archives/a@1@1/${'1'.repeat(32)}`, { body: Buffer.from('left'), changed });
    standIn.misbehave = always('GET p/records/', refusing(404, 'NoSuchKey'));
    await store.sweep();
    expect(standIn.names('p/archives/')).toContain(kept);
  });

  it('does not commit on a machine that slept while it stored', async () => {
    let slept = false;
    const clock = (): Date => new Date(slept ? 3 * 60 * 60_000 : 0);
    const sleeper = (await openOn(standIn, { now: clock })).store;
    standIn.misbehave = always('PUT p/archives/', () => {
      slept = true;
      return false;
    });
    const fault = 'E-REG-025 cannot store a@1@1: it took too long';
    expect(await faultOf(sleeper.put('a@1@1', { record: '1', archive: await staged() }))).toBe(fault);
    expect(standIn.names('p/records/')).toEqual([]);
  });

  it('sweeps what has been left for a day and is referred to by nothing, and nothing else', async () => {
    await put('a@1@1', 'kept');
    await put('b@1@1', 'kept too');
    const [kept = '', keptToo = ''] = standIn.names('p/archives/');
    const dayAgo = new Date(Date.now() - 25 * 60 * 60_000);
    const leave = (name: string, changed: Date): void =>
      void standIn.objects.set(name, { body: Buffer.from('left'), changed });
    const id = (digit: string): string => digit.repeat(32);
    leave(`p/archives/a@1@1/${id('1')}`, dayAgo);
    leave(`p/archives/a@1@2/${id('2')}`, dayAgo);
    leave(`p/archives/probe/${id('3')}`, dayAgo);
    leave(`p/archives/a@1@3/${id('4')}`, new Date());
    leave('p/archives/notes.txt', dayAgo);
    leave('other/archives/a@1@1/x', dayAgo);
    for (const name of [kept, keptToo]) Object.assign(standIn.objects.get(name) ?? {}, { changed: dayAgo });
    await store.sweep();
    const rest = [`p/archives/a@1@3/${id('4')}`, kept, keptToo, 'p/archives/notes.txt'].sort();
    expect(standIn.names('p/archives/')).toEqual(rest);
    expect(standIn.names('other/')).toEqual(['other/archives/a@1@1/x']);
    expect(standIn.seen.filter((line) => line.startsWith('DELETE'))).toHaveLength(3);
  });
});

it('the store signs a request as the service reads it: the plus and at signs of a key, the token of temporary credentials, the hash of what is sent', async () => {
  const standIn = await S3StandIn.start();
  const settings = s3Settings('s3://bucket/p', standIn.endpoint, standInUser);
  const credentials = { ...settings.credentials, sessionToken: new Secret('for-an-hour') };
  const store = await S3Store.open({ ...settings, credentials }, { now, onFault: () => {}, limits: shortLimits });
  onTestFinished(() => store.close());
  const staging = await StagingArea.open(temporaryDirectory());
  const heads: Record<string, unknown>[] = [];
  standIn.misbehave = ({ headers }) => {
    heads.push(headers);
    return false;
  };
  const staged = await staging.receive(pieces('text'));
  onTestFinished(async () => await staging.discard(staged));
  await store.put('a@1.0+b@1', { record: '1', archive: staged });
  expect(standIn.names('p/records/')).toEqual(['p/records/a@1.0+b@1']);
  const [archive, record] = heads;
  expect(archive).toMatchObject({
    'x-amz-security-token': 'for-an-hour',
    'content-length': '4',
    'x-amz-content-sha256': createHash('sha256').update('text').digest('hex'),
  });
  expect(archive).not.toHaveProperty('transfer-encoding');
  expect(record?.['authorization']).toMatch(
    /^AWS4-HMAC-SHA256 Credential=standin\/\d{8}\/us-east-1\/s3\/aws4_request, SignedHeaders=host;if-none-match;x-amz-content-sha256;x-amz-date;x-amz-security-token, Signature=[0-9a-f]{64}$/,
  );
});

async function endOf(source: Readable | null): Promise<['end' | 'error', Error | null]> {
  return await new Promise((resolve) => {
    source?.on('error', (error) => resolve(['error', error]));
    source?.on('end', () => resolve(['end', null]));
  });
}

async function textOf(source: Readable | null): Promise<string> {
  if (source === null) throw new Error('there is no archive');
  const chunks: Buffer[] = [];
  for await (const chunk of source) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

async function* pieces(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}
