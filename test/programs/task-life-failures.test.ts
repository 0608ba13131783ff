import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { readTrace } from '../support/read-trace.ts';
import { tracePath } from '../support/capsule-folders.ts';
import { completed, reply, working } from '../support/frame-lines.ts';
import { runs, says, script } from '../support/scripted-turns.ts';
import { staysUp, useStreamedCapsules, type StreamedCapsule } from '../support/streamed-capsule.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { svc } from '../support/svc-process.ts';
import { makeWorkspace } from '../support/workspace.ts';

const capsules = useStreamedCapsules();

const shell = 'capabilities: { shell: { allow: [sh] } }\n';

/** A capsule whose driver is a program of the shell. */
async function processCapsule(command: string): Promise<StreamedCapsule> {
  const workspace = makeWorkspace({
    'svc.yaml': `name: failures
version: 1.0.0
inference:
  transport: process
  model: m
  command: ${JSON.stringify(['sh', '-c', command])}
${staysUp}`,
  });
  return await capsules.from(workspace);
}

/** A capsule with one more line below `inference`. */
async function limitedCapsule(limit: string, turns: string): Promise<StreamedCapsule> {
  const workspace = makeWorkspace({
    'svc.yaml': `name: failures
version: 1.0.0
inference:
  model: m
  driver: { artifact: svc-driver-script, config: { script: script.yaml } }
  ${limit}
${staysUp}${shell}`,
    'script.yaml': turns,
  });
  return await capsules.from(workspace);
}

const answer = '{"type":"response","response":{"content":[{"type":"text","text":"Fine."}],"stop_reason":"end_turn"}}';

function resultOf(capsule: StreamedCapsule): string {
  return readFileSync(join(capsule.line.workdir, 'out', 'result.txt'), 'utf8');
}

function failed(message: string, response: string): string {
  return `status {"id":"task-1","status":{"state":"failed","message":${JSON.stringify(message)},"response":${JSON.stringify(response)}},"final":true}`;
}

describe('a task that fails', () => {
  it('because its driver does, says what out/result.txt says [D1-STATE-10, D1-STATE-21, D1-FRAME-10, D1-FRAME-11, D1-FRAME-13, D1-ID-01]', async () => {
    const capsule = await capsules.script({
      manifest: staysUp,
      script: script({ content: [], stop_reason: 'error', error: 'the model is "out"\nfor lunch' }),
    });
    const stream = await (await capsule.submit('Go on.')).untilClosed();
    expect(stream.lines).toEqual([
      `0 ${working(1)}`,
      `1 ${failed('session ended', 'error: the model is "out"\nfor lunch')}`,
    ]);
    expect(resultOf(capsule)).toBe('error: the model is "out"\nfor lunch');
    const id = String(stream.frames[0]?.data['id']);
    expect((await capsule.task(id)).status).toEqual({ state: 'failed', message: 'session ended' });
  });

  it('because its driver cannot be called, says so [D1-STATE-11, D1-STATE-21, D1-FRAME-11]', async () => {
    const workspace = makeWorkspace({
      'svc.yaml': `name: failures\nversion: 1.0.0\ninference: { transport: process, model: m, command: [no-such-driver] }\n${staysUp}`,
    });
    const capsule = await capsules.from(workspace);
    const stream = await (await capsule.submit('Go on.')).untilClosed();
    const message = 'driver invocation failed: no-such-driver could not be started: no such command';
    expect(stream.lines).toEqual([`0 ${working(1)}`, `1 ${failed(message, `error: ${message}`)}`]);
    expect(resultOf(capsule)).toBe(`error: ${message}`);
  });

  it('because its turns are used up, counts them [D1-STATE-12, D1-STATE-21, D1-FRAME-11]', async () => {
    const capsule = await limitedCapsule('max_turns: 2', script(runs('true'), runs('true')));
    const stream = await (await capsule.submit('Go on.')).untilClosed();
    const message = 'max_turns exceeded: 2 of 2 inference turns used';
    expect(stream.lines.filter((line) => !line.includes('artifact'))).toEqual([
      `0 ${working(1)}`,
      `2 ${working(2)}`,
      `4 ${failed(message, `error: ${message}`)}`,
    ]);
    expect(resultOf(capsule)).toBe(`error: ${message}`);
  });

  it('because of its spend ceiling, says the refusal [D1-STATE-13, D1-STATE-21, D1-FRAME-11]', async () => {
    const turn = { ...runs('true'), usage: { input_tokens: 900, output_tokens: 50 } };
    const capsule = await limitedCapsule('max_tokens: 100\n  max_session_tokens: 1000', script(turn, says('Done.')));
    const stream = await (await capsule.submit('Go on.')).untilClosed();
    const { data } = await stream.until(({ text }) => text.includes('"failed"'));
    const { message, response } = data['status'] as { readonly message: string; readonly response: string };
    expect(message).toMatch(
      /^spend ceiling reached: 950 of 1000 session tokens used, the next call may need [1-9][0-9]{2}$/,
    );
    expect(response).toBe(`error: ${message}`);
    expect(stream.lines.at(-1)).toBe(`3 ${failed(message, response)}`);
    expect(resultOf(capsule)).toBe(response);
  });

  it('for any reason, leaves the next one a fresh start, whose result is not in its status [D1-STATE-09, D1-STATE-21, D1-FRAME-12, D1-ID-07]', async () => {
    const capsule = await processCapsule(`read -r line; mkdir once && exit 3; echo '${answer}'; cat > /dev/null`);
    const first = await (await capsule.submit('Go on.')).untilClosed();
    const error = 'error: the driver exited with status 3 before its response';
    expect(first.lines).toEqual([`0 ${working(1)}`, `1 ${failed('session ended', error)}`]);
    const second = await (await capsule.submit('Go on.')).untilClosed();
    expect(second.lines).toEqual([`0 ${working(1)}`, `1 ${reply('Fine.')}`, `2 ${completed()}`]);
    expect(resultOf(capsule)).toBe('Fine.');
  });
});

describe('an end that the agent loop does not report', () => {
  it('leaves the stream open after a driver line that is no JSON, and tasks/get says failed [D1-STATE-23, D1-STREAM-03]', async () => {
    const capsule = await processCapsule(
      `read -r line; if mkdir once; then echo '{"type":"chunk","text":"I "}'; echo oops; else echo '${answer}'; fi; cat > /dev/null`,
    );
    const watch = await capsule.watch();
    const stream = await capsule.submit('Go on.');
    const { data } = await stream.until(({ event, data: { final } }) => event === 'text' && final === true);
    const id = String(data['id']);
    await capsule.send('Once more.');
    const frames = [
      `0 ${working(1)}`,
      '1 text {"id":"task-1","text":"I ","final":false}',
      '2 text {"id":"task-1","text":"","final":true}',
      `0 ${working(1, 'task-2')}`,
      `1 ${reply('Fine.', 'task-2')}`,
      `2 ${completed('task-2')}`,
    ];
    // The final status that closes it is the other task's.
    expect((await stream.untilClosed()).lines).toEqual(frames);
    expect((await capsule.task(id)).status).toEqual({
      state: 'failed',
      message: 'the driver wrote a line that is not JSON: "oops"',
    });
    expect((await capsule.terminate()).code).toBe(0);
    expect((await watch.untilClosed()).lines.slice(1, -1)).toEqual(frames);
  });

  it('ends the session before the model is asked when the workdir was over its limit before it began', async () => {
    const workspace = scriptCapsule({
      manifest: 'capabilities: { resources: { workdir_max_bytes: 100000 } }\n',
      files: { 'task.md': 'Go.\n', 'work/big': 'x'.repeat(200_000) },
    });
    const capsule = await svc(workspace, ['run', '--workdir', 'work']);
    const [session = ''] = readdirSync(join(workspace.folder, '.svc/sessions'));
    const trace = readTrace(tracePath(workspace, session));
    workspace.remove();
    expect(capsule.code).toBe(2);
    expect(capsule.stderr).toMatch(
      /^error\[E-RUN-028\]: the workdir holds 20000\d bytes, more than the 100000 it may/m,
    );
    expect(trace.map(({ event_type: type }) => type)).toEqual([
      'session_start',
      'task_received',
      'task_start',
      'session_end',
    ]);
  });

  it('ends the session as trapped when the workdir outgrew its limit [D1-STATE-23]', async () => {
    const capsule = await capsules.script({
      manifest: `capabilities: { shell: { allow: [sh] }, resources: { workdir_max_bytes: 100000 } }\n${staysUp}`,
      script: script(runs('head -c 200000 /dev/zero > big'), says('Done.')),
    });
    const watch = await capsule.watch();
    const stream = await capsule.submit('Go on.');
    const { code, stderr } = await capsule.process.ended;
    expect(code).toBe(2);
    expect(stderr).toMatch(/^error\[E-RUN-028\]: the workdir holds \d+ bytes, more than the 100000 it may hold$/m);
    const frames = [
      `0 ${working(1)}`,
      '1 artifact {"id":"task-1","artifact":{"tool_name":"sh","content":"<untrusted-content source=tool:sh>\\ncommand: head -c 200000 /dev/zero > big\\nexit code: 0\\nstdout: (empty)\\nstderr: (empty)\\n</untrusted-content>","fence_source":"tool:sh","tool_call_id":"run_1","is_error":false,"duration_ms":<ms>,"exit_code":0,"truncated":false}}',
    ];
    // A measure that comes late meets the turn that began meanwhile.
    const firstTurn = (lines: readonly string[]): string[] =>
      lines.filter((line) => !/^\d+ (?:text |status .*turn 2)/.test(line));
    expect(firstTurn((await stream.untilClosed()).lines)).toEqual(frames);
    expect(firstTurn((await watch.untilClosed()).lines.slice(1))).toEqual([...frames, '- capsule-closed {}']);
    expect(capsule.trace.at(-1)).toMatchObject({ event_type: 'session_end', status: 'trapped' });
  });
});
