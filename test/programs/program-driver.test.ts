import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { tracePath } from '../support/capsule-folders.ts';
import { canceled, completed, working } from '../support/frame-lines.ts';
import { doing, standInCapsule, type StandInName } from '../support/stand-in.ts';
import { staysUp, useStreamedCapsules, type StreamedCapsule } from '../support/streamed-capsule.ts';

const capsules = useStreamedCapsules();
const shell = 'capabilities: { shell: { allow: [sh] } }\n';

async function start(name: StandInName, manifest = `${staysUp}${shell}`): Promise<StreamedCapsule> {
  const { workspace, env } = standInCapsule(name, manifest);
  return await capsules.from(workspace, env);
}

const sh = (command: string): Readonly<Record<string, unknown>> => ({ call: [['sh', { command }]] });

function artifact(command: string, stdout: string): string {
  const content = `<untrusted-content source=tool:sh>\\ncommand: ${command}\\nexit code: 0\\nstdout:\\n${stdout}\\nstderr: (empty)\\n</untrusted-content>`;
  return `artifact {"id":"task-1","artifact":{"tool_name":"sh","content":"${content}","fence_source":"tool:sh","tool_call_id":null,"is_error":false,"duration_ms":<ms>,"exit_code":0,"truncated":false}}`;
}

const text = (chunk: string, final = false): string => `text {"id":"task-1","text":"${chunk}","final":${final}}`;

describe.each(['claude', 'codex'] as const)('a capsule whose model is behind %s', (name) => {
  it('shows one turn, in the middle of which a command ran, and records both [D1-MAN-04]', async () => {
    const capsule = await start(name);
    const stream = await capsule.submit(doing(sh('echo 42'), { say: 'There are 42.' }));
    expect((await stream.untilClosed()).lines).toEqual([
      `0 ${working(1)}`,
      `1 ${artifact('echo 42', '42')}`,
      `2 ${text('There are 42.')}`,
      `3 ${text('', true)}`,
      `4 ${completed()}`,
    ]);
    expect(readFileSync(join(capsule.line.workdir, 'out', 'result.txt'), 'utf8')).toBe('There are 42.');
    const recorded = capsule.trace.filter(({ event_type: type }) => type === 'shell' || type === 'inference');
    expect(recorded).toMatchObject([
      { event_type: 'shell', turn: 1, tool_call_id: null, arguments: { command: 'echo 42' }, exit_code: 0 },
      {
        event_type: 'inference',
        turn: 1,
        model: 'm-1',
        outcome: 'response',
        stop_reason: 'end_turn',
        usage: name === 'claude' ? { input_tokens: 11, output_tokens: 5 } : { input_tokens: 20, output_tokens: 10 },
      },
    ]);
  });

  it('gives its key and the token for its tools to the program alone', async () => {
    const capsule = await start(name);
    const report = doing(sh('env'), { sayAnswers: 1 });
    const key = name === 'claude' ? 'ANTHROPIC_API_KEY' : 'CODEX_API_KEY';
    const lines = (await (await capsule.submit(report)).untilClosed()).lines.join('\n');
    expect(lines).toContain('HOME=');
    expect(lines).not.toMatch(new RegExp(`SVC_MCP_TOKEN|${key}|sk-provider-1`));
    const started = (await (await capsule.submit(doing({ sayStart: 1 }))).untilClosed()).lines.join('\n');
    const token = /\\"SVC_MCP_TOKEN\\":\\"([\w-]{43})\\"/.exec(started)?.[1] ?? 'none';
    expect(started).toContain(`\\"${key}\\":\\"sk-provider-1\\"`);
    const recorded = readFileSync(tracePath(capsule.workspace, capsule.line.session_id), 'utf8');
    expect(recorded.includes(token) || recorded.includes('sk-provider-1')).toBe(false);
  });

  it('continues a conversation of several tasks where the program left it', async () => {
    const capsule = await start(
      name,
      `lifecycle: { task_acceptance: queue, after_task: sleep, conversation: threaded }\n`,
    );
    const [first, second] = [doing({ say: 'One.' }), doing({ sayPrompts: 1 })];
    await (await capsule.submit(first, 'ctx-a')).untilClosed();
    await (await capsule.submit(second, 'ctx-a')).untilClosed();
    const result = readFileSync(join(capsule.line.workdir, 'out', 'result.txt'), 'utf8');
    expect(JSON.parse(result)).toEqual([expect.stringContaining(first), expect.stringContaining(second)]);
  });

  it('ends the command and the program with a cancel in the middle of a call', async () => {
    const capsule = await start(name);
    const stream = await capsule.submit(doing(sh('echo $$ > pid; exec sleep 600')));
    const pidFile = join(capsule.line.workdir, 'pid');
    await expect.poll(() => readOrNothing(pidFile), { timeout: 20_000 }).toMatch(/^\d+\n$/);
    const { data } = await stream.until(({ event }) => event === 'status');
    await capsule.rpc('tasks/cancel', { id: data['id'] });
    expect((await stream.untilClosed()).lines.slice(1)).toEqual([`1 ${canceled()}`]);
    expect(() => process.kill(Number(readFileSync(pidFile, 'utf8')), 0)).toThrow('ESRCH');
    expect((await (await capsule.submit(doing({ say: 'Next.' }))).untilClosed()).lines.at(-1)).toBe(`3 ${completed()}`);
  });

  it('says that the program cannot be started [D1-STATE-11]', async () => {
    const { workspace, env } = standInCapsule(name, staysUp);
    rmSync(join(workspace.folder, 'programs'), { recursive: true });
    const capsule = await capsules.from(workspace, { ...env, PATH: '/nowhere' });
    const { lines } = await (await capsule.submit('Go on.')).untilClosed();
    const error = `driver invocation failed: ${name} could not be started: no such command`;
    expect(lines.at(-1)).toBe(
      `1 status {"id":"task-1","status":{"state":"failed","message":"${error}","response":"error: ${error}"},"final":true}`,
    );
  });
});

function readOrNothing(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
