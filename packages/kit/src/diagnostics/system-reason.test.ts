import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { unlessRefused } from '../files/unless-refused.ts';
import { errorCode, isCoded, isErrno, isSystemError } from './system-reason.ts';

const ofSystem = caught(() => readFileSync('/nowhere/at/all'));
const ofNode = caught(() => readFileSync('with a \0'));
const others = [new Error('plain'), new DOMException('stopped', 'AbortError'), { code: 'ENOENT' }, 'ENOENT', null];

function caught(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}

describe('an error', () => {
  it('has a code when it comes from the system or Node', () => {
    expect([ofSystem, ofNode].map(errorCode)).toEqual(['ENOENT', 'ERR_INVALID_ARG_VALUE']);
    expect([ofSystem, ofNode].map(isCoded)).toEqual([true, true]);
  });

  it('counts as refused when it comes from the system alone', () => {
    expect([ofSystem, ofNode].map(isSystemError)).toEqual([true, false]);
    expect([isErrno(ofSystem, 'EACCES', 'ENOENT'), isErrno(ofSystem, 'EACCES')]).toEqual([true, false]);
    expect(isErrno(ofNode, 'ERR_INVALID_ARG_VALUE')).toBe(false);
  });

  it.each(others)('has no code when it is anything else: %j', (error) => {
    expect([errorCode(error), isCoded(error), isSystemError(error)]).toEqual([undefined, false, false]);
  });
});

it('an operation that the system refuses gives what stands for it, and a bug goes on', () => {
  expect(unlessRefused(() => 1, null)).toBe(1);
  expect(unlessRefused(() => readFileSync('/nowhere/at/all'), null)).toBeNull();
  expect(() => unlessRefused(() => readFileSync('with a \0'), null)).toThrow(TypeError);
});
