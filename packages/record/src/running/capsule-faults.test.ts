import { expect, it } from 'vitest';

import { ClientError } from '@svc/client/client-error.ts';
import { faultOf } from './capsule-faults.ts';

const asked = { address: 'localhost:1', method: 'tasks/get' };

/** A call that came to nothing, of an error with this code. */
const unreachable = (code: string): ClientError =>
  new ClientError('unreachable', 'no', { cause: Object.assign(new TypeError('odd'), { code }) });

it('faultOf says why the network failed', () => {
  expect(faultOf(unreachable('ECONNREFUSED'), asked)).toMatchObject({
    code: 'E-IO-003',
    message: 'the capsule at localhost:1 cannot be reached: nothing listens there',
  });
});

it('faultOf says that an address is invalid', () => {
  expect(faultOf(new ClientError('bad-url', 'no'), { ...asked, address: 'a%b:80' })).toMatchObject({
    code: 'E-IO-003',
    message: 'the capsule at a%b:80 cannot be reached: that is no address',
  });
});

it('faultOf says how much is read of an answer that is too large', () => {
  expect(faultOf(new ClientError('too-large', 'no'), asked)).toMatchObject({
    code: 'E-IO-003',
    message: 'the capsule at localhost:1 answered more than 4 MiB, or more values than are read',
  });
});

it('faultOf throws a bug as it is, also one that has a code', () => {
  expect(() => faultOf(unreachable('ERR_INVALID_ARG_TYPE'), asked)).toThrow('odd');
});

it('faultOf says where a token that cannot be sent comes from, and not what it is', () => {
  expect(faultOf(new ClientError('bad-token', 'no'), asked)).toMatchObject({
    code: 'E-IO-003',
    message:
      'the capsule at localhost:1 was sent nothing: SVC_LISTENER_TOKEN holds what no header can, such as a line break',
  });
});
