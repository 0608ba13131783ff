import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { commands } from '@svc/svc/program/commands.ts';
import { useCapsules } from '../support/capsule-folders.ts';
import { whyMissing } from '../support/debian-program.ts';
import { svc } from '../support/svc-process.ts';
import { hasPseudoTerminals, TerminalProcess } from '../support/terminal-process.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const capsule = useCapsules();

/** What a terminal shows of characters that are made bold by being typed twice. */
function withoutOverstrikes(text: string): string {
  const [first = '', ...rest] = text.split('\b');
  return rest.reduce((shown, piece) => shown.slice(0, -1) + piece, first);
}

describe('the manual pages', () => {
  let directory: string;
  let pages: readonly string[];
  let lint: string | null;
  let man: string | null;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'svc-man-'));
    const program = join(root, 'bin', 'svc.cjs');
    execFileSync(process.execPath, [program, 'help', '--man', '--out', directory]);
    pages = readdirSync(directory).toSorted();
    lint = whyMissing('mandoc');
    man = whyMissing('man', 'man-db') ?? whyMissing('groff');
  }, 300_000);

  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it('cover svc and each command, and the package has them for man', () => {
    const names = commands.map(({ name }) => name).filter((name) => !name.startsWith('__'));
    expect(pages).toEqual(['svc.1', ...names.map((name) => `svc-${name}.1`)].toSorted());
    const { man: listed, files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      readonly man: readonly string[];
      readonly files: readonly string[];
    };
    // npm run build -- --accept writes the list.
    expect(listed.toSorted()).toEqual(pages.map((page) => `man/${page}`));
    expect(files).toContain('man');
    for (const page of pages) {
      expect(readFileSync(join(root, 'man', page), 'utf8')).toBe(readFileSync(join(directory, page), 'utf8'));
    }
  });

  it('pass man and groff without a warning', (context) => {
    context.skip(man !== null, man ?? '');
    for (const page of pages) {
      const env = { ...process.env, MANWIDTH: '80', LC_ALL: 'C.UTF-8' };
      const shown = spawnSync('man', ['--warnings', '-l', join(directory, page)], { env, encoding: 'utf8' });
      expect({ page, status: shown.status, stderr: shown.stderr }).toEqual({ page, status: 0, stderr: '' });
      const groff = spawnSync('groff', ['-man', '-ww', '-Tutf8', '-z', join(directory, page)], { encoding: 'utf8' });
      expect({ page, stderr: groff.stderr }).toEqual({ page, stderr: '' });
    }
  }, 120_000);

  it('pass mandoc without a finding', (context) => {
    context.skip(lint !== null, lint ?? '');
    for (const page of pages) {
      const { stdout } = spawnSync('mandoc', ['-T', 'lint', '-W', 'warning', join(directory, page)], {
        encoding: 'utf8',
      });
      expect({ page, stdout }).toEqual({ page, stdout: '' });
    }
  }, 120_000);

  it('say what is typed so that it can be copied, and what the help says of an option', (context) => {
    context.skip(man !== null, man ?? '');
    const env = { ...process.env, MANWIDTH: '100', LC_ALL: 'C.UTF-8', MANPAGER: 'cat', PAGER: 'cat' };
    const shown = (page: string): string =>
      withoutOverstrikes(execFileSync('man', ['-l', join(directory, page)], { env, encoding: 'utf8' }));
    const logs = shown('svc-logs.1');
    expect(logs).toContain(
      'svc-logs - Show whole outputs of commands, driver, servers, tools and hooks of a session\n',
    );
    expect(logs).toMatch(/\n {7}-f, --follow\n {14}go on with what is written, until the session ends\n/);
    expect(logs).toContain('\u2502 not ok 3 - applies the discount\n');
    expect(logs).toMatch(/EXAMPLES\n {11}svc logs 4f1a#4\n/);
    const trace = shown('svc-trace.1');
    expect(trace).toMatch(/\n {3}svc trace diff\n {7}svc trace diff \[options\] <a> \[b\]\n/);
    const whole = shown('svc.1');
    expect(whole).toContain('svc - Runs AI agents as capsules\n');
    expect(whole).toMatch(/\nEXIT STATUS\n {7}0 {6}success/);
    expect(whole).toContain('~/.svc/cache/');
  });

  it('give way to the options in a pipe where there is no man, and one line says so', async () => {
    const workspace = capsule();
    const env = { PATH: workspace.folder };
    const shown = await svc(workspace, ['help', '--man', 'run'], { env });
    expect(shown).toMatchObject({
      code: 0,
      stdout: (await svc(workspace, ['help', 'run'])).stdout,
      stderr: 'man cannot show the page here, so these are the options; --out <dir> writes the page\n',
    });
  });

  it('appear with svc help --man as man lays them out, in a pipe and on a terminal', async (context) => {
    const workspace = capsule();
    const none = await svc(workspace, ['help', '--man', 'nothing']);
    expect(none).toMatchObject({
      code: 2,
      stdout: '',
      stderr: 'error: there is no command nothing; svc help lists them\n',
    });
    context.skip(man !== null || !hasPseudoTerminals(), man ?? 'needs python3');
    const piped = await svc(workspace, ['help', '--man', 'run']);
    expect(piped).toMatchObject({ code: 0, stderr: '' });
    expect(piped.stdout).toMatch(/^SVC-RUN\(1\)[^]*\nSYNOPSIS\n {7}svc run \[options\]/);
    expect(piped.stdout).not.toMatch(/^\.[A-Z]|\\f[BIP]|[\b]/m);
    const env = { MANPAGER: 'cat', PAGER: 'cat' };
    const terminal = new TerminalProcess(workspace, ['help', '--man', 'explain'], { env });
    expect(await terminal.ended).toBe(0);
    expect(withoutOverstrikes(terminal.raw)).toMatch(/SVC-EXPLAIN\(1\)[^]*SYNOPSIS[^]*svc explain \[options\] <code>/);
  });
});
