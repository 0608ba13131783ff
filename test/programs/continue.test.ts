import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import { useCapsules } from '../support/capsule-folders.ts';
import { says as scripted, script } from '../support/scripted-turns.ts';
import { chatEnvironment, killRunning, stopped } from '../support/chat-terminal.ts';
import { FirstMinute } from '../support/first-minute.ts';
import { svc, SvcProcess } from '../support/svc-process.ts';
import { hasPseudoTerminals, TerminalProcess, type TerminalOptions } from '../support/terminal-process.ts';
import type { Workspace } from '../support/workspace.ts';
import { says } from '@svc/testing/fake-reply.ts';

const capsule = useCapsules();
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

function terminal(workspace: Workspace, args: readonly string[], options?: TerminalOptions): TerminalProcess {
  const running = new TerminalProcess(workspace, args, { columns: 120, ...options });
  cleanups.push(() => killRunning(workspace.home));
  cleanups.push(() => running.child.kill('SIGKILL'));
  return running;
}

async function firstMinute(): Promise<FirstMinute> {
  const minute = new FirstMinute({ ceiling: 'sealed' });
  cleanups.push(async () => await minute.dispose());
  return minute;
}

/** What the model was asked last, without the system prompt. */
function lastRequest({ model }: FirstMinute): readonly (readonly [string, string])[] {
  const asked = model?.requests.at(-1)?.json as { messages: { role: string; content: string }[] } | undefined;
  return (asked?.messages ?? [])
    .filter(({ role }) => role !== 'system')
    .map(({ role, content }) => [role, content] as const);
}

describe('svc --continue "<text>"', () => {
  it('gives a script the answer to one more message', async () => {
    const minute = await firstMinute();
    await minute.plays(says('By the discount.'), says('Since May.'), says('Nobody.'));
    await minute.svc(['-p', 'why is the cart broken?']);
    expect(await minute.svc(['-p', '--continue', 'since when?'])).toEqual({
      code: 0,
      stdout: 'Since May.\n',
      stderr: '',
    });
    // The option may stand first, and its own session is the last one now.
    const third = await minute.svc(['--continue', '--output', 'json', 'who did it?']);
    expect(JSON.parse(third.stdout)).toMatchObject({ status: 'ok', answer: 'Nobody.' });
    expect(lastRequest(minute)).toEqual([
      ['user', 'why is the cart broken?'],
      ['assistant', 'By the discount.'],
      ['user', 'since when?'],
      ['assistant', 'Since May.'],
      ['user', 'who did it?'],
    ]);
    expect(minute.sessions).toHaveLength(3);
    const { session } = JSON.parse(third.stdout) as { session: string };
    expect(await minute.svc(['run', '--replay', session])).toMatchObject({ code: 0 });
  }, 120_000);

  it('writes the answer alone where no terminal is, and reads standard input as a task does', async () => {
    const minute = await firstMinute();
    await minute.plays(says('One.'), says('Two.'), says('Three.'));
    await minute.svc(['-p', 'first']);
    expect(await minute.svc(['--continue', 'and now?'])).toMatchObject({ code: 0, stdout: 'Two.\n' });
    expect(await minute.svc(['-p', '--continue'], { input: 'from a pipe\n' })).toMatchObject({
      code: 0,
      stdout: 'Three.\n',
    });
    expect(lastRequest(minute).at(-1)).toEqual(['user', 'from a pipe\n']);
  }, 120_000);

  it('goes on with a capsule, whose tasks know nothing of each other otherwise', async () => {
    const workspace = capsule({ script: script(scripted('Kept.')) });
    expect(await svc(workspace, ['run', '--task', 'keep it'])).toMatchObject({ code: 0 });
    writeFileSync(join(workspace.folder, 'script.yaml'), script(scripted('Still there.')));
    expect(await svc(workspace, ['-p', '--continue', '--trust', 'is it there?'])).toMatchObject({
      code: 0,
      stdout: 'Still there.\n',
    });
    const shown = await svc(workspace, ['trace', 'show']);
    expect(shown.stdout).toMatch(/goes on with: ses_/);
  }, 120_000);

  it('refuses one word, an option that has no meaning there, and a session that runs', async () => {
    const minute = await firstMinute();
    await minute.plays(says('One.'));
    expect((await minute.svc(['--continue', '4f1a'])).stderr).toContain('svc chat 4f1a goes on with that session');
    expect(await minute.svc(['-p', '--continue', '--bind', '0.0.0.0', 'x y'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--bind does not go with --continue') as string,
    });
    expect((await minute.svc(['-p', '--continue', 'x y'])).stderr).toContain('error[E-RUN-070]');
    const workspace = capsule({ manifest: 'lifecycle: { task_acceptance: queue, after_task: sleep }\n' });
    const waited = new SvcProcess(workspace, ['run']);
    cleanups.push(() => waited.child.kill('SIGKILL'));
    await waited.printed(/session: /);
    waited.child.kill('SIGTERM');
    await waited.ended;
    expect((await svc(workspace, ['-p', '--continue', '--trust', 'x y'])).stderr).toMatch(
      /^error\[E-RUN-070\]: no session of .* was given a task: there is nothing to go on with\n/,
    );
    const running = new SvcProcess(workspace, ['run']);
    cleanups.push(() => running.child.kill('SIGKILL'));
    await running.printed(/session: /);
    const refused = await svc(workspace, ['-p', '--continue', '--trust', 'x y']);
    expect(refused.stderr).toMatch(/error\[E-RUN-202\]: the session ses_\w+ still runs[^]*svc send ses_\w+ --wait/);
  }, 120_000);

  it('refuses a capsule whose manifest is not there', async () => {
    const workspace = capsule({ script: script(scripted('Kept.')) });
    expect(await svc(workspace, ['run', '--task', 'keep it'])).toMatchObject({ code: 0 });
    execFileSync('mv', ['svc.yaml', 'other.yaml'], { cwd: workspace.folder });
    const { code, stderr } = await svc(workspace, ['-p', '--continue', 'is it there?']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/error\[E-RUN-200\]: ses_\w+ is a session of demo, and .\/svc.yaml is not here/);
    expect(stderr).toContain('where its manifest is, svc chat --manifest <path> <session> goes on');
  }, 120_000);
});

describe.skipIf(!hasPseudoTerminals())('on a terminal (skipped without python3)', () => {
  it('sends the text below the transcript, and goes on as a chat', async () => {
    const minute = await firstMinute();
    await minute.plays(says('One.'), says('Two.'), says('Three.'));
    await minute.svc(['-p', 'first']);
    const chat = terminal(minute.workspace, ['--continue', 'and then?'], { env: chatEnvironment(minute) });
    await chat.shows(/^\u2502 Two\.$/);
    // A message that waits is shown twice.
    const ended = (): number => chat.terminal.rows.filter((row) => row.startsWith('- done')).length;
    await expect.poll(ended, { timeout: 60_000 }).toBe(2);
    chat.type('and now?\r');
    await chat.shows(/^\u2502 Three\.$/);
    expect(chat.terminal.rows.filter((row) => /^> \S|^\u2502/.test(row))).toEqual([
      '> first',
      '\u2502 One.',
      '> and then?',
      '\u2502 Two.',
      '> and now?',
      '\u2502 Three.',
    ]);
    expect(await stopped(chat)).toBe(0);
  }, 120_000);

  it('lets a person choose a session of the list to go on with', async () => {
    const minute = await firstMinute();
    await minute.plays(says('One.'), says('Two.'), says('Three.'));
    await minute.svc(['-p', 'first']);
    await minute.svc(['-p', 'second']);
    const list = terminal(minute.workspace, ['sessions'], { env: chatEnvironment(minute) });
    await list.shows(/^> ….* second$/);
    list.type('\u001B[B');
    await list.shows(/^> ….* first$/);
    list.type('\r');
    await list.shows(/^\u2502 One\.$/);
    list.type('and then?\r');
    await list.shows(/^\u2502 Three\.$/);
    expect(list.terminal.rows.filter((row) => /second/.test(row))).toEqual([]);
    expect(await stopped(list)).toBe(0);
  }, 120_000);

  it.each([
    ['Esc', '\u001B'],
    ['q', 'q'],
    ['Ctrl+C', '\u0003'],
  ])(
    'leaves the list as it is in a pipe on %s',
    async (_, key) => {
      const minute = await firstMinute();
      await minute.plays(says('One.'));
      await minute.svc(['-p', 'first']);
      const list = terminal(minute.workspace, ['sessions'], { env: chatEnvironment(minute) });
      await list.shows(/Enter goes on with it/);
      list.type(key);
      expect(await list.ended).toBe(0);
      expect(list.modes.at(-1)).toBe(list.modes[0]);
      const rows = list.terminal.rows.filter((row) => row !== '');
      expect(rows.join('\n')).toBe((await minute.svc(['sessions'])).stdout.trimEnd());
      expect(minute.sessions).toHaveLength(1);
    },
    120_000,
  );
});
