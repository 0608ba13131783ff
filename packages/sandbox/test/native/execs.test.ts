import { closeSync, openSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { barePlan } from '../../src/launch/launch-plan.ts';
import { launchSync } from './support/launch.ts';
import { needs } from './support/needs.ts';

/** Starts its words behind a filter by which nobody traces: the system call answers EPERM. */
const untraced = String.raw`
import ctypes, os, struct, sys
number = {'x86_64': 101, 'aarch64': 117}[os.uname().machine]
code = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
program = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *each) for each in code))
filter = ctypes.create_string_buffer(struct.pack('HxxxxxxP', len(code), ctypes.addressof(program)))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, filter, 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
`;

const plan = { ...barePlan, execs: { socket: 6, names: ['true'] } };

describe('a launch whose programs are asked about', () => {
  it('starts nothing where nobody may trace', (context) => {
    needs(context, 'helper');
    const null6 = openSync('/dev/null', 'r+');
    const through = ['/usr/bin/python3', '-c', untraced];
    const { code, status, stdout } = launchSync({ plan, program: ['/bin/echo', 'ran'], more: [null6], through });
    closeSync(null6);
    expect([code, status, stdout]).toEqual([125, 'execs 1 tracing\n', '']);
  });

  it('starts nothing without a descriptor of its own for that', (context) => {
    needs(context, 'helper');
    const told = 'call 9 execs needs a descriptor of its own\n';
    for (const socket of [6, 5]) {
      const wrong = { ...plan, execs: { socket, names: [] } };
      const { code, status, stdout } = launchSync({ plan: wrong, program: ['/bin/echo', 'ran'] });
      expect([code, status, stdout]).toEqual([125, told, '']);
    }
  });

  it('ends once nobody has the other end of it', (context) => {
    needs(context, 'helper');
    const nobody = openSync('/dev/null', 'r+');
    const { code, stdout } = launchSync({ plan, program: ['/usr/bin/env', 'true'], more: [nobody] });
    closeSync(nobody);
    expect([code, stdout]).toEqual([125, '']);
  });
});
