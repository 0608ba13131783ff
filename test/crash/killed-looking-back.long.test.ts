import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { runs, says, script } from '../support/scripted-turns.ts';
import { svc, SvcProcess } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const rounds = Number(process.env['CRASH_ROUNDS'] ?? 6);
const twoDays = 2 * 24 * 60 * 60;

/** Long texts have files of their own, and make each command take a while. */
const turns = script(
  ...Array.from({ length: 20 }, (_, index) =>
    runs(`head -c 400000 /dev/zero | tr '\\0' ${'abcdefghijklmnopqrst'.charAt(index)}`),
  ),
  says('All is fine.'),
);

function manifestOf(prompt: string): string {
  return `name: reviewer
version: 1.0.0
inference:
  model: scripted
  max_turns: 30
  system_prompt: ${prompt}
  driver: { artifact: svc-driver-script, config: { script: script.yaml } }
capabilities: { shell: { allow: [sh] } }
`;
}

describe(`svc trace and svc test killed at any moment, ${rounds} rounds each`, () => {
  let workspace: Workspace;
  let scratch = '';
  let session = '';
  /** What `svc trace steps` shows of the session. */
  let steps = '';
  const at = (...path: readonly string[]): string => join(workspace.folder, ...path);
  const run = async (...args: readonly string[]): ReturnType<typeof svc> =>
    await svc(workspace, args, { env: { TMPDIR: scratch } });

  const done = async (...args: readonly string[]): Promise<void> => {
    const { code, stderr } = await run(...args);
    if (code !== 0) throw new Error(`svc ${args.join(' ')}: ${stderr}`);
  };

  beforeAll(async () => {
    workspace = makeWorkspace({ 'svc.yaml': manifestOf('Be brief.'), 'script.yaml': turns });
    scratch = join(workspace.home, 'scratch');
    mkdirSync(scratch);
    await done('run', '--task', 'Review it.', '--capture', 'content');
    [session = ''] = readdirSync(at('.svc', 'sessions'));
    await done('trace', 'export', '-o', 'whole.zip');
    await done('test', '--record', 'kept');
    steps = (await run('trace', 'steps', 'whole.zip')).stdout;
  }, 120_000);

  afterAll(() => workspace.remove());

  /** Kills the command at moments that are spread over all of it; `check` looks at what is left, and returns it. */
  async function sweep(
    args: readonly string[],
    { before, check }: { before: () => void; check: () => readonly string[] | Promise<readonly string[]> },
  ): Promise<void> {
    before();
    const startedMs = performance.now();
    await run(...args);
    let wholeMs = performance.now() - startedMs;
    let killed = 0;
    for (let round = 0; round < rounds; round += 1) {
      before();
      const beganMs = performance.now();
      const process = new SvcProcess(workspace, args, { env: { TMPDIR: scratch } });
      // A start takes the first part of it, and leaves nothing.
      await Promise.race([process.ended, delay(wholeMs * (0.3 + (0.7 * (round + 0.5)) / rounds))]);
      process.child.kill('SIGKILL');
      if ((await process.ended).signal === 'SIGKILL') killed += 1;
      // The machine was busier before.
      else wholeMs = Math.min(wholeMs, performance.now() - beganMs);
      for (const path of [...(await check()), ...inScratch()]) age(path);
    }
    expect(killed).toBeGreaterThan(rounds / 4);
    before();
    await run(...args);
    expect(await check(), 'after a run that nobody killed').toEqual([]);
    expect(inScratch()).toEqual([]);
  }

  /** Only what nobody takes for something else. */
  function inScratch(): readonly string[] {
    const names = readdirSync(scratch);
    expect(names.filter((name) => !/^svc-(?:trace|test)-/.test(name))).toEqual([]);
    return names.map((name) => join(scratch, name));
  }

  const timeoutMs = 60_000 + rounds * 20_000;

  it(
    'leaves an imported session whole or not at all',
    async () => {
      const sessions = at('other', '.svc', 'sessions');
      await sweep(['trace', 'import', 'whole.zip', '--manifest', 'other/svc.yaml'], {
        before: () => rmSync(join(sessions, session), { recursive: true, force: true }),
        check: async () => {
          const names = existsSync(sessions) ? readdirSync(sessions) : [];
          if (names.includes(session))
            expect((await run('trace', 'steps', join(sessions, session))).stdout).toBe(steps);
          const left = names.filter((name) => name !== session);
          expect(left.filter((name) => !name.startsWith('.svc-import-'))).toEqual([]);
          return left.map((name) => join(sessions, name));
        },
      });
      expect((await run('trace', 'steps', '--manifest', 'other/svc.yaml')).stdout).toBe(steps);
    },
    timeoutMs,
  );

  it(
    'leaves an export that was there, or the new one',
    async () => {
      const whole = readFileSync(at('whole.zip'));
      const out = at('out', 'session.zip');
      mkdirSync(at('out'));
      await sweep(['trace', 'export', '-o', 'out/session.zip'], {
        before: () => writeFileSync(out, 'old'),
        check: () => {
          const bytes = readFileSync(out);
          expect(bytes.toString('latin1') === 'old' || bytes.equals(whole)).toBe(true);
          return temporaryIn(at('out'), ['session.zip']);
        },
      });
      expect(readFileSync(out).equals(whole)).toBe(true);
    },
    timeoutMs,
  );

  it.each([[['steps', 'whole.zip']], [['show', 'whole.zip#2']], [['diff', 'whole.zip', 'tests/kept/session.zip']]])(
    'leaves nothing of an archive that svc trace %j shows but scratch',
    async (args) => {
      await sweep(['trace', ...args], { before: () => {}, check: () => [] });
      expect(inScratch()).toEqual([]);
    },
    timeoutMs,
  );

  it(
    'leaves a recorded test whole or not at all',
    async () => {
      await sweep(['test', '--record', 'new'], {
        before: () => rmSync(at('tests', 'new'), { recursive: true, force: true }),
        check: async () => {
          if (existsSync(at('tests', 'new'))) expect(await run('test', 'new')).toMatchObject({ code: 0 });
          const left = readdirSync(at('tests')).filter((name) => name !== 'kept' && name !== 'new');
          expect(left.filter((name) => !name.startsWith('.svc-record-'))).toEqual([]);
          return left.map((name) => at('tests', name));
        },
      });
      expect(await run('test', 'new')).toMatchObject({ code: 0 });
    },
    timeoutMs,
  );

  it(
    'leaves an expect.yaml and a report that were there, or the new ones',
    async () => {
      const [expectation, report] = [at('tests', 'kept', 'expect.yaml'), at('out', 'report.xml')];
      const old = readFileSync(expectation, 'utf8');
      mkdirSync(at('out'), { recursive: true });
      workspace.write('svc.yaml', manifestOf('Be thorough.'));
      await sweep(['test', 'kept', '--update', '--junit', 'out/report.xml'], {
        before: () => {
          writeFileSync(expectation, old);
          writeFileSync(report, 'old');
        },
        check: () => {
          expect(readFileSync(expectation, 'utf8').replace(/requests: sha256:[0-9a-f]{16}\n$/, '')).toBe(old);
          expect(readFileSync(report, 'utf8')).toMatch(/^(?:old|<\?xml [^]*<\/testsuites>\n)$/);
          return [
            ...temporaryIn(at('tests', 'kept'), ['expect.yaml', 'session.zip']),
            ...temporaryIn(at('out'), ['report.xml', 'session.zip']),
          ];
        },
      });
      expect(await run('test', 'kept')).toMatchObject({ code: 0, stdout: expect.stringContaining('1 stale') });
    },
    timeoutMs,
  );
});

/** What is in a folder beside these files; all of it has to be temporary. */
function temporaryIn(folder: string, known: readonly string[]): readonly string[] {
  const left = readdirSync(folder).filter((name) => !known.includes(name));
  expect(left.filter((name) => !name.startsWith('.svc-tmp-'))).toEqual([]);
  return left.map((name) => join(folder, name));
}

/** As if the process that left it had been killed two days ago. */
function age(path: string): void {
  const { mtimeMs } = lstatSync(path);
  utimesSync(path, mtimeMs / 1000 - twoDays, mtimeMs / 1000 - twoDays);
}
