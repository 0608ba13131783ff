import { expect, it } from 'vitest';

import { isNetworkError, networkReason } from './network-reason.ts';

it("a firewall's refusal is one of the network, also of two families at once, which names no system call", () => {
  for (const code of ['EACCES', 'EPERM']) {
    const refused = Object.assign(new AggregateError([]), { code });
    expect(isNetworkError(refused)).toBe(true);
    expect(networkReason(refused)).toBe('this machine does not let a connection to it be made');
  }
});

it('a bug is no error of the network, though it has a code', () => {
  expect(isNetworkError(Object.assign(new TypeError('x'), { code: 'ERR_INVALID_ARG_TYPE' }))).toBe(false);
});
