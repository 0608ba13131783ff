import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { diagnosticOf } from '@svc/kit/diagnostics/diagnostic.ts';
import { lowerRequest } from './lower-request.ts';
import type { Grants, SandboxClass, SandboxRequest } from './requests.ts';

let folder = '';
const at = (...parts: readonly string[]): string => join(folder, ...parts);

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-lower-')));
  mkdirSync(at('project', '.git'), { recursive: true });
  mkdirSync(at('bin'));
  for (const name of ['tool', 'other']) {
    writeFileSync(at('bin', name), '#!/bin/sh\n');
    chmodSync(at('bin', name), 0o755);
  }
  writeFileSync(at('notes'), 'text');
  symlinkSync('project', at('link'));
});

afterAll(() => rmSync(folder, { recursive: true }));

const surroundings = () => ({
  cwd: at('project'),
  searchPath: `bin:${at('bin')}`,
  temporaryDirectory: tmpdir(),
  privateDirectories: [tmpdir()],
  own: ['lib/package', 'bin/other'].map((path) => ({ path: at(path), what: null })),
});
const lower = (request: SandboxRequest) => lowerRequest(request, surroundings());
const withGrants = (grants: Grants) => lower({ command: ['tool'], grants });

/** The code and the message of what a request is refused with, the folder of the test cut out. */
function refusal(request: Partial<SandboxRequest>): string | undefined {
  const found = diagnosticOf(() => void lower({ command: ['tool'], ...request }));
  return found === null ? undefined : `${found.code}: ${found.message}`.replaceAll(folder, '');
}

it('lowerRequest keeps what contains the command where the command may not read', () => {
  const place = (wanted: SandboxClass, read: readonly string[], places: readonly string[]): string =>
    lowerRequest(
      { command: ['tool'], class: wanted, grants: { read } },
      { ...surroundings(), temporaryDirectory: at('data'), privateDirectories: places.map((each) => at(each)) },
    ).privateDirectory.replace(folder, '');
  expect(place('sealed', [], ['bin', 'data'])).toBe('/bin');
  expect(place('sealed', [at('bin')], ['bin', 'data'])).toBe('/data');
  expect(place('scoped', [at('bin/other')], ['bin'])).toBe('/bin');
  expect(place('advisory', [folder], ['bin', 'data'])).toBe('/bin');
  expect(diagnosticOf(() => void place('scoped', [folder], ['bin', 'data']))).toMatchObject({
    code: 'E-CAP-019',
    message: `${at('data')} was granted for reading, and holds the temporary files that contain the command`,
    hint: 'grant a directory inside it, or set TMPDIR to a directory elsewhere',
  });
});

describe('a request', () => {
  it('without grants reads and runs the programs of the system, and nothing else', () => {
    const { program, args, cwd, grants, env, timeMs, outputBytes } = lower({ command: ['tool', '-a'] });
    expect([program, args, cwd, env, timeMs, outputBytes]).toEqual([at('bin', 'tool'), ['-a'], null, {}, null, null]);
    expect(grants).toMatchObject({
      commands: [],
      workdirExec: false,
      reads: ['/etc/alternatives'],
      trees: ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'],
      writes: [],
      kept: [],
      networkAllow: [],
      unixSockets: false,
      limits: {
        processes: 128,
        open_files: 1024,
        file_size: 4_294_967_296,
        cpu: 3600,
        memory: 2_147_483_648,
        session_memory: 2_147_483_648,
      },
    });
  });

  it('sees only the part of the system that its programs need, when it names them', () => {
    expect(withGrants({ run: ['other'] }).grants).toMatchObject({
      commands: [at('bin', 'other')],
      trees: [],
      reads: [],
    });
  });

  it('starts in the current directory where that is granted, and keeps what is read only inside it', () => {
    const { cwd, grants } = withGrants({ read: ['.git', '../notes'], write: ['.'] });
    expect([cwd, grants.writes, grants.kept, grants.reads]).toEqual([
      at('project'),
      [at('project')],
      [at('project', '.git')],
      [at('notes'), '/etc/alternatives'],
    ]);
  });

  it('finds no program by a relative entry of PATH, nor where the command may write', () => {
    expect(refusal({ grants: { write: ['../bin'] } })).toBe('E-CAP-021: "tool" was not started: no such command');
    expect(withGrants({ write: ['../bin'], runWritten: true }).program).toBe(at('bin', 'tool'));
    expect(lower({ command: ['../bin/tool'] })).toMatchObject({
      program: at('bin', 'tool'),
      command: at('bin', 'tool'),
    });
  });

  it.each<[Partial<SandboxRequest>, string]>([
    [{ command: [] }, 'E-CAP-019: a command is to be run, and none is named'],
    [{ command: [''] }, 'E-CAP-019: a command is to be run, and none is named'],
    [{ command: ['nope'] }, 'E-CAP-021: "nope" was not started: no such command'],
    [{ command: ['../notes'] }, 'E-CAP-021: "../notes" was not started: permission denied'],
    [{ grants: { read: [''] } }, 'E-CAP-019: an empty path was granted for reading'],
    [{ grants: { read: ['gone'] } }, 'E-CAP-019: "gone" was granted for reading, and nothing is there'],
    [
      { grants: { read: ['../notes/x'] } },
      'E-CAP-019: "../notes/x" was granted for reading, and a part of the path is not a directory',
    ],
    [
      { grants: { write: ['../link'] } },
      'E-CAP-019: "../link" was granted for writing, and it is a link or lies behind one: it leads to /project',
    ],
    [
      { grants: { write: ['../link/.git'] } },
      'E-CAP-019: "../link/.git" was granted for writing, and it is a link or lies behind one: it leads to /project/.git',
    ],
    [{ grants: { write: ['/'] } }, 'E-CAP-019: "/" was granted for writing, and a whole system cannot be'],
    [
      { grants: { read: ['/proc/self'] } },
      'E-CAP-019: "/proc/self" was granted for reading, and a command has a /proc and a /dev of its own',
    ],
    [
      { grants: { read: ['a\0b'] } },
      'E-CAP-019: "a\\u{0}b" was granted for reading, and no path holds a NUL character',
    ],
    [{ grants: { run: ['nope'] } }, 'E-CAP-019: "nope" was granted to be run, and no such command'],
    [
      { grants: { run: ['./tool'] } },
      'E-CAP-019: "./tool" was granted to be run, and it is neither a name nor an absolute path',
    ],
    [{ grants: { network: [''] } }, 'E-CAP-001: the destination "" was granted, and it is empty'],
    [{ grants: { network: ['http://a/b'] } }, 'E-CAP-001: the destination "http://a/b" was granted, and it has a path'],
    [{ grants: { env: { 'A=B': 'c' } } }, 'E-CAP-019: the variable "A=B" was granted, and no variable can be so'],
    [{ grants: { limits: { memoryBytes: 0 } } }, 'E-CAP-019: the limit memoryBytes was to be "0"'],
    [{ grants: { limits: { processes: 1.5 } } }, 'E-CAP-019: the limit processes was to be "1.5"'],
    [
      { grants: { write: [tmpdir()] } },
      `E-CAP-019: ${tmpdir()} was granted for writing, and holds the temporary files that contain the command`,
    ],
    [{ grants: { limits: { processes: 2 ** 53 - 1 } } }, 'E-CAP-019: the limit processes was to be 9007199254740991'],
    [{ grants: { limits: { timeMs: 2 ** 31 } } }, 'E-CAP-019: the limit timeMs was to be 2147483648'],
    [{ cwd: '/srv' }, 'E-CAP-019: the command is to start in /srv, which it may not read'],
    [
      { cwd: '../notes', grants: { read: ['../notes'] } },
      'E-CAP-019: the command is to start in /notes, which is not a directory itself',
    ],
    [
      { class: 'scoped', grants: { write: ['/usr/share'] } },
      'E-CAP-020: /usr/share may be written and /usr may be run, so that class scoped cannot keep what the command writes there from being run',
    ],
    [
      { class: 'scoped', grants: { network: ['a.example'] } },
      'E-CAP-020: the network is to be a.example alone, and class scoped cannot hold a command to hosts',
    ],
    [
      { class: 'advisory', grants: { read: ['.git'], write: ['.'] } },
      'E-CAP-020: /project/.git is to be read only inside a directory that may be written, which class advisory cannot hold',
    ],
  ])('for %j fails', (request, message) => {
    expect(refusal(request)).toBe(message);
  });
});
