import { expect, it } from 'vitest';

import { OpenRequests } from './open-requests.ts';

const mebibyte = 1024 * 1024;

it('OpenRequests takes 240 requests of 64 MiB together, and more as those are answered', () => {
  const open = new OpenRequests();
  for (let id = 0; id < 240; id += 1) expect(open.open(id, 100)).toBe(null);
  expect(open.open('x', 100)).toEqual({ isBusy: true, why: '240 requests wait for their answers already' });
  open.settle(17);
  expect(open.open('17', 100)).toBe(null);
  expect(open.open('x', 100)).toMatchObject({ isBusy: true });
});

it('OpenRequests takes no more bytes than 64 MiB at once, and no id twice', () => {
  const open = new OpenRequests();
  for (let id = 0; id < 6; id += 1) expect(open.open(id, 10 * mebibyte)).toBe(null);
  const full = { isBusy: true, why: 'the requests that wait for their answers may have 67108864 bytes together' };
  expect(open.open(6, 10 * mebibyte)).toEqual(full);
  expect(open.open(7, 4 * mebibyte)).toBe(null);
  expect(open.open(8, 1)).toEqual(full);
  expect(open.open(5, 1)).toEqual({
    isBusy: false,
    why: 'Invalid Request: a request with this id waits for its answer already',
  });
  // What has no answer to come changes nothing.
  open.settle('5');
  expect(open.open(8, 1)).toEqual(full);
  open.settle(5);
  expect(open.open(5, 10 * mebibyte)).toBe(null);
});
