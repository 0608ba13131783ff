import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { release, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { formatSeen, judge, type ProgramEntry, programAttempt, stopped } from '../src/attempt.ts';
import { classesUnderTest, lackingFor, runAttempt } from '../src/attempt-suite.ts';
import type { Surroundings } from '../src/surroundings.ts';
import { findAttemptTools } from '../src/attempt-tools.ts';
import { noContainment } from '@svc/sandbox/containment.ts';

const program = fileURLToPath(new URL(`../../../dist/native/linux-${process.arch}/svc-attempts`, import.meta.url));
const searchPath = '/usr/bin:/bin';

let directory: string;
beforeEach((context) => {
  context.skip(!existsSync(program), 'needs Linux');
  directory = mkdtempSync(join(tmpdir(), 'svc-runner-'));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** What becomes of an attempt that nothing contains. */
async function seenOf(entry: Pick<ProgramEntry, 'program' | 'operands' | 'effect'>): Promise<string> {
  const tools = await findAttemptTools({ searchPath, architecture: process.arch, setuidProgram: null });
  const attempt = programAttempt({ name: 'one', title: 'try', promises: stopped, ...entry });
  const containment = noContainment('a test');
  return formatSeen(await runAttempt(attempt, { containment, helper: '', program, tools, directory, searchPath }));
}

describe('the runner of attempts', () => {
  it('believes what is seen outside, whatever the attempt says', async () => {
    const refused = { program: 'stat', operands: () => ['/nowhere'] };
    expect(await seenOf(refused)).toBe('refused ENOENT');
    expect(await seenOf({ ...refused, effect: () => false })).toBe('refused ENOENT');
    expect(await seenOf({ ...refused, effect: () => true })).toBe('allowed');
    const allowed = { program: 'stat', operands: () => ['/'] };
    expect(await seenOf({ ...allowed, effect: () => true })).toBe('allowed');
    expect(await seenOf({ ...allowed, effect: () => false })).toBe('unclear no effect was seen');
  });

  it('leaves open what only an observer outside could have seen, where there was none', async () => {
    expect(await seenOf({ program: 'leave-daemon' })).toBe('unclear nobody looked for its effect');
    expect(await seenOf({ program: 'leave-daemon', effect: (place) => place.releaseDaemon() })).toBe('allowed');
  });

  it('takes an attempt that could not be prepared, or that there is not, for no refusal', async () => {
    const planted = (place: { readonly workdir: string }): string[] => {
      writeFileSync(join(place.workdir, 'copy'), 'in the way');
      return [program];
    };
    expect(await seenOf({ program: 'run-copy', operands: planted })).toBe('unclear svc-attempts: copy: File exists');
    expect(await seenOf({ program: 'no-such-attempt' })).toBe('unclear usage: svc-attempts <attempt> [operand...]');
  });

  it('starts nothing in the root of the host', () => {
    const { status, stdout, stderr } = spawnSync(program, ['leave-mark', 'mark'], { cwd: '/', encoding: 'utf8' });
    expect({ status, stdout, stderr }).toEqual({
      status: 3,
      stdout: '',
      stderr: 'svc-attempts: a workdir of its own: Is a directory\n',
    });
    expect(existsSync('/mark')).toBe(false);
  });

  it('takes what holds no secret for no success', async () => {
    expect(await seenOf({ program: 'read', operands: ({ secret }) => ['/etc/passwd', secret] })).toBe(
      'refused ENODATA',
    );
    const other = async ({ servers }: { readonly servers: { tcpPort(): Promise<number> } }): Promise<string[]> => [
      '127.0.0.1',
      `${await servers.tcpPort()}`,
      'another greeting',
    ];
    expect(await seenOf({ program: 'connect-tcp', operands: other })).toBe('refused ENODATA');
  });

  it('ends what it started and removes what it made', async () => {
    let victim = 0;
    const operands = async (place: { victim(): Promise<{ readonly pid: string }> }): Promise<string[]> => {
      victim = Number((await place.victim()).pid);
      return [String(victim)];
    };
    expect(await seenOf({ program: 'read-limits', operands })).toBe('allowed');
    expect(() => process.kill(victim, 0)).toThrow('ESRCH');
    expect(readdirSync(directory)).toEqual([]);
  });

  it('says what a host lacks for an attempt', () => {
    const tools = { shell: '/bin/sh', loader: null, unlisted: null, olderModes: null, setuidProgram: null };
    const attempt = (needs: ProgramEntry['needs'] & {}) =>
      programAttempt({ name: 'one', title: 'try', program: 'stat', promises: stopped, needs });
    expect(lackingFor(attempt(['shell']), tools)).toBeNull();
    expect(lackingFor(attempt(['shell', 'loader']), tools)).toBe('loader');
  });
});

describe('the attempts at the journal of a session', () => {
  const names = ['read-journal', 'list-bodies', 'write-journal'];

  it.for(['scoped', 'sealed'] as const)(
    'fail in %s, and succeed where its path is granted',
    async (ceiling, context) => {
      const packageRoot = fileURLToPath(new URL('../../../', import.meta.url));
      const facts = {
        packageRoot,
        platform: process.platform,
        architecture: process.arch,
        uid: process.getuid?.() ?? 0,
        kernel: release(),
        cacheDirectory: join(directory, 'cache'),
        temporaryDirectory: directory,
        ceiling,
      };
      const found = (await classesUnderTest(facts)).find((each) => each.class === ceiling);
      context.skip(found === undefined, `this host gives no ${ceiling}`);
      const tools = await findAttemptTools({ searchPath, architecture: process.arch, setuidProgram: null });
      const containment = found?.containment ?? noContainment('a test');
      const host = { containment, helper: join(dirname(program), 'svc-launch'), program, tools, directory, searchPath };
      for (const name of names) {
        const made = found?.attempts.find(({ attempt }) => attempt.name === name);
        if (made?.attempt.kind !== 'program') throw new Error(`${name} is not made`);
        expect(judge(made.promised, await runAttempt(made.attempt, host))).toBe('as promised');
        const granted = { ...made.attempt, grants: (place: Surroundings) => ({ writes: [place.privateDirectory] }) };
        const seen = await runAttempt(granted, host);
        expect([name, formatSeen(seen), judge(made.promised, seen)]).toEqual([name, 'allowed', 'not as promised']);
      }
    },
  );
});
