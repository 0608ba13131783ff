import { describe, expect, it } from 'vitest';

import { diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { checkRequest } from './check-request.ts';

/** What a request is refused with; undefined for one that can be read. */
function refusal(request: unknown): string | undefined {
  const found = diagnosticOf(() => checkRequest(request));
  return found === null ? undefined : `${found.code}: ${found.message}; ${found.hint}`;
}

const command = ['true'];

describe('the shape of a request', () => {
  it('follows its declaration', () => {
    const limits = {
      memoryBytes: 1,
      timeMs: 1,
      cpuSeconds: 1,
      processes: 1,
      openFiles: 1,
      fileBytes: 1,
      outputBytes: 1,
    };
    const lists = { read: ['a'], write: [], run: ['b'], network: ['c'] };
    const grants = { ...lists, runWritten: true, unixSockets: false, env: { A: 'b' }, limits };
    const { signal } = new AbortController();
    for (const request of [
      { command },
      { command, grants: {}, class: undefined, cwd: undefined, signal: undefined },
      { command, grants, class: 'scoped', cwd: '/', stdin: 'pipe', output: 'inherit', signal },
      { command, grants: { env: process.env } },
    ])
      expect(refusal(request)).toBeUndefined();
  });

  it.each([
    [undefined, 'a request was to be given, and it is of type undefined'],
    [null, 'a request was to be given, and it is null'],
    [['ls'], 'a request was to be given, and it is a list with something else than texts'],
    [{}, 'a command is to be run, and none is named'],
    [
      { command: 'ls -l' },
      "command is \"ls -l\"; name a program as the first word, with its arguments behind it: ['ls', '-l']",
    ],
    [{ command: ['echo', 5] }, 'command is a list with something else than texts'],
    // oxlint-disable-next-line no-sparse-arrays
    [{ command: ['echo', , 'x'] }, 'command is a list with something else than texts'],
    [{ command, stdin: 'ignore' }, 'stdin is "ignore"; give one of null, pipe, inherit'],
    [{ command, output: null }, 'output is null; give one of pipe, inherit'],
    [{ command, class: 'toString' }, 'class is "toString"; give one of sealed, scoped, advisory'],
    [{ command, signal: 'SIGTERM' }, 'signal is "SIGTERM"; give an AbortSignal'],
    [{ command, timeout: 5 }, 'the request has "timeout", which means nothing; there are command, grants, '],
    [{ command, grant: {} }, 'the request has "grant", which means nothing; grants is one of command, '],
    [{ command, toString: 1 }, 'the request has "toString", which means nothing'],
    [{ command, grants: null }, 'grants is null; give an object'],
    [{ command, grants: { reads: [] } }, 'the request has "grants.reads", which means nothing; grants.read is one of '],
    [{ command, grants: { read: '.' } }, 'grants.read is "."; give a list of texts'],
    [{ command, grants: { network: new Set(['a']) } }, 'grants.network is an object; give a list of texts'],
    [{ command, grants: { runWritten: 'false' } }, 'grants.runWritten is "false"; give true or false'],
    [{ command, grants: { unixSockets: 0 } }, 'grants.unixSockets is 0; give true or false'],
    [{ command, grants: { env: { A: undefined } } }, 'grants.env.A is of type undefined; give a text, or leave it out'],
    [{ command, grants: { env: { A: 1 } } }, 'grants.env.A is 1; give a text'],
    [{ command, grants: { limits: null } }, 'grants.limits is null; give an object'],
    [{ command, grants: { limits: { time: 100 } } }, 'the request has "grants.limits.time", which means nothing'],
    [{ command, grants: { limits: { timeMs: '5s' } } }, 'grants.limits.timeMs is "5s"; give a whole number above 0'],
  ])('cannot be %j', (request, said) => {
    expect(refusal(request)?.startsWith(`E-CAP-019: ${said}`), refusal(request)).toBe(true);
  });
});
