import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import type { TaskObject } from '@svc/protocol/task-object.ts';
import { fixtureComponent } from '../../packages/components/test/support/fixture-component.ts';
import { compileTimeoutMs } from '../../packages/components/test/support/hosted-tool.ts';
import { completed, reply, working } from '../support/frame-lines.ts';
import { hookCapsule, type HookCapsule } from '../support/hook-capsule.ts';
import { eventTypes, hookErrors } from '../support/hook-trace.ts';
import { calls, runs, says, script } from '../support/scripted-turns.ts';
import { rpc } from '../support/svc-process.ts';
import { staysUp, useStreamedCapsules, type StreamedCapsule } from '../support/streamed-capsule.ts';

const capsules = useStreamedCapsules();

async function start(options: HookCapsule): Promise<StreamedCapsule> {
  await fixtureComponent('told-hook');
  return await capsules.from(await hookCapsule({ manifest: staysUp, ...options }));
}

function sessionPath({ workspace, line }: StreamedCapsule, ...path: readonly string[]): string {
  return join(workspace.folder, '.svc', 'sessions', line.session_id, ...path);
}

const doneByOne = 'binding: on-task-end\ncommit_policy: reopen-task';

function hookArtifact(name: string, content: string): string {
  return `artifact {"id":"task-1","artifact":{"tool_name":"${name}","content":"${content}","fence_source":null,"tool_call_id":null,"is_error":false,"duration_ms":null,"exit_code":null,"truncated":false}}`;
}

describe('a hook without binding', { timeout: compileTimeoutMs }, () => {
  it('gets every event, in one instance', async () => {
    const capsule = await start({
      hooks: { watch: '' },
      artifacts: ['{ name: svc-tool-editor, version: 1.0.0 }'],
      capabilities: '  shell: { allow: [sh] }\n',
      script: script(calls([['c1', 'svc-tool-editor', { command: 'list' }]]), runs('true'), says('Done.')),
    });
    await (await capsule.submit('Go.')).untilClosed();
    expect(await capsule.terminate()).toMatchObject({ code: 0 });
    expect(readFileSync(sessionPath(capsule, 'logs', 'hook-watch.log'), 'utf8').split('\n')).toEqual([
      '1 on-stage',
      '2 on-session-start',
      '3 on-task-start',
      '4 on-inference',
      '5 on-tool-call',
      '6 on-inference',
      '7 on-tool-call',
      '8 on-shell',
      '9 on-inference',
      '10 on-task-end',
      '11 on-session-end',
      '',
    ]);
    expect(statSync(sessionPath(capsule, 'logs', 'hook-watch.log')).mode & 0o777).toBe(0o600);
    expect(hookErrors(capsule.trace)).toEqual([]);
    expect(eventTypes(capsule.trace).at(-1)).toBe('session_end');
  });
});

describe('what a hook is given', { timeout: compileTimeoutMs }, () => {
  const told = script(says('[[on-inference look]]'));
  const hooks = { eye: 'binding: on-inference\ncommit_policy: artifact' };
  const seen = async (options: Partial<HookCapsule>): Promise<unknown> => {
    const capsule = await start({ hooks, script: told, ...options });
    const { frames } = await (await capsule.submit('Go.')).untilClosed();
    return frames.find(({ event }) => event === 'artifact')?.data['artifact'];
  };

  it('ends at what its own entry asks for, whatever the capsule grants [D1-SCOPE-10]', async () => {
    expect(await seen({ asks: '' })).toMatchObject({ content: '0 directories, no variables' });
  });

  it('has what its entry asks for and the capsule grants', async () => {
    const asks = 'filesystem: { scope: notes }, env: { allow: [HOOK_ORDERS, HOME] }, ';
    expect(await seen({ asks })).toMatchObject({ content: '1 directories, HOOK_ORDERS variables' });
  });
});

describe('write-manifests', { timeout: compileTimeoutMs }, () => {
  it('puts files beside the trace before the first task, for the owner alone', async () => {
    const capsule = await start({
      hooks: { plan: 'binding: on-stage\ncommit_policy: write-manifests' },
      orders: '[[on-stage write a.json,b]]',
    });
    expect(readdirSync(sessionPath(capsule, 'manifests')).toSorted()).toEqual(['a.json', 'b']);
    expect(readFileSync(sessionPath(capsule, 'manifests', 'a.json'), 'utf8')).toBe('written by on-stage: a.json');
    expect(statSync(sessionPath(capsule, 'manifests')).mode & 0o777).toBe(0o700);
    expect(statSync(sessionPath(capsule, 'manifests', 'b')).mode & 0o777).toBe(0o600);
  });

  it.each([
    ['a,../b', '"../b" has a directory part'],
    ['a,..', '".." has a ".." component'],
    ['a,a', '"a" is there twice'],
  ])('writes nothing when it is given %s', async (names, fault) => {
    const capsule = await start({
      hooks: { plan: 'binding: on-stage\ncommit_policy: write-manifests' },
      orders: `[[on-stage write ${names}]]`,
    });
    expect(existsSync(sessionPath(capsule, 'manifests'))).toBe(false);
    expect(existsSync(sessionPath(capsule, 'b'))).toBe(false);
    expect(hookErrors(capsule.trace)).toEqual([`plan on-stage: write-manifests: the file ${fault}`]);
    expect((await (await capsule.submit('Go.')).untilClosed()).lines.at(-1)).toBe(`2 ${completed()}`);
  });
});

describe('deny', { timeout: compileTimeoutMs }, () => {
  it('keeps a call of a tool from running and writes no frame [D1-FRAME-16]', async () => {
    const wrote = (path: string, content: string): object => ({ command: 'write', path, content });
    const capsule = await start({
      hooks: { guard: 'binding: on-tool-call\ncommit_policy: deny' },
      artifacts: ['{ name: svc-tool-editor, version: 1.0.0 }'],
      script: script(
        calls([
          ['c1', 'svc-tool-editor', wrote('a.txt', '[[on-tool-call deny Not that one.]]')],
          ['c2', 'svc-tool-editor', wrote('b.txt', 'fine')],
        ]),
        says('Done.'),
      ),
    });
    const { lines } = await (await capsule.submit('Go.')).untilClosed();
    expect(lines).toEqual([
      `0 ${working(1)}`,
      `1 artifact {"id":"task-1","artifact":{"tool_name":"svc-tool-editor","content":"<untrusted-content source=tool:svc-tool-editor>\\ncreated b.txt (4 bytes)\\n</untrusted-content>","fence_source":"tool:svc-tool-editor","tool_call_id":"c2","is_error":false,"duration_ms":<ms>,"exit_code":null,"truncated":false}}`,
      `2 ${working(2)}`,
      `3 ${reply('Done.')}`,
      `4 ${completed()}`,
    ]);
    expect(existsSync(join(capsule.line.workdir, 'a.txt'))).toBe(false);
    expect(existsSync(join(capsule.line.workdir, 'b.txt'))).toBe(true);
    const made = capsule.trace.filter((line) => line['event_type'] === 'tool_call');
    expect(made.map((line) => [line['tool_call_id'], line['is_error'], line['content_bytes']])).toEqual([
      ['c1', true, 'Not that one.'.length],
      ['c2', false, expect.any(Number)],
    ]);
    expect(hookErrors(capsule.trace)).toEqual([]);
  });

  it('keeps a command from running, whichever of the two events it is for [D1-FRAME-16]', async () => {
    const capsule = await start({
      hooks: { guard: 'binding: [on-shell, on-tool-call]\ncommit_policy: deny' },
      capabilities: '  shell: { allow: [sh] }\n',
      script: script(
        runs('echo > one # [[on-shell deny No shell.]]'),
        runs('echo > two # [[on-tool-call deny No tool.]]'),
        runs('echo > three'),
        says('Done.'),
      ),
    });
    const { frames } = await (await capsule.submit('Go.')).untilClosed();
    expect(frames.filter(({ event }) => event === 'artifact')).toHaveLength(1);
    expect(['one', 'two', 'three'].filter((name) => existsSync(join(capsule.line.workdir, name)))).toEqual(['three']);
  });

  it('keeps a skill from being read', async () => {
    const capsule = await start({
      hooks: { guard: 'binding: on-tool-call\ncommit_policy: deny' },
      artifacts: ['{ name: style, version: 1.0.0, runtime: skill, source: ./style }'],
      files: { 'style/svc.yaml': 'name: style\nversion: 1.0.0\nruntime: skill\n', 'style/skill.md': 'Be brief.\n' },
      orders: '[[on-tool-call deny No skills.]]',
      script: script(calls([['c1', 'style', {}]]), says('Done.')),
    });
    const { frames } = await (await capsule.submit('Go.')).untilClosed();
    expect(frames.filter(({ event }) => event === 'artifact')).toEqual([]);
    expect(capsule.trace.find((line) => line['event_type'] === 'skill_call')).toMatchObject({ is_error: true });
  });
});

describe('an artifact', { timeout: compileTimeoutMs }, () => {
  it('has a frame of its own before the task is completed, in the order of the hooks [D1-FRAME-15, D1-FRAME-23, D1-FRAME-25, D1-FRAME-27, D1-FRAME-28, D1-FRAME-30, D1-FRAME-32]', async () => {
    const declared = 'binding: on-inference\ncommit_policy: artifact';
    const capsule = await start({
      hooks: { first: declared, second: declared },
      orders: '[[on-inference artifact Seen.]]',
      capabilities: '  shell: { allow: [sh] }\n',
      script: script(calls([['c1', 'none', {}]]), says('Done.')),
    });
    const { lines } = await (await capsule.submit('Go.')).untilClosed();
    expect(lines.slice(2)).toEqual([
      `2 ${working(2)}`,
      `3 ${reply('Done.')}`,
      `4 ${hookArtifact('first', 'Seen.')}`,
      `5 ${hookArtifact('first', 'Seen.')}`,
      `6 ${hookArtifact('second', 'Seen.')}`,
      `7 ${hookArtifact('second', 'Seen.')}`,
      `8 ${completed()}`,
    ]);
  });

  it('has no frame for a task that failed, and none with the next one either', async () => {
    const capsule = await start({
      hooks: { note: 'binding: on-inference\ncommit_policy: artifact' },
      script: script({ content: [{ type: 'text', text: '[[on-inference artifact Seen.]]' }], stop_reason: 'error' }),
    });
    for (const text of ['One.', 'Two.']) {
      const { frames } = await (await capsule.submit(text)).untilClosed();
      expect(frames.map(({ event }) => event)).toEqual(['status', 'status']);
    }
  });
});

describe('reopen-task', { timeout: compileTimeoutMs }, () => {
  it('runs a completed task again as often as the manifest allows [D1-MAN-15, D1-STATE-18, D1-STATE-19, D1-STATE-20]', async () => {
    const said = '[[on-task-end reopen Once more.]]';
    const capsule = await start({ hooks: { judge: doneByOne, other: doneByOne }, script: script(says(said)) });
    const watch = await capsule.watch();
    await capsule.send('Go.');
    const attempt = [`0 ${working(1)}`, `1 ${reply(said)}`, `2 ${completed()}`];
    await watch.until(() => watch.frames.length === 7);
    expect(watch.lines.slice(1)).toEqual([...attempt, ...attempt]);
    const sent = await capsule.send('Go on.');
    await watch.until(({ data }) => data['id'] === sent.id && data['final'] === true);
    expect(hookErrors(capsule.trace)[0]).toBe('other on-task-end: lifecycle.max_task_reopens is 1');
    expect(capsule.trace.find((line) => line['event_type'] === 'task_reopened')).toMatchObject({
      attempt: 2,
      feedback: 'Once more.\n\nOnce more.',
    });
  });

  it.each([0, 2])('fails beyond the %i times that a manifest names [D1-MAN-15]', async (most) => {
    const said = '[[on-task-end reopen Once more.]]';
    const manifest = staysUp.replace(' }', `, max_task_reopens: ${most} }`);
    const capsule = await start({ hooks: { judge: doneByOne }, script: script(says(said)), manifest });
    const watch = await capsule.watch();
    const { id } = await capsule.send('Go.');
    const isEnd = ({ event, data }: (typeof watch.frames)[number]): boolean =>
      event === 'status' && data['final'] === true;
    await watch.until(() => watch.frames.filter(isEnd).length === most + 1);
    const next = await capsule.send('Go on.');
    await watch.until(({ data }) => data['id'] === next.id);
    const reopened = capsule.trace.filter((line) => line['event_type'] === 'task_reopened' && line['task_id'] === id);
    expect(reopened).toHaveLength(most);
    expect(hookErrors(capsule.trace)[0]).toBe(`judge on-task-end: lifecycle.max_task_reopens is ${most}`);
  });
});

describe('a client that polls a task', { timeout: compileTimeoutMs }, () => {
  it('sees it completed once no hook reopens it any more', async () => {
    const capsule = await start({
      hooks: { judge: doneByOne },
      script: script(says('[[on-task-end reopen Once more.]]')),
    });
    const { id } = await capsule.send('Go.');
    const stateOf = async (): Promise<string> => {
      const { result } = (await rpc(capsule.line.url, 'tasks/get', { id })) as { result: TaskObject };
      return result.status.state;
    };
    let state = await stateOf();
    while (state !== 'completed') {
      expect(['submitted', 'working']).toContain(state);
      state = await stateOf();
    }
    expect(eventTypes(capsule.trace).filter((type) => type === 'task_end')).toHaveLength(2);
    expect(await stateOf()).toBe('completed');
  });
});

describe('replace-context', { timeout: compileTimeoutMs }, () => {
  const limits = '  context: { max_tokens: 400 }\n';
  const filled = script(calls([['c1', 'svc-tool-editor', { command: 'list', path: 'x'.repeat(2000) }]]), says('Done.'));
  const compacting = async (order: string): Promise<StreamedCapsule> => {
    const workspace = await hookCapsule({
      hooks: { shorten: 'binding: on-compaction\ncommit_policy: replace-context' },
      orders: `[[on-compaction ${order}]]`,
      manifest: staysUp,
      script: filled,
    });
    const manifest = readFileSync(join(workspace.folder, 'svc.yaml'), 'utf8');
    workspace.write('svc.yaml', manifest.replace('  model: scripted\n', `  model: scripted\n${limits}`));
    return await capsules.from(workspace);
  };

  it.each([
    ['split-pair', 'a result answers "c1", which nothing called'],
    ['keep-last', 'the conversation begins with a message of the tool'],
    ['fail No room.', 'No room.'],
  ])('fails its task alone when the hook is to %s [D1-STATE-10]', async (order, error) => {
    const capsule = await compacting(order);
    const { lines } = await (await capsule.submit('Go.')).untilClosed();
    expect(lines.at(-1)).toBe(
      `3 status {"id":"task-1","status":{"state":"failed","message":"session ended","response":${JSON.stringify(`error: the conversation could not be compacted: ${error}`)}},"final":true}`,
    );
    expect(hookErrors(capsule.trace)).toEqual([`shorten on-compaction: ${error}`]);
    const again = await (await capsule.submit('Go.')).untilClosed();
    expect(again.frames.at(-1)?.data).toMatchObject({ final: true });
  });
});
