import { describe, expect, it } from 'vitest';

import { closedPort } from '../../../test/support/closed-port.ts';
import { S3Store } from '../src/s3/s3-store.ts';
import { faultOf, now, openOn, s3Settings, shortLimits } from './s3-kit.ts';
import { always, atFirst, losingAnswer, refusing } from './s3-misbehaviour.ts';
import { refuse, S3StandIn, standInUser, type Misbehaviour, type SeenRequest } from './s3-stand-in.ts';

describe('the store on S3 is not opened', () => {
  async function refusal(misbehave: Misbehaviour): Promise<string> {
    const standIn = await S3StandIn.start();
    standIn.misbehave = misbehave;
    return await faultOf(openOn(standIn));
  }

  const unconditionally = (request: SeenRequest): SeenRequest => ({
    ...request,
    headers: { ...request.headers, 'if-none-match': undefined },
  });

  it('when the service ignores If-None-Match', async () => {
    const ignoring = always('PUT ', (request, response, service) => {
      service.answer(unconditionally(request), response);
      return true;
    });
    expect(await refusal(ignoring)).toMatch(/^E-REG-026 /);
  });

  it('when the service looks first and writes later, so that two writers both succeed', async () => {
    const waiting: (() => void)[] = [];
    const racy = always('PUT ', (request, response, service) => {
      if (service.objects.has(request.name)) return false;
      waiting.push(() => service.answer(unconditionally(request), response));
      if (waiting.length === 4) for (const write of waiting.splice(0)) write();
      return true;
    });
    expect(await refusal(racy)).toMatch(/^E-REG-026 /);
  });

  it('when the service keeps apart only those who write at the same moment', async () => {
    let writers = 0;
    const forgetful = always('PUT ', (request, response, service) => {
      writers += 1;
      if (writers <= 4) return false;
      service.answer(unconditionally(request), response);
      return true;
    });
    expect(await refusal(forgetful)).toMatch(/^E-REG-026 /);
  });

  it('when the service says that it has no such thing', async () => {
    expect(await refusal(always('PUT ', refusing(501, 'NotImplemented')))).toMatch(/^E-REG-026 /);
  });

  it.each([
    [403, 'SignatureDoesNotMatch', {}, 'the credentials are not accepted (SignatureDoesNotMatch)'],
    [400, 'ExpiredToken', {}, 'the credentials are not accepted (ExpiredToken)'],
    [404, 'NoSuchBucket', {}, 'there is no such bucket'],
    [301, 'PermanentRedirect', { 'x-amz-bucket-region': 'eu-west-1' }, 'the bucket is elsewhere (PermanentRedirect)'],
    [403, 'AccessDenied', {}, 'the service answered 403 AccessDenied'],
    [418, '<b>', {}, 'the service answered 418'],
    [
      403,
      'RequestTimeTooSkewed',
      { date: new Date(Date.now() + 20 * 60_000).toUTCString() },
      'the clock of this machine is 20 minutes behind that of the service (RequestTimeTooSkewed)',
    ],
  ])('when the service answers %i %s', async (status, code, headers, reason) => {
    const answering: Misbehaviour = (_request, response) => {
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
      refuse(response, status, code);
      return true;
    };
    expect(await refusal(answering)).toBe(`E-REG-024 cannot list the bucket: ${reason}`);
  });

  it('when nobody listens there', async () => {
    const endpoint = `http://127.0.0.1:${await closedPort()}`;
    const settings = s3Settings('s3://bucket', endpoint, standInUser);
    const opening = S3Store.open(settings, { now, onFault: () => {}, limits: shortLimits });
    expect(await faultOf(opening)).toBe('E-REG-025 cannot list the bucket: nothing listens there');
  });

  it('except when the answer to a write of the try was lost', async () => {
    const standIn = await S3StandIn.start();
    standIn.misbehave = atFirst(2, 'PUT ', losingAnswer);
    const { store } = await openOn(standIn);
    expect(await store.listKeys()).toEqual([]);
    expect(standIn.names('p/archives/')).toEqual([]);
  });
});
