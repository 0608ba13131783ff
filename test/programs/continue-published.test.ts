import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import { onlySession, tracePath, useCapsules } from '../support/capsule-folders.ts';
import { killRunning, stopped } from '../support/chat-terminal.ts';
import { chainedLines, recordsOf } from '../support/forged-journal.ts';
import { runs, says, script } from '../support/scripted-turns.ts';
import { svc } from '../support/svc-process.ts';
import { hasPseudoTerminals, TerminalProcess } from '../support/terminal-process.ts';
import type { Workspace } from '../support/workspace.ts';

const capsule = useCapsules();
const cleanups: (() => unknown)[] = [];
const named = ['--capsule', 'demo', '--capsule-version', '1.2.3'];
const again = ['-p', '--continue'];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

function emptyFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-going-on-')));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  return folder;
}

const shell = 'capabilities: { shell: { allow: [sh] } }\n';

/** Puts demo@1.2.3 into the store of the home, over what is there; its model runs one command and answers. */
async function publish({ home }: Workspace, { answer = 'Kept.', manifest = shell } = {}): Promise<void> {
  const source = capsule({ manifest, script: script(runs('echo mine >> kept; cat kept'), says(answer)) });
  expect((await svc(source, ['build', '.'])).code).toBe(0);
  const store = join(home, '.svc', 'artifacts', 'demo', '1.2.3');
  rmSync(store, { recursive: true, force: true });
  mkdirSync(store, { recursive: true });
  const sums = execFileSync('sha256sum', ['demo-1.2.3.zip'], { cwd: source.folder });
  writeFileSync(join(store, 'demo-1.2.3.zip'), readFileSync(join(source.folder, 'demo-1.2.3.zip')));
  writeFileSync(join(store, 'demo-1.2.3.zip.sha256'), sums);
}

async function published(options?: { readonly manifest?: string }): Promise<Workspace> {
  const workspace = capsule();
  rmSync(join(workspace.folder, 'svc.yaml'));
  await publish(workspace, options);
  return workspace;
}

/** One where the capsule has run once. */
async function ran(): Promise<Workspace> {
  const workspace = await published();
  expect(await svc(workspace, ['run', ...named, '--task', 'keep it'])).toMatchObject({ code: 0 });
  return workspace;
}

function journalOf({ folder }: Workspace, id: string): string {
  return join(folder, '.svc', 'sessions', id, 'journal.jsonl');
}

function forge(
  workspace: Workspace,
  change: (open: Record<string, unknown>) => object,
  id: string = onlySession(workspace),
): void {
  const path = journalOf(workspace, id);
  const [open = {}, ...others] = recordsOf(readFileSync(path, 'utf8'));
  writeFileSync(path, chainedLines([{ ...open, ...change(open) }, ...others]));
}

describe('svc --continue in a folder where a published capsule ran', () => {
  it('asks for trust once, then has the same bytes, workdir and conversation', async () => {
    const workspace = await ran();
    const first = onlySession(workspace);
    const refused = await svc(workspace, [...again, 'and now?']);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toBe(
      'error[E-RUN-181]: demo@1.2.3 as it is has not been trusted by this user before, and nobody was asked\n' +
        'hint: svc run --capsule demo --capsule-version 1.2.3 --explain-scope shows what its capsule may do; with --trust the same command runs it\n',
    );
    const answer = { code: 0, stdout: 'Kept.\n' };
    expect(await svc(workspace, [...again, '--trust', 'and now?'])).toMatchObject(answer);
    expect(await svc(workspace, [...again, 'once more?'])).toMatchObject(answer);
    expect(readFileSync(join(workspace.folder, 'workdir', first, 'kept'), 'utf8')).toBe('mine\nmine\nmine\n');
    const last = (await svc(workspace, ['trace', 'show'])).stdout;
    expect(last).toMatch(/goes on with: ses_/);
    const asked = readdirSync(join(workspace.folder, '.svc', 'sessions')).map((id) => {
      const records = recordsOf(readFileSync(journalOf(workspace, id), 'utf8'));
      const { add } = records.find(({ port }) => port === 'model') as { add: readonly string[] };
      expect(records[0]).toMatchObject({ capsule: { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string } });
      return add.length;
    });
    expect(asked.toSorted((a, b) => a - b)).toEqual([1, 5, 9]);
  }, 120_000);

  it('refuses other bytes of its version, and a capsule that nothing has any more', async () => {
    const workspace = await ran();
    await publish(workspace, { answer: 'Evil.' });
    const replaced = await svc(workspace, [...again, '--trust', 'and now?']);
    expect(replaced).toMatchObject({ code: 1, stdout: '' });
    expect(replaced.stderr).toMatch(
      /^error\[E-RUN-203\]: demo@1\.2\.3 has other bytes here, with the hash [0-9a-f]{64}, not [0-9a-f]{64}\nhint: .*svc run --capsule demo --capsule-version 1\.2\.3 begins anew/,
    );
    rmSync(join(workspace.home, '.svc', 'artifacts'), { recursive: true });
    const gone = await svc(workspace, [...again, '--trust', '--offline', 'and now?']);
    expect(gone).toMatchObject({ code: 1, stdout: '' });
    expect(gone.stderr).toMatch(/^error\[E-RUN-200\]: the capsule of that session is not here any more: demo@1\.2\.3 /);
    expect(gone.stderr).toContain('hint: svc install demo@1.2.3 brings it back');
  }, 120_000);

  it.each([
    ['a name that is a path', { name: '../../demo', version: '1.2.3', sha256: 'a'.repeat(64) }, 'E-RUN-200'],
    ['a version that is an option', { name: 'demo', version: '--workdir', sha256: 'a'.repeat(64) }, 'E-RUN-200'],
    ['a version that may be any', { name: 'demo', version: 'latest', sha256: 'a'.repeat(64) }, 'E-RUN-200'],
    ['a text in place of a hash', { name: 'demo', version: '1.2.3', sha256: '../x' }, 'E-RUN-073'],
    ['a hash of other bytes', { name: 'demo', version: '1.2.3', sha256: 'a'.repeat(64) }, 'E-RUN-203'],
    ['no hash, as before', { name: 'demo', version: '1.2.3' }, 'E-RUN-200'],
  ])(
    'takes no journal at its word: %s',
    async (_, written, code) => {
      const workspace = await ran();
      forge(workspace, () => ({ capsule: written }));
      const { stderr, stdout } = await svc(workspace, [...again, '--trust', 'and now?']);
      expect([stderr.slice(0, 17), stdout]).toEqual([`error[${code}]:`.slice(0, 17), '']);
      expect(readdirSync(join(workspace.folder, '.svc', 'sessions'))).toHaveLength(1);
    },
    120_000,
  );

  it('asks anew where the record names a folder elsewhere', async () => {
    const workspace = await ran();
    const victim = emptyFolder();
    expect((await svc(workspace, [...again, '--trust', 'and now?'])).code).toBe(0);
    const run = await svc(workspace, ['run', ...named, '--workdir', victim, '--task', 'keep it']);
    expect(run.code).toBe(0);
    const refused = await svc(workspace, [...again, 'and now?']);
    expect([refused.code, refused.stderr.split('\n')[0]]).toEqual([
      1,
      `error[E-RUN-181]: demo@1.2.3 as it is has not been trusted by this user before for "${victim}", and nobody was asked`,
    ]);
    expect(readFileSync(join(victim, 'kept'), 'utf8')).toBe('mine\n');
    expect(await svc(workspace, [...again, '--workdir', victim, 'and now?'])).toMatchObject({ code: 0 });
    expect(readFileSync(join(victim, 'kept'), 'utf8')).toBe('mine\nmine\n');
  }, 120_000);

  it('works in the folder that it was granted', async () => {
    const workspace = await published({
      manifest: 'capabilities: { shell: { allow: [sh] }, project: { write: true } }\n',
    });
    const folder = emptyFolder();
    expect(await svc(workspace, ['run', ...named, '--project', folder, '--task', 'x'])).toMatchObject({ code: 0 });
    expect(await svc(workspace, [...again, '--trust', 'and now?'])).toMatchObject({ code: 0, stdout: 'Kept.\n' });
    expect(readFileSync(join(folder, 'kept'), 'utf8')).toBe('mine\nmine\n');
  }, 120_000);
});

describe('a manifest that a record came with', () => {
  it('needs another yes for a folder elsewhere that the record names', async () => {
    const workspace = capsule({ manifest: shell, script: script(runs('echo mine >> kept'), says('Kept.')) });
    const victim = emptyFolder();
    expect(await svc(workspace, ['run', '--task', 'x'])).toMatchObject({ code: 0 });
    expect(await svc(workspace, [...again, '--trust', 'x y'])).toMatchObject({ code: 0 });
    expect(await svc(workspace, ['run', '--workdir', victim, '--task', 'x'])).toMatchObject({ code: 0 });
    for (const named of [[], ['--manifest', 'svc.yaml']]) {
      const refused = await svc(workspace, [...again, ...named, 'x y']);
      expect(refused.stderr).toContain(`trusted by this user before for "${victim}"`);
    }
    expect(readFileSync(join(victim, 'kept'), 'utf8')).toBe('mine\n');
  }, 120_000);
});

describe('a record that came with a clone', () => {
  it('does not open what git runs, which the command line alone does', async () => {
    const workspace = capsule({ manifest: shell });
    const work = join(workspace.folder, 'work');
    execFileSync('git', ['init', '-q', work]);
    const opened = ['--workdir', work, '--write-git'];
    expect(await svc(workspace, ['run', ...opened, '--task', 'x'])).toMatchObject({ code: 0 });
    const sessions = (): readonly string[] => readdirSync(join(workspace.folder, '.svc', 'sessions'));
    const [first = ''] = sessions();
    const keepsGit = (id: string): unknown =>
      /"keeps_git":(true|false)/.exec(readFileSync(tracePath(workspace, id), 'utf8'))?.[1];
    expect(keepsGit(first)).toBe('false');
    // As if no command could have written it.
    forge(workspace, () => ({ trusted: true }), first);
    const closed = await svc(workspace, [...again, '--trust', 'x y']);
    expect(closed.stderr).toContain(
      '- what git runs in its workdir stays as it is: --workdir <path> --write-git opens it again\n',
    );
    const second = sessions().find((id) => id !== first) ?? '';
    expect(keepsGit(second)).toBe('true');
    expect(await svc(workspace, [...again, ...opened, 'x y'])).toMatchObject({ code: 0 });
    expect(keepsGit(sessions().find((id) => id !== first && id !== second) ?? '')).toBe('false');
  }, 120_000);
});

describe.skipIf(!hasPseudoTerminals())('on a terminal (skipped without python3)', () => {
  it('shows what a published capsule of the list may do, asks, and goes on below its transcript', async () => {
    const workspace = await ran();
    const chat = new TerminalProcess(workspace, ['sessions'], { columns: 120 });
    cleanups.push(() => killRunning(workspace.home));
    cleanups.push(() => chat.child.kill('SIGKILL'));
    await chat.shows(/Enter goes on with it/);
    chat.type('\r');
    await chat.shows(/^demo@1\.2\.3 as it is has not been trusted by you before/);
    await chat.shows(/shell allow: +sh$/);
    await chat.shows(/\[y\/N\]/);
    chat.type('y\r');
    await chat.shows(/goes on with …/);
    chat.type('and now?\r');
    await expect.poll(() => chat.terminal.rows.filter((row) => row === '│ Kept.').length, { timeout: 60_000 }).toBe(2);
    expect(await stopped(chat)).toBe(0);
  }, 120_000);
});
