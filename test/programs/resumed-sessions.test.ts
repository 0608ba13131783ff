import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import { useCapsules } from '../support/capsule-folders.ts';
import { chatEnvironment, killRunning, stopped } from '../support/chat-terminal.ts';
import { FirstMinute } from '../support/first-minute.ts';
import { chainedLines, recordsOf } from '../support/forged-journal.ts';
import { hookCapsule } from '../support/hook-capsule.ts';
import { asks, runs, says as scripted, script } from '../support/scripted-turns.ts';
import { startCapsule, svc } from '../support/svc-process.ts';
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

async function firstMinute(): Promise<{
  readonly minute: FirstMinute;
  readonly env: Readonly<Record<string, string>>;
}> {
  const minute = new FirstMinute({ ceiling: 'sealed' });
  cleanups.push(async () => await minute.dispose());
  await minute.plays(says('One.'));
  expect(await minute.svc(['-p', 'first'])).toMatchObject({ code: 0 });
  return { minute, env: chatEnvironment(minute) };
}

describe.skipIf(!hasPseudoTerminals())('a session that is gone on with (skipped without python3)', () => {
  it('shows a question with its answer where they stood', async () => {
    const workspace = capsule({
      manifest:
        'artifacts: [{ name: svc-tool-request-input, version: 1.0.0 }]\nlifecycle: { task_acceptance: queue, after_task: sleep }\n',
      script: script(asks('Which colour?'), scripted('Blue it is.')),
    });
    const { process, line } = await startCapsule(workspace);
    await svc(workspace, ['send', line.session_id, 'Paint it.', '--wait']);
    await svc(workspace, ['answer', line.session_id, 'blue']);
    const ended = async (): Promise<string> => (await svc(workspace, ['tasks', line.session_id])).stdout;
    await expect.poll(ended, { timeout: 60_000 }).toContain('completed');
    await svc(workspace, ['stop', line.session_id]);
    await process.ended;
    const chat = terminal(workspace, ['chat', line.session_id, '--trust']);
    await chat.shows(/^>$/);
    const rows = chat.terminal.rows.filter((row) => /Which colour|^answer>|Blue it is/.test(row));
    expect(rows.map((row) => row.replace(/^[^\w>]+/, ''))).toEqual([
      expect.stringContaining('Which colour?'),
      'answer> blue',
      'Blue it is.',
    ]);
    expect(await stopped(chat)).toBe(0);
  }, 120_000);

  it('shows what a hook denied', async () => {
    const workspace = await hookCapsule({
      hooks: { guard: 'binding: on-shell\ncommit_policy: deny' },
      capabilities: '  shell: { allow: [sh] }\n',
      script: script(runs('echo > one # [[on-shell deny No shell.]]'), scripted('Then not.')),
    });
    cleanups.push(() => workspace.remove());
    expect(await svc(workspace, ['run', '--task', 'do it'])).toMatchObject({ code: 0 });
    const chat = terminal(workspace, ['--continue', '--trust']);
    await chat.shows(/^>$/);
    expect(chat.terminal.rows.join('\n')).toMatch(/\$ echo > one[^]*refused\n\u2551 No shell\.[^]*Then not\./);
    expect(await stopped(chat)).toBe(0);
  }, 300_000);

  it('cannot have a journal that another version of svc wrote, and svc says which', async () => {
    const { minute, env } = await firstMinute();
    const [id = ''] = minute.sessions;
    const journal = join(minute.home, '.svc', 'adhoc', '.svc', 'sessions', id, 'journal.jsonl');
    const [open, ...records] = recordsOf(readFileSync(journal, 'utf8'));
    writeFileSync(journal, chainedLines([{ ...open, version: 0 }, ...records]));
    const chat = terminal(minute.workspace, ['chat', id], { env, columns: 400 });
    expect(await chat.ended).toBe(1);
    expect(chat.terminal.rows.join('\n')).toMatch(
      /error\[E-RUN-073\]: .* is of version 0 of the format, and this svc knows 1/,
    );
  }, 120_000);
});
