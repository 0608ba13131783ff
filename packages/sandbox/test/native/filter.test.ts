import { beforeEach, describe, expect, it } from 'vitest';

import { barePlan as bare } from '../../src/launch/launch-plan.ts';
import { type NativeEnd, launchSync } from './support/launch.ts';
import { needs } from './support/needs.ts';

describe('the filter', () => {
  beforeEach((context) => needs(context));

  const allow = instruction(0x06, 0, 0, 0x7fff0000);
  const refuse = instruction(0x06, 0, 0, 0x50001);
  const kill = instruction(0x06, 0, 0, 0x80000000);
  const number = instruction(0x20, 0, 0, 0);
  const [execve, uname] = process.arch === 'x64' ? [59, 63] : [221, 160];
  /** Does one thing at a call of that number, and lets every other pass. */
  const at = (call: number, what: Buffer): Buffer =>
    Buffer.concat([number, instruction(0x15, 0, 1, call), what, allow]);
  const filtered = (filter: Buffer, ...program: [string, ...string[]]): NativeEnd =>
    launchSync({ plan: bare, filter, program });

  it('works in the program', () => {
    expect(filtered(at(uname, refuse), '/usr/bin/uname')).toMatchObject({ code: 1, status: '' });
    expect(filtered(at(uname, allow), '/usr/bin/uname')).toMatchObject({ code: 0, stdout: 'Linux\n' });
    expect(filtered(allow, '/usr/bin/grep', 'Seccomp:', '/proc/self/status').stdout).toBe('Seccomp:\t2\n');
  });

  it('starts before the program', () => {
    expect(filtered(at(execve, refuse), '/usr/bin/true')).toMatchObject({
      code: 125,
      status: 'exec 1 /usr/bin/true\n',
    });
    expect(filtered(at(execve, kill), '/usr/bin/echo', 'ran')).toMatchObject({ signal: 'SIGSYS', stdout: '' });
  });

  it.each([
    ['of no instruction', Buffer.alloc(0), 'filter 22 not whole instructions\n'],
    ['of less than one', Buffer.alloc(7), 'filter 22 not whole instructions\n'],
    ['of one and a half', Buffer.concat([allow, Buffer.alloc(4)]), 'filter 22 not whole instructions\n'],
    ['of 4,097 instructions', Buffer.concat(Array.from({ length: 4097 }, () => allow)), 'filter 7 too long\n'],
    ['that does not return', number, 'filter 22 installing\n'],
    ['that jumps out of itself', Buffer.concat([instruction(0x05, 0, 0, 9), allow]), 'filter 22 installing\n'],
    ['of an unknown instruction', Buffer.concat([instruction(0xff, 0, 0, 0), allow]), 'filter 22 installing\n'],
  ])('%s starts nothing', (_what, filter, status) => {
    expect(filtered(filter, '/usr/bin/echo', 'ran')).toEqual({
      code: 125,
      signal: null,
      stdout: '',
      stderr: '',
      status,
    });
  });

  it('may have 4,096 instructions', () => {
    const filter = Buffer.concat([...Array.from({ length: 4095 }, () => number), allow]);
    expect(filtered(filter, '/usr/bin/echo', 'ran')).toMatchObject({ code: 0, stdout: 'ran\n' });
  });
});

/** Encodes an instruction of a seccomp program, in the byte order of both architectures. */
function instruction(code: number, jumpTrue: number, jumpFalse: number, operand: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(jumpTrue, 2);
  bytes.writeUInt8(jumpFalse, 3);
  bytes.writeUInt32LE(operand, 4);
  return bytes;
}
