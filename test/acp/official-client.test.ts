import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it, onTestFinished } from 'vitest';

import { readRunningRecords } from '@svc/record/sessions/running-record.ts';
import { tracePath } from '../support/capsule-folders.ts';
import { isGone } from '../support/is-gone.ts';
import { calling, obedientCapsule } from '../support/obedient-capsule.ts';
import { startObligingModel } from '../support/obliging-model.mjs';
import { readTrace } from '../support/read-trace.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { calls, says, script } from '../support/scripted-turns.ts';
import { message, rpc } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';
import { useEditors } from './editor.ts';

const open = useEditors();

/** A folder beside that of the capsule, as an editor has it open. */
function projectOf({ folder }: Workspace): string {
  const project = join(dirname(folder), 'code');
  mkdirSync(project, { recursive: true });
  return project;
}

/** Its model does what a word in the message asks for. */
async function obliged(more = ''): Promise<Workspace> {
  const model = await startObligingModel();
  onTestFinished(() => model.close());
  const inference = `inference: { model: m, endpoint: "${model.endpoint}", driver: { artifact: svc-driver-openai } }\n`;
  const asker = 'artifacts: [{ name: svc-tool-request-input, version: 1.0.0 }]\n';
  return makeWorkspace({ 'svc.yaml': `name: demo\nversion: 1.2.3\n${inference}${asker}${more}` });
}

/** Lines of the section `inference`. */
function settle(workspace: Workspace, inference: string): void {
  const text = readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');
  workspace.write('svc.yaml', text.replace('  model: scripted\n', `  model: scripted\n${inference}`));
}

const editing = 'artifacts: [{ name: svc-tool-editor, version: 1.0.0 }]\ncapabilities: { shell: { allow: [wc] } }\n';
const editor = (input: object): readonly [string, object] => ['svc-tool-editor', input];

async function ended(pid: number): Promise<void> {
  while (!isGone(pid)) await new Promise((resolve) => setTimeout(resolve, 20));
}

describe('an editor', () => {
  it('learns what the agent can do, whatever version it asks for', async () => {
    const workspace = await obliged();
    const connected = await open(workspace);
    for (const protocolVersion of [1, 2, 0]) {
      expect(await connected.request('initialize', { protocolVersion, clientCapabilities: {} })).toEqual({
        protocolVersion: 1,
        agentInfo: { name: 'svc', version: expect.stringMatching(/^\d+\.\d+\.\d+$/) },
        agentCapabilities: {
          loadSession: true,
          promptCapabilities: { image: false, audio: false, embeddedContext: true },
          mcpCapabilities: { http: false, sse: false },
          sessionCapabilities: { list: {}, close: {} },
        },
        authMethods: [],
      });
    }
  });

  it('sees calls with their kinds, and files whole before and after each edit', async () => {
    const workspace = obedientCapsule('scribe', editing);
    const cwd = projectOf(workspace);
    const connected = await open(workspace);
    const sessionId = await connected.newSession(cwd);
    const path = join(cwd, 'out/haiku.txt');
    const made = calling(
      editor({ command: 'write', path: 'out/haiku.txt', content: 'rain\nfalls\n' }),
      editor({ command: 'patch', path: 'out/haiku.txt', old_text: 'falls', new_text: 'sings' }),
      editor({ command: 'read', path: 'out/haiku.txt' }),
      ['wc', { command: '-l out/haiku.txt' }],
      editor({ command: 'patch', path: 'out/haiku.txt', old_text: 'snow', new_text: 'x' }),
    );
    expect(await connected.prompt(sessionId, made)).toBe('end_turn');
    const started = connected.of('tool_call');
    expect(started.map(({ title, kind, status }) => [title, kind, status])).toEqual([
      ['write out/haiku.txt', 'edit', 'pending'],
      ['patch out/haiku.txt', 'edit', 'pending'],
      ['read out/haiku.txt', 'read', 'pending'],
      ['wc -l out/haiku.txt', 'execute', 'pending'],
      ['patch out/haiku.txt', 'edit', 'pending'],
    ]);
    expect(started[0]?.['locations']).toEqual([{ path }]);
    expect(started[1]?.['rawInput']).toMatchObject({ old_text: 'falls', new_text: 'sings' });
    const updates = connected.of('tool_call_update');
    expect(updates.map(({ status }) => status)).toEqual([
      'in_progress',
      'completed',
      'in_progress',
      'completed',
      'in_progress',
      'completed',
      'in_progress',
      'completed',
      'in_progress',
      'failed',
    ]);
    expect(updates[1]?.['content']).toEqual([{ type: 'diff', path, oldText: null, newText: 'rain\nfalls\n' }]);
    expect(updates[3]?.['content']).toEqual([
      { type: 'diff', path, oldText: 'rain\nfalls\n', newText: 'rain\nsings\n' },
    ]);
    expect(updates[7]?.['content']).toMatchObject([{ content: { text: expect.stringContaining('2 out/haiku.txt') } }]);
    expect(readFileSync(path, 'utf8')).toBe('rain\nsings\n');
    expect(connected.said).toContain('does not occur');
    const ids = new Set(updates.map(({ toolCallId }) => toolCallId as string));
    expect(ids).toEqual(new Set(started.map(({ toolCallId }) => toolCallId as string)));
    expect(ids.size).toBe(5);
  });

  it('gives trusted tasks of its user, in one conversation', async () => {
    const workspace = await obliged();
    const connected = await open(workspace);
    const sessionId = await connected.newSession(projectOf(workspace));
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const prompt = [{ type: 'text', text: 'first of all' }];
    await connected.request('session/prompt', { sessionId, prompt, _meta: { traceparent } });
    expect(connected.said).toBe('echo: first of all');
    expect(await connected.prompt(sessionId, 'recall')).toBe('end_turn');
    expect(connected.said).toBe('echo: first of all');
    const [record] = readRunningRecords(workspace.home);
    const received = readTrace(tracePath(workspace, record?.session_id ?? '')).filter(
      ({ event_type: type }) => type === 'task_received',
    );
    expect(received).toMatchObject([
      {
        origin: 'user',
        trust: 'trusted',
        principal: 'acp',
        text: 'first of all',
        context_id: `ctx_${sessionId}`,
      },
      { origin: 'user', trust: 'trusted', text: 'recall', context_id: `ctx_${sessionId}` },
    ]);
    expect(JSON.stringify(received[0])).toContain('0af7651916cd43dd8448eb211c80319c');
  });

  it('sees nothing of what others ask of the same capsule', async () => {
    const workspace = await obliged();
    const connected = await open(workspace);
    const sessionId = await connected.newSession(projectOf(workspace));
    const [record] = readRunningRecords(workspace.home);
    const sent = await rpc(record?.url ?? '', 'message/send', message('of another', `ctx_${sessionId}`));
    const { id } = sent['result'] as { id: string };
    for (;;) {
      const { result } = await rpc(record?.url ?? '', 'tasks/get', { id });
      if ((result as { status: { state: string } }).status.state === 'completed') break;
    }
    expect(connected.updates).toEqual([]);
    expect(await connected.prompt(sessionId, 'hello')).toBe('end_turn');
    expect(connected.said).toBe('echo: hello');
  });

  it('has two conversations in one folder at the same time', async () => {
    const workspace = await obliged();
    const cwd = projectOf(workspace);
    const connected = await open(workspace);
    const [one, two] = await Promise.all([connected.newSession(cwd), connected.newSession(cwd)]);
    await connected.prompt(one, 'about apples');
    await connected.prompt(two, 'about pears');
    await connected.prompt(one, 'recall');
    expect(connected.said).toBe('echo: about apples');
    await connected.prompt(two, 'recall');
    expect(connected.said).toBe('echo: about pears');
  });

  it('gets a form, which it answers or declines', async () => {
    const workspace = await obliged();
    const questions: string[] = [];
    const connected = await open(workspace, {
      answer: (question) => {
        questions.push(question);
        return questions.length === 1 ? 'teal' : null;
      },
    });
    const sessionId = await connected.newSession(projectOf(workspace));
    expect(await connected.prompt(sessionId, 'ask me')).toBe('end_turn');
    expect(connected.said).toMatch(/You said .*teal/s);
    expect(await connected.prompt(sessionId, 'ask me')).toBe('cancelled');
    expect(questions).toEqual(['Which colour?', 'Which colour?']);
    expect(await connected.prompt(sessionId, 'go on')).toBe('end_turn');
  });

  it('without forms reads the question, and answers it with the next prompt', async () => {
    const workspace = await obliged();
    const connected = await open(workspace);
    const sessionId = await connected.newSession(projectOf(workspace));
    expect(await connected.prompt(sessionId, 'ask me')).toBe('end_turn');
    expect(connected.said).toContain('Which colour?');
    expect(await connected.prompt(sessionId, 'red')).toBe('end_turn');
    expect(connected.said).toMatch(/You said .*red/s);
    expect(await connected.prompt(sessionId, 'hello')).toBe('end_turn');
    expect(connected.said).toBe('echo: hello');
  });

  it('reads the question where its form fails, and the task goes on with the next prompt', async () => {
    const workspace = await obliged();
    const answer = (): never => {
      throw new Error('there is no window for a form');
    };
    const connected = await open(workspace, { answer });
    const sessionId = await connected.newSession(projectOf(workspace));
    expect(await connected.prompt(sessionId, 'ask me')).toBe('end_turn');
    expect(connected.said).toContain('Which colour?');
    expect(await connected.prompt(sessionId, 'red')).toBe('end_turn');
    expect(connected.said).toMatch(/You said .*red/s);
  });

  it('begins a task with what it says to a question that is not asked any more', async () => {
    const workspace = await obliged('lifecycle: { input_timeout_secs: 1 }\n');
    const connected = await open(workspace);
    const sessionId = await connected.newSession(projectOf(workspace));
    expect(await connected.prompt(sessionId, 'ask me')).toBe('end_turn');
    await connected.until(() => connected.said.endsWith('</untrusted-content>.'));
    expect(await connected.prompt(sessionId, 'hello')).toBe('end_turn');
    expect(connected.said).toBe('echo: hello');
  });

  it('stops a prompt that runs, and goes on with the next', async () => {
    const workspace = await obliged();
    const connected = await open(workspace);
    const sessionId = await connected.newSession(projectOf(workspace));
    const slow = connected.prompt(sessionId, 'slow one');
    await connected.until(() => connected.said === 'a ');
    const second = connected.request('session/prompt', { sessionId, prompt: [{ type: 'text', text: 'x' }] });
    await expect(second).rejects.toMatchObject({ code: -32_600 });
    await connected.notify('session/cancel', { sessionId });
    expect(await slow).toBe('cancelled');
    expect(await connected.prompt(sessionId, 'again')).toBe('end_turn');
    const [record] = readRunningRecords(workspace.home);
    const trace = readTrace(tracePath(workspace, record?.session_id ?? ''));
    expect(trace.find(({ event_type: type }) => type === 'task_canceled')).toMatchObject({ principal: 'acp' });
  });

  it('stops a long prompt that it has only just sent', async () => {
    const workspace = await obliged();
    const connected = await open(workspace);
    const sessionId = await connected.newSession(projectOf(workspace));
    const slow = connected.prompt(sessionId, `slow ${'x'.repeat(4 * 1024 * 1024)}`);
    await connected.notify('session/cancel', { sessionId });
    expect(await slow).toBe('cancelled');
  });

  it('learns why a task failed, as a message and as the error of its prompt', async () => {
    const workspace = await obliged();
    const connected = await open(workspace);
    const sessionId = await connected.newSession(projectOf(workspace));
    await expect(connected.prompt(sessionId, 'fail')).rejects.toMatchObject({
      code: -32_603,
      message: expect.stringContaining('the model is on holiday'),
    });
    expect(connected.said).toContain('the model is on holiday');
    expect(await connected.prompt(sessionId, 'hello')).toBe('end_turn');
  });

  it('learns that a limit was reached, and how much of the context is used', async () => {
    const cut = script(says('Half a', { stop_reason: 'max_tokens', usage: { input_tokens: 90, output_tokens: 10 } }));
    const workspace = scriptCapsule({ script: cut });
    settle(workspace, '  context: { max_tokens: 1000 }\n');
    const connected = await open(workspace);
    const sessionId = await connected.newSession(projectOf(workspace));
    expect(await connected.prompt(sessionId, 'write')).toBe('max_tokens');
    expect(connected.of('usage_update')).toMatchObject([{ size: 1000 }]);

    const again = calls([['c', 'svc-tool-editor', { command: 'list' }]]);
    const endless = scriptCapsule({ script: script(again, again, again), manifest: editing });
    settle(endless, '  max_turns: 2\n');
    const other = await open(endless);
    expect(await other.prompt(await other.newSession(projectOf(endless)), 'list')).toBe('max_turn_requests');
    expect(other.said).toContain('max_turns exceeded');
  });

  it('sees a plan, with an entry a step', async () => {
    const plan = {
      id: 'haiku',
      steps: [
        { id: 'write', tool: 'svc-tool-editor', input: { command: 'write', path: 'a.txt', content: 'rain' } },
        { id: 'look', tool: 'svc-tool-editor', input: { command: 'read', path: 'none' }, on_error: 'continue' },
      ],
    };
    const manifest = `artifacts: [{ name: svc-tool-editor, version: 1.0.0 }]\ncapabilities: { plan: { submit: true } }\n`;
    const workspace = obedientCapsule('planner', manifest);
    const cwd = projectOf(workspace);
    const connected = await open(workspace);
    expect(await connected.prompt(await connected.newSession(cwd), calling(['submit-plan', plan]))).toBe('end_turn');
    const plans = connected.of('plan').map(({ entries }) => entries as { content: string; status: string }[]);
    expect(plans[0]).toEqual([
      { content: 'write: svc-tool-editor', priority: 'medium', status: 'pending' },
      { content: 'look: svc-tool-editor', priority: 'medium', status: 'pending' },
    ]);
    expect(plans.at(-1)?.map(({ content, status }) => [content, status])).toEqual([
      ['write: svc-tool-editor', 'completed'],
      ['look: svc-tool-editor (failed)', 'completed'],
    ]);
    const diffs = connected.of('tool_call_update').flatMap(({ content }) => (content as object[] | undefined) ?? []);
    expect(diffs).toContainEqual({ type: 'diff', path: join(cwd, 'a.txt'), oldText: null, newText: 'rain' });
  });

  it('gets a notice that its own servers are not used', async () => {
    const workspace = await obliged();
    const connected = await open(workspace);
    const mcpServers = [{ name: 'x', command: '/bin/false', args: [], env: [] }];
    const { sessionId } = await connected.request('session/new', { cwd: projectOf(workspace), mcpServers });
    await connected.prompt(String(sessionId), 'hello');
    expect(connected.said).toMatch(/^The MCP servers of the editor are not used.*echo: hello$/s);
    await connected.prompt(String(sessionId), 'hello');
    expect(connected.said).toBe('echo: hello');
  });

  it('gets an error for each mistake', async () => {
    const workspace = await obliged();
    const cwd = projectOf(workspace);
    const connected = await open(workspace);
    const code = async (method: string, params: object): Promise<unknown> =>
      await connected.request(method, params).then(
        () => 'accepted',
        ({ code: given }: { code: number }) => given,
      );
    const prompt = [{ type: 'text', text: 'x' }];
    expect(await code('session/prompt', { sessionId: 'x', prompt })).toBe(-32_602);
    expect(await code('session/new', { cwd: 'here', mcpServers: [] })).toBe(-32_602);
    expect(await code('session/new', { cwd: join(cwd, 'none'), mcpServers: [] })).toBe(-32_602);
    expect(await code('session/load', { sessionId: '0'.repeat(32), cwd, mcpServers: [] })).toBe(-32_002);
    expect(await code('session/load', { sessionId: '../../x', cwd, mcpServers: [] })).toBe(-32_002);
    expect(await code('session/list', { cwd: 'here' })).toBe(-32_602);
    expect(await code('session/set_mode', { sessionId: 'x', modeId: 'y' })).toBe(-32_601);
    const sessionId = await connected.newSession(cwd);
    const image = [{ type: 'image', data: '', mimeType: 'image/png' }];
    expect(await code('session/prompt', { sessionId, prompt: image })).toBe(-32_602);
    // The program passes over a line that is no message, and the connection goes on.
    await connected.notify('session/cancel', { sessionId });
    await connected.notify('session/cancel', { sessionId: 'x' });
    expect(await connected.prompt(sessionId, 'hello')).toBe('end_turn');
  });

  it('learns why a capsule cannot be launched', async () => {
    const workspace = makeWorkspace({ 'svc.yaml': 'name: demo\n' });
    const connected = await open(workspace);
    await expect(connected.newSession(projectOf(workspace))).rejects.toMatchObject({
      code: -32_603,
      message: expect.stringContaining('E-MAN-'),
    });
    await expect.poll(() => connected.stderr).toContain('E-MAN-');
    // The agent does not get at its own manifest.
    const around = await open(await obliged());
    await expect(around.newSession('/')).rejects.toMatchObject({ message: expect.stringContaining('E-RUN-029') });
  });
});

describe('a session', () => {
  it('loads in another process: it repeats its messages, and the model remembers it', async () => {
    const workspace = await obliged();
    const cwd = projectOf(workspace);
    const first = await open(workspace);
    const sessionId = await first.newSession(cwd);
    await first.prompt(sessionId, 'first of all');
    await first.prompt(sessionId, 'hello');
    expect(await first.close()).toBe(0);

    const second = await open(workspace);
    const { sessions } = await second.request('session/list', { cwd });
    expect(sessions).toEqual([{ sessionId, cwd, title: 'first of all', updatedAt: expect.any(String) }]);
    expect((await second.request('session/list', { cwd: '/elsewhere' }))['sessions']).toEqual([]);
    const elsewhere = { sessionId, cwd: dirname(cwd), mcpServers: [] };
    await expect(second.request('session/load', elsewhere)).rejects.toMatchObject({ code: -32_602 });
    expect(await second.request('session/load', { sessionId, cwd, mcpServers: [] })).toEqual({});
    expect(
      second.updates.map(({ sessionUpdate, content }) => [sessionUpdate, (content as { text: string }).text]),
    ).toEqual([
      ['user_message_chunk', 'first of all'],
      ['agent_message_chunk', 'echo: first of all'],
      ['user_message_chunk', 'hello'],
      ['agent_message_chunk', 'echo: hello'],
    ]);
    expect(await second.prompt(sessionId, 'recall')).toBe('end_turn');
    expect(second.said).toBe('echo: first of all');
    const [file = ''] = readdirSync(join(workspace.folder, '.svc', 'acp'));
    expect(statSync(join(workspace.folder, '.svc', 'acp', file)).mode & 0o777).toBe(0o600);
  });

  it('keeps no secret that svc knows, whatever party repeats it', async () => {
    const workspace = await obliged();
    const manifest = readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');
    workspace.write('svc.yaml', manifest.replace('{ model: m,', '{ model: m, api_key: "${PROVIDER_KEY}",'));
    workspace.write('.env', 'PROVIDER_KEY=sk-of-nobody-but-this-test\n');
    const connected = await open(workspace);
    const sessionId = await connected.newSession(projectOf(workspace));
    await connected.prompt(sessionId, 'the key is sk-of-nobody-but-this-test');
    await connected.close();
    const kept = readFileSync(join(workspace.folder, '.svc', 'acp', `${sessionId}.jsonl`), 'utf8');
    expect(kept).not.toContain('sk-of-nobody');
    expect(kept.match(/\[secret\]/g)).toHaveLength(3);
  });

  it('closes with what runs in it', async () => {
    const workspace = await obliged();
    const connected = await open(workspace);
    const sessionId = await connected.newSession(projectOf(workspace));
    const slow = connected.prompt(sessionId, 'slow one');
    await connected.until(() => connected.said === 'a ');
    const [record] = readRunningRecords(workspace.home);
    expect(await connected.request('session/close', { sessionId })).toEqual({});
    expect(await slow).toBe('cancelled');
    await ended(record?.pid ?? 0);
    await expect(connected.prompt(sessionId, 'x')).rejects.toMatchObject({ code: -32_602 });
  });

  it('ends its prompt with an error when it breaks, and can be loaded again', async () => {
    const workspace = await obliged();
    const cwd = projectOf(workspace);
    const connected = await open(workspace);
    const sessionId = await connected.newSession(cwd);
    const slow = connected.prompt(sessionId, 'slow one');
    await connected.until(() => connected.said === 'a ');
    const [record] = readRunningRecords(workspace.home);
    process.kill(record?.pid ?? 0, 'SIGKILL');
    await expect(slow).rejects.toMatchObject({ code: -32_603, message: expect.stringContaining('has ended') });
    await connected.request('session/load', { sessionId, cwd, mcpServers: [] });
    expect(await connected.prompt(sessionId, 'hello')).toBe('end_turn');
  });

  it.each(['SIGTERM', 'SIGKILL'] as const)('ends when the agent gets %s in the middle of a prompt', async (signal) => {
    const workspace = await obliged();
    const connected = await open(workspace);
    const cwd = projectOf(workspace);
    const [one, two] = [await connected.newSession(cwd), await connected.newSession(cwd)];
    void connected.prompt(one, 'slow one').catch(() => {});
    await connected.until(() => connected.said === 'a ');
    const pids = readRunningRecords(workspace.home).map(({ pid }) => pid);
    expect([pids.length, two.length]).toEqual([2, 32]);
    connected.agent.kill(signal);
    for (const pid of pids) await ended(pid);
    expect(readRunningRecords(workspace.home)).toEqual([]);
  });

  it('ends when the editor dies in the middle of a prompt', async () => {
    const workspace = await obliged();
    const connected = await open(workspace);
    const sessionId = await connected.newSession(projectOf(workspace));
    void connected.prompt(sessionId, 'slow one').catch(() => {});
    await connected.until(() => connected.said === 'a ');
    const [record] = readRunningRecords(workspace.home);
    connected.agent.stdout?.destroy();
    connected.agent.stdin?.destroy();
    await ended(record?.pid ?? 0);
    const trace = readTrace(tracePath(workspace, record?.session_id ?? ''));
    expect(trace.at(-1)).toMatchObject({ event_type: 'session_end' });
    expect(trace.find(({ event_type: type }) => type === 'task_end')).toMatchObject({ state: 'canceled' });
  });
});

it('docs/doors.md has Zed start it', async () => {
  const manual = readFileSync(fileURLToPath(new URL('../../docs/doors.md', import.meta.url)), 'utf8');
  const [, block = ''] = /\n## ACP\n[^]*?```json\n([^]*?)```/.exec(manual) ?? [];
  const settings = JSON.parse(block) as { agent_servers: Record<string, { command: string; args: string[] }> };
  const { command, args } = settings.agent_servers['scribe'] ?? { command: '', args: [] };
  expect([command, ...args.slice(0, 3)]).toEqual(['svc', 'serve', 'acp', '--manifest']);
  const workspace = await obliged();
  // An editor starts its agents where it was started itself.
  const connected = await open(workspace, { args: ['--manifest', join(workspace.folder, 'svc.yaml')], cwd: '/' });
  expect(await connected.prompt(await connected.newSession(projectOf(workspace)), 'hello')).toBe('end_turn');
});
