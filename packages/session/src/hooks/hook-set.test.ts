import { describe, expect, it } from 'vitest';

import { FakeHooks, hang, hookedTask, judgedCall } from '../../../../test/support/fake-hooks.ts';
import { fakeComponent } from '../../../components/test/fake-component.ts';
import { ComponentFault, type Component } from '@svc/components/component.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { callHook, DriverTrap } from './hook.ts';
import type { FinishedTurn, FullContext } from './session-hooks.ts';

const turn: FinishedTurn = {
  turn: 1,
  model: 'm',
  response: { content: [], stopReason: 'end_turn' },
  usage: { inputTokens: 1, outputTokens: 1 },
};
const context: FullContext = { messages: [], estimatedTokens: 2, maxTokens: 1 };
const completed = { state: 'completed', text: 'Done.' } as const;

function denies(reason: string): () => unknown {
  return () => ({ tag: 'deny', val: reason });
}

function fails(): never {
  throw new Error('unreachable');
}

describe('the hooks that judge a call', () => {
  it('answer in order until one refuses', async () => {
    const hooks = new FakeHooks([
      { name: 'a', commit_policy: 'deny' },
      { name: 'b', commit_policy: 'deny', does: denies('Not that.') },
      { name: 'c', commit_policy: 'deny', does: denies('Never.') },
    ]);
    const verdict = await hooks.set.judgeCall(hookedTask(), judgedCall('shell'));
    expect(verdict).toEqual({ kind: 'deny', reason: 'Not that.', by: 'b' });
    expect(hooks.heard).toEqual(['a on-tool-call', 'b on-tool-call']);
  });

  it('judge a command twice, and nothing that they are not bound to', async () => {
    const hooks = new FakeHooks([
      { name: 'a', binding: 'on-shell' },
      { name: 'b' },
      { name: 'c', binding: ['on-task-end', 'on-tool-call'] },
    ]);
    expect(await hooks.set.judgeCall(hookedTask(), judgedCall('shell'))).toEqual({ kind: 'proceed' });
    expect(hooks.heard).toEqual(['b on-tool-call', 'c on-tool-call', 'a on-shell', 'b on-shell']);
    await hooks.set.judgeCall(hookedTask(), judgedCall('wasm'));
    expect(hooks.heard.slice(4)).toEqual(['b on-tool-call', 'c on-tool-call']);
  });

  it('refuse when they fail and may refuse, without their inner words; others do not', async () => {
    const guard = new FakeHooks([{ name: 'guard', commit_policy: 'deny', does: fails }]);
    expect(await guard.set.judgeCall(hookedTask(), judgedCall('wasm'))).toEqual({
      kind: 'deny',
      reason: 'the call was refused: the hook guard, which judges it, failed',
      by: 'guard',
    });
    expect(guard.errors).toEqual(['guard on-tool-call: it broke off: unreachable']);
    const watch = new FakeHooks([{ name: 'watch', does: fails }]);
    expect(await watch.set.judgeCall(hookedTask(), judgedCall('wasm'))).toEqual({ kind: 'proceed' });
  });

  it('release a task that is canceled while they think', async () => {
    const task = hookedTask();
    const does = (): Promise<never> => {
      task.cancel();
      return hang();
    };
    const hooks = new FakeHooks([{ name: 'slow', commit_policy: 'deny', does }, { name: 'next' }]);
    const verdict = await hooks.set.judgeCall(task, judgedCall('wasm'));
    expect(verdict).toEqual({ kind: 'deny', reason: 'the task was canceled' });
    expect(hooks.errors).toEqual([]);
    expect(hooks.heard).toEqual(['slow on-tool-call']);
  });
});

describe('the hooks of a compaction', () => {
  const replaces = (text: string) => () => ({
    tag: 'replace-context',
    val: [{ tag: 'user', val: [{ tag: 'text', val: text }] }],
  });

  it('answer in order until one replaces the conversation', async () => {
    const hooks = new FakeHooks([
      { name: 'a', commit_policy: 'replace-context' },
      { name: 'b', commit_policy: 'replace-context', does: replaces('short') },
      { name: 'c', commit_policy: 'replace-context', does: replaces('shorter') },
    ]);
    expect(await hooks.set.compact(hookedTask(), context)).toEqual({
      kind: 'replaced',
      hookName: 'b',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'short' }] }],
    });
    expect(hooks.heard).toEqual(['a on-compaction', 'b on-compaction']);
    hooks.set.refused('on-compaction', 'it is empty');
    expect(hooks.errors).toEqual(['b on-compaction: it is empty']);
  });

  it('leave it when none does, and there is nobody when none is bound', async () => {
    const watching = new FakeHooks([{ name: 'a' }]);
    expect(await watching.set.compact(hookedTask(), context)).toEqual({ kind: 'unchanged' });
    const elsewhere = new FakeHooks([
      { name: 'a', binding: 'on-shell' },
      { name: 'b', execution_mode: 'async' },
    ]);
    expect(await elsewhere.set.compact(hookedTask(), context)).toEqual({ kind: 'nobody' });
  });

  it.each<[string, () => unknown, string]>([
    ['broke off', fails, 'it broke off: unreachable'],
    ['gave an error', () => ({ tag: 'err', val: 'no room' }), 'no room'],
    ['replaced what it may not', replaces('x'), 'it answered replace-context, which its commit_policy does not allow'],
  ])('fail it when one %s, also one that only watches', async (_, does, error) => {
    const hooks = new FakeHooks([{ name: 'a', does }, { name: 'b' }]);
    expect(await hooks.set.compact(hookedTask(), context)).toEqual({ kind: 'failed', hookName: 'a', error });
    expect(hooks.errors).toEqual([`a on-compaction: ${error}`]);
    expect(hooks.heard).toEqual(['a on-compaction']);
  });
});

describe('the hooks of an end', () => {
  it('all answer, and those that reopen the task share one message', async () => {
    const reopens = (text: string) => () => ({ tag: 'reopen-task', val: text });
    const hooks = new FakeHooks([
      { name: 'a', binding: 'on-task-end', commit_policy: 'reopen-task', does: reopens('One.') },
      { name: 'b' },
      { name: 'c', binding: 'on-task-end', does: reopens('Never.') },
      { name: 'd', binding: 'on-task-end', commit_policy: 'reopen-task', does: reopens('Two.') },
    ]);
    expect(await hooks.set.taskEnded(hookedTask(), completed)).toEqual({ kind: 'reopen', feedback: 'One.\n\nTwo.' });
    expect(hooks.errors).toEqual(['c on-task-end: it answered reopen-task, which its commit_policy does not allow']);
    hooks.set.refused('on-task-end', 'no turns are left');
    expect(hooks.errors[1]).toBe('d on-task-end: no turns are left');
  });

  it('answer for a canceled task too', async () => {
    const hooks = new FakeHooks([{ name: 'a' }]);
    const task = hookedTask();
    task.cancel();
    expect(await hooks.set.taskEnded(task, { state: 'canceled', text: null })).toEqual({ kind: 'accepted' });
    expect(hooks.heard).toEqual(['a on-task-end']);
    await hooks.set.taskStarted(task, 'Go.');
    expect(hooks.heard).toHaveLength(1);
  });

  it('have one time together once the session is to stop', async () => {
    const hooks = new FakeHooks([{ name: 'a', does: hang }, { name: 'b' }], { stopBudgetMs: 20 });
    hooks.stop.abort();
    await hooks.set.taskEnded(hookedTask(), completed);
    await hooks.set.sessionEnded('ok');
    const late = 'it did not answer before the session had to end';
    expect(hooks.errors).toEqual([
      `a on-task-end: ${late}`,
      `b on-task-end: ${late}`,
      `a on-session-end: ${late}`,
      `b on-session-end: ${late}`,
    ]);
    expect(hooks.heard).toEqual(['a on-task-end']);
  });
});

describe('artifacts of hooks', () => {
  const commits = (content: string) => () => ({ tag: 'artifact', val: { content } });
  const policy = { binding: 'on-inference', commit_policy: 'artifact' } as const;

  it('reach the task once, in the order of the hooks', async () => {
    const hooks = new FakeHooks([
      { name: 'a', ...policy, does: commits('1') },
      { name: 'b', ...policy, does: commits('2') },
    ]);
    await hooks.set.inferred(hookedTask(), turn);
    await hooks.set.inferred(hookedTask(), turn);
    const names = hooks.set.takeArtifacts('tsk_1').map(({ hookName, content }) => `${hookName} ${content}`);
    expect(names).toEqual(['a 1', 'a 1', 'b 2', 'b 2']);
    expect(hooks.set.takeArtifacts('tsk_1')).toEqual([]);
  });

  it('disappear when the task ends without them', async () => {
    const hooks = new FakeHooks([{ name: 'a', ...policy, does: commits('1') }]);
    await hooks.set.inferred(hookedTask(), turn);
    await hooks.set.taskEnded(hookedTask(), { state: 'failed', text: 'lost' });
    expect(hooks.set.takeArtifacts('tsk_1')).toEqual([]);
  });

  it('have a bound on number and size', async () => {
    const many = new FakeHooks([{ name: 'a', ...policy, does: commits('1') }]);
    for (let count = 0; count < 65; count += 1) await many.set.inferred(hookedTask(), turn);
    expect(many.set.takeArtifacts('tsk_1')).toHaveLength(64);
    expect(many.errors).toEqual(['a on-inference: a hook commits at most 64 artifacts a task']);
    const large = new FakeHooks([{ name: 'a', ...policy, does: commits('x'.repeat(262_145)) }]);
    await large.set.inferred(hookedTask(), turn);
    expect(large.errors).toEqual(['a on-inference: its artifact is of 262145 characters, 262144 is the most']);
  });
});

describe('the failures of hooks', () => {
  it.each<[ComponentFault['kind'], string, boolean]>([
    ['trap', 'it broke off: x', true],
    ['memory', 'it used up its memory', true],
    ['deadline', 'it did not answer within 20 s', false],
    ['unavailable', 'it cannot be used: x', false],
    ['canceled', 'it was stopped: x', false],
  ])('reach the operator as they are: %s', async (kind, error, trapped) => {
    const does = (): never => {
      throw new ComponentFault(kind, 'x');
    };
    const hooks = new FakeHooks([{ name: 'a', does }]);
    await hooks.set.sessionStarted();
    expect(hooks.errors).toEqual([`a on-session-start: ${error}`]);
    expect(hooks.set.trapped).toBe(trapped);
  });

  it('lose what is too long, and get words where they have none', async () => {
    const long = new FakeHooks([{ name: 'a', does: () => ({ tag: 'err', val: 'x'.repeat(5_000) }) }]);
    await long.set.sessionStarted();
    expect(long.errors).toEqual([`a on-session-start: ${'x'.repeat(2_000)}…`]);
    const silent = new FakeHooks([{ name: 'a', does: () => ({ tag: 'err', val: '' }) }]);
    await silent.set.sessionStarted();
    expect(silent.errors).toEqual(['a on-session-start: it gave no reason']);
  });

  it('include what is no outcome at all', async () => {
    const hooks = new FakeHooks([{ name: 'a', does: () => 7 }]);
    await hooks.set.inferred(hookedTask(), turn);
    expect(hooks.errors).toEqual(['a on-inference: it answered something that is not an outcome']);
  });

  it('end the session when they cannot be traced', async () => {
    const lost = new Diagnostic('E-IO-002', 'the disk is full');
    const record = (): never => {
      throw lost;
    };
    const blocking = new FakeHooks([{ name: 'a', does: fails }], { record });
    await expect(blocking.set.sessionStarted()).rejects.toBe(lost);
    const later = new FakeHooks([{ name: 'a', execution_mode: 'async', does: fails }], { record });
    await expect(later.set.sessionEnded('ok')).rejects.toBe(lost);
  });
});

describe('an async hook', () => {
  it('gets every event in order while nobody waits for it, and finishes before the session', async () => {
    let release = (): void => {};
    const gate = new Promise<void>((resolve) => (release = resolve));
    const hooks = new FakeHooks([{ name: 'a', execution_mode: 'async', does: () => gate }]);
    await hooks.set.sessionStarted();
    await hooks.set.taskStarted(hookedTask(), 'Go.');
    await hooks.set.judgeCall(hookedTask(), judgedCall('shell'));
    await hooks.set.taskEnded(hookedTask(), completed);
    expect(hooks.heard).toEqual(['a on-session-start']);
    const ended = hooks.set.sessionEnded('ok');
    release();
    await ended;
    const events = ['session-start', 'task-start', 'tool-call', 'shell', 'task-end', 'session-end'];
    expect(hooks.heard).toEqual(events.map((event) => `a on-${event}`));
  });

  it('commits nothing', async () => {
    const does = denies('No.');
    const hooks = new FakeHooks([{ name: 'a', execution_mode: 'async', binding: 'on-tool-call', does }]);
    expect(await hooks.set.judgeCall(hookedTask(), judgedCall('wasm'))).toEqual({ kind: 'proceed' });
    await hooks.set.sessionEnded('ok');
    expect(hooks.errors).toEqual(['a on-tool-call: it answered deny, and an async hook commits nothing']);
  });

  it('stays behind when it hangs at the end, and the session reports what it missed', async () => {
    const hooks = new FakeHooks([{ name: 'a', execution_mode: 'async', does: hang }], { drainMs: 20 });
    await hooks.set.sessionStarted();
    await hooks.set.taskStarted(hookedTask(), 'Go.');
    await hooks.set.sessionEnded('ok');
    expect(hooks.errors).toEqual([
      'a on-task-start: 2 events were not delivered: the session had to end',
      'a on-session-start: it did not answer before the session had to end',
    ]);
  });

  it('holds up the end like any other when its call rejects, and then rejects it', async () => {
    const hooks = new FakeHooks(
      [
        { name: 'b', does: () => new Promise((resolve) => setImmediate(resolve)) },
        { name: 'a', execution_mode: 'async' },
      ],
      {
        call: (hook, ...call) => (hook.name === 'a' ? Promise.reject(new TypeError('a bug')) : callHook(hook, ...call)),
      },
    );
    await expect(hooks.set.sessionEnded('ok')).rejects.toThrow('a bug');
    expect(hooks.heard).toEqual(['b on-session-end']);
  });

  it('lets the others see the end when it hangs', async () => {
    const hooks = new FakeHooks(
      [
        { name: 'stuck', execution_mode: 'async', does: hang },
        { name: 'b', execution_mode: 'async', binding: 'on-session-end' },
      ],
      { drainMs: 20 },
    );
    for (let count = 0; count < 257; count += 1) await hooks.set.sessionStarted();
    await hooks.set.sessionEnded('ok');
    expect(hooks.heard).toEqual(['stuck on-session-start', 'b on-session-end']);
  });
});

describe('a hook that a turn will wait for', () => {
  it('starts while the model thinks', async () => {
    const warmed: string[] = [];
    const warming = (name: string): Component => ({ ...fakeComponent(fails), warm: () => void warmed.push(name) });
    const names = ['on-tool-call', 'on-task-end', 'on-shell', 'on-inference', 'on-session-end'] as const;
    const hooks = new FakeHooks([
      ...names.map((name) => ({ name, binding: name, component: warming(name) })),
      { name: 'async', binding: 'on-shell', execution_mode: 'async', component: warming('async') },
    ]);
    await hooks.set.sessionStarted();
    expect(warmed).toEqual([]);
    await hooks.set.taskStarted(hookedTask(), 'Go.');
    expect(warmed).toEqual(['on-tool-call', 'on-shell', 'on-inference']);
  });
});

describe('a hook that asks the model', () => {
  it('gets its answer, or the reason why it has none', async () => {
    const answers: string[] = [];
    const does = async (_: string, __: unknown, complete: (prompt: string) => Promise<string>): Promise<void> => {
      answers.push(await complete('Well?').catch((error: Error) => `refused: ${error.message}`));
    };
    const asked: unknown[] = [];
    const answering = new FakeHooks([{ name: 'a', binding: 'on-task-start', does }], {
      complete: async (request, { hookName, taskId }) => {
        asked.push({ ...request, hookName, taskId });
        return 'Yes.';
      },
    });
    await answering.set.taskStarted(hookedTask(), 'Go.');
    const refusing = new FakeHooks([{ name: 'a', binding: 'on-task-start', does }]);
    await refusing.set.taskStarted(hookedTask(), 'Go.');
    expect(answers).toEqual(['Yes.', 'refused: there is no model']);
    expect(asked).toEqual([{ system: '', prompt: 'Well?', maxTokens: null, hookName: 'a', taskId: 'tsk_1' }]);
  });

  it('may do so 16 times a call', async () => {
    let refusal = '';
    const does = async (_: string, __: unknown, complete: (prompt: string) => Promise<string>): Promise<void> => {
      for (let count = 0; count < 16; count += 1) await complete('again');
      refusal = await complete('again').catch((error: Error) => error.message);
    };
    const hooks = new FakeHooks([{ name: 'a', binding: 'on-task-start', does }], { complete: async () => 'Yes.' });
    await hooks.set.taskStarted(hookedTask(), 'Go.');
    expect(refusal).toBe('a hook gets at most 16 completions a call');
  });

  it('stops asking when its call ends, and the session reports a driver that breaks off', async () => {
    let signal: AbortSignal | null = null;
    const does = async (_: string, __: unknown, complete: (prompt: string) => Promise<string>): Promise<void> => {
      await complete('Well?').catch(() => {});
    };
    const task = hookedTask();
    const waiting = new FakeHooks([{ name: 'a', binding: 'on-task-start', does }], {
      complete: (_, asker) => {
        signal = asker.signal;
        task.cancel();
        return hang();
      },
    });
    await waiting.set.taskStarted(task, 'Go.');
    expect(signal).toMatchObject({ aborted: true });
    const breaking = new FakeHooks([{ name: 'a', binding: 'on-task-start', does }], {
      complete: () => Promise.reject(new DriverTrap('the driver broke off')),
    });
    await breaking.set.taskStarted(hookedTask(), 'Go.');
    expect(breaking.set.trapped).toBe(true);
  });
});
