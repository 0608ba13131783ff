import { expect, it } from 'vitest';

import { ClientError } from '@svc/client/client-error.ts';
import { faultOf } from './capsule-faults.ts';

const asked = { address: 'localhost:1', method: 'tasks/get' };

/** A call that came to nothing, of an error with this code. */
const unreachable = (code: string): ClientError =>
  new ClientError('unreachable', 'no', { cause: Object.assign(new TypeError('odd'), { code }) });

it('says what the network failed of', () => {
  expect(faultOf(unreachable('ECONNREFUSED'), asked)).toMatchObject({
    code: 'E-IO-003',
    message: 'the capsule at localhost:1 cannot be reached: nothing listens there',
  });
});

it('says of an address that is none that it is none', () => {
  expect(faultOf(new ClientError('bad-url', 'no'), { ...asked, address: 'a%b:80' })).toMatchObject({
    code: 'E-IO-003',
    message: 'the capsule at a%b:80 cannot be reached: that is no address',
  });
});

it('says of an answer that is too large how much is read', () => {
  expect(faultOf(new ClientError('too-large', 'no'), asked)).toMatchObject({
    code: 'E-IO-003',
    message: 'the capsule at localhost:1 answered more than 4 MiB, or more values than are read',
  });
});

it('throws a bug as it is, also one that has a code', () => {
  expect(() => faultOf(unreachable('ERR_INVALID_ARG_TYPE'), asked)).toThrow('odd');
});

it('says of a token that cannot be sent where it comes from, and not what it is', () => {
  expect(faultOf(new ClientError('bad-token', 'no'), asked)).toMatchObject({
    code: 'E-IO-003',
    message:
      'the capsule at localhost:1 was sent nothing: SVC_LISTENER_TOKEN holds what no header can, such as a line break',
  });
});
