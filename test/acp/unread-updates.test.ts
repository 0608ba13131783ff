import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';

import { expect, it, onTestFinished, vi } from 'vitest';

import { componentText, toolRunning } from '../../packages/components/test/support/component-text.ts';
import { tracePath } from '../support/capsule-folders.ts';
import { addComponentTool } from '../support/component-tool.ts';
import { readTrace } from '../support/read-trace.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { calls, says, script } from '../support/scripted-turns.ts';
import { spawnAgent, type Update } from './editor.ts';

vi.setConfig({ testTimeout: 240_000 });

interface Stalling {
  /** The folder that it has open. */
  readonly cwd: string;
  readonly pid: number;
  readonly lines: Interface;
  readonly stderr: () => string;
  /** What a request is answered with. */
  readonly ask: (id: number, method: string, params: object) => Promise<Update>;
  /** Characters of text that it got. */
  readonly told: () => number;
  /** Whether the trace of its session says that the task has ended. */
  readonly isDone: () => boolean;
}

/** An editor with a capsule whose tool shows so many pieces of 120 KiB of NUL characters, which have 720 KiB each in JSON. */
async function editorOf(pieces: number): Promise<Stalling> {
  const again = '(local.set 0 (i32.sub (local.get 0) (i32.const 1))) (br_if $again (local.get 0))';
  const shown = `(loop $again (call $text (i32.const 2048) (i32.const 122880)) ${again})`;
  const workspace = scriptCapsule({
    manifest: 'artifacts: [{ name: it, version: 1.0.0, source: ./it }]\n',
    script: script(calls([['call_1', 'it', {}]]), says('Done.')),
  });
  addComponentTool(workspace, 'it', await componentText(toolRunning(`(local.set 0 (i32.const ${pieces})) ${shown}`)));
  const agent = spawnAgent(workspace, []);
  onTestFinished(() => void agent.kill('SIGKILL'));
  const { stdin, stdout, stderr, pid } = agent;
  if (stdin === null || stdout === null || stderr === null || pid === undefined) throw new Error('no agent');
  let words = '';
  stderr.setEncoding('utf8').on('data', (text: string) => (words += text));
  const lines = createInterface({ input: stdout });
  const answers = new Map<unknown, Update>();
  let told = 0;
  lines.on('line', (line) => {
    const message = JSON.parse(line) as Update;
    if (message['id'] !== undefined) answers.set(message['id'], message);
    else told += String(message['params']?.update?.content?.text ?? '').length;
  });
  const ask = async (id: number, method: string, params: object): Promise<Update> => {
    stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    while (!answers.has(id)) await once(lines, 'line');
    return answers.get(id) ?? {};
  };
  const cwd = join(dirname(workspace.folder), 'code');
  mkdirSync(cwd);
  const isDone = (): boolean => {
    const sessions = join(workspace.folder, '.svc', 'sessions');
    return readdirSync(sessions).some((id) => readTrace(tracePath(workspace, id)).some(isTaskEnd));
  };
  return { cwd, pid, lines, stderr: () => words, ask, told: () => told, isDone };
}

const isTaskEnd = (line: Readonly<Record<string, unknown>>): boolean => line['event_type'] === 'task_end';

/** Has it work, and stops reading as soon as the first of what the tool shows has come. */
async function stall({ ask, lines, told, cwd }: Stalling): Promise<{ readonly answer: Promise<Update> }> {
  const { result } = await ask(1, 'session/new', { cwd, mcpServers: [] });
  const prompt = [{ type: 'text', text: 'go' }];
  const answer = ask(2, 'session/prompt', { sessionId: result.sessionId, prompt });
  while (told() === 0) await once(lines, 'line');
  lines.pause();
  return { answer };
}

/** The most that the process ever had in memory. */
function maxBytes(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) * 1024;
}

it('an editor that reads on after a while misses nothing', async () => {
  const editor = await editorOf(40);
  const { answer } = await stall(editor);
  // Its session is as far as it can get: what it has said fills the pipe, and waits in its own process.
  await vi.waitFor(() => expect(editor.isDone()).toBe(true), { timeout: 120_000, interval: 50 });
  editor.lines.resume();
  expect(await answer).toMatchObject({ result: { stopReason: 'end_turn' } });
  expect(editor.told()).toBe(40 * 122_880 + 'Done.'.length);
});

it('the session of one that does not read ends where it has more than 64 MiB for it, and nothing of it is held for long', async () => {
  const editor = await editorOf(600);
  const { answer } = await stall(editor);
  await vi.waitFor(() => expect(editor.stderr()).toContain('unread, so its session ends\n'), {
    timeout: 120_000,
    interval: 50,
  });
  expect(maxBytes(editor.pid)).toBeLessThan(250 * 1024 * 1024);
  editor.lines.resume();
  const why = 'the editor has left more than 67108864 bytes of its messages unread, so its session ends';
  expect(await answer).toMatchObject({ error: { code: -32_603, message: expect.stringContaining(why) } });
  expect(editor.told()).toBeLessThan(600 * 122_880);
});
