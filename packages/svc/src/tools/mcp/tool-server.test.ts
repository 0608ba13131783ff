import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { describe, expect, it } from 'vitest';

import {
  FakeLauncher,
  FakeProcess,
  type Handler,
  type LooseMessage,
} from '../../../../../test/support/fake-launcher.ts';
import type { Launcher } from '@svc/sandbox/launcher.ts';
import type { ToolOutcome } from '../tool.ts';
import type { ListedTools } from './listed-tools.ts';
import { LogBudget } from '@svc/kit/log-budget.ts';
import { ToolServer, type ServerCall, type ToolServerSettings } from './tool-server.ts';

const anything = { type: 'object' };
const echo = { name: 'echo', description: '', inputSchema: anything };
const slow = { name: 'slow', description: '', inputSchema: anything };
const kept: ListedTools = { tools: [echo, slow], leftOut: [] };

/** A server whose `slow` never answers, and whose other tools answer with how often the server was called. */
function wellMeant(listed: readonly unknown[] = kept.tools): Handler {
  let calls = 0;
  return ({ id, method, params }, process) => {
    const result = (value: LooseMessage): void => process.write({ id, result: value });
    if (method === 'initialize') {
      const { protocolVersion } = params as { readonly protocolVersion: string };
      result({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'fake', version: '1' } });
    }
    if (method === 'tools/list') result({ tools: listed });
    if (method !== 'tools/call' || (params as { readonly name: string }).name === 'slow') return;
    calls += 1;
    result({ content: [{ type: 'text', text: `call ${calls}` }] });
  };
}

/** Answers the handshake and the list, and leaves the rest to `own`. */
function unlike(own: Handler): Handler {
  const common = wellMeant();
  return (message, process) => {
    if (message['method'] === 'tools/call') own(message, process);
    else common(message, process);
  };
}

interface Given extends Partial<ToolServerSettings> {
  readonly kept?: ListedTools | null;
}

function serverOver(launcher: Launcher, { kept: list = kept, ...given }: Given = {}): ToolServer {
  const place = { launcher, command: '/opt/server', args: ['--all'], env: { LANG: 'C' } };
  const common = {
    name: 'notes',
    deadlineMs: 20_000,
    sessionDirectory: '/nowhere',
    logs: new LogBudget(),
    cutBefore: (text: string) => text,
    version: '1.2.3',
    endGraceMs: 5,
  };
  const clock = { monotonicMs: () => 0 };
  return new ToolServer({ ...place, ...common, clock, onChange: () => {}, ...given }, list);
}

function call(tool: string, signal = new AbortController().signal): ServerCall {
  return { tool, args: { text: 'hi' }, signal };
}

function passed(content: string): ToolOutcome {
  return { status: 'passed', content, exitCode: null, truncated: false };
}

function failed(content: string): ToolOutcome {
  return { status: 'failed', content, exitCode: null, truncated: false };
}

describe('the server of an artifact', () => {
  it('is started with the first call when its list is kept, and serves every call', async () => {
    const launcher = new FakeLauncher(() => new FakeProcess(wellMeant()));
    const server = serverOver(launcher);
    expect(await server.offered()).toEqual({ kind: 'answered', value: kept });
    expect(launcher.requests).toEqual([]);
    expect(await server.call(call('echo'))).toEqual(passed('call 1'));
    expect(await server.call(call('echo'))).toEqual(passed('call 2'));
    expect(launcher.requests).toEqual([{ command: '/opt/server', args: ['--all'], env: { LANG: 'C' }, stdin: 'pipe' }]);
    await server.close();
  });

  it('is sent who asks, that nothing is offered to it, and the arguments of a call', async () => {
    const launcher = new FakeLauncher(() => new FakeProcess(wellMeant()));
    const server = serverOver(launcher);
    await server.call(call('echo'));
    const [initialize] = launcher.processes[0]?.received ?? [];
    expect(initialize).toMatchObject({
      method: 'initialize',
      params: { clientInfo: { name: 'svc', version: '1.2.3' }, capabilities: {} },
    });
    expect(launcher.processes[0]?.received.at(-1)).toMatchObject({
      method: 'tools/call',
      params: { name: 'echo', arguments: { text: 'hi' } },
    });
    await server.close();
  });

  it('is asked for its tools when no list is kept, and goes on running', async () => {
    const launcher = new FakeLauncher(() => new FakeProcess(wellMeant([echo])));
    const server = serverOver(launcher, { kept: null });
    expect(await server.offered()).toEqual({ kind: 'answered', value: { tools: [echo], leftOut: [] } });
    expect(await server.call(call('echo'))).toEqual(passed('call 1'));
    expect(launcher.requests).toHaveLength(1);
    await server.close();
  });

  it('is started once for calls that come together', async () => {
    const launcher = new FakeLauncher(() => new FakeProcess(wellMeant()));
    const server = serverOver(launcher);
    const answers = await Promise.all([server.call(call('echo')), server.call(call('echo'))]);
    expect(answers).toEqual([passed('call 1'), passed('call 2')]);
    expect(launcher.requests).toHaveLength(1);
    await server.close();
  });

  it('that cannot be launched never ran, and is tried again', async () => {
    const launcher = new FakeLauncher((count) =>
      count === 1 ? { kind: 'refused', reason: 'permission denied' } : new FakeProcess(wellMeant()),
    );
    const server = serverOver(launcher);
    expect(await server.call(call('echo'))).toEqual({
      ...failed('the server of notes could not be started: permission denied'),
      reached: false,
    });
    expect(await server.call(call('echo'))).toEqual(passed('call 1'));
    await server.close();
  });

  it('that ends in a call fails it with its last words, and the next call has another', async () => {
    const dies = unlike((_, process) => {
      process.stderr.write('out of luck\n');
      process.exit({ kind: 'exited', exitCode: 3 });
    });
    const launcher = new FakeLauncher((count) => new FakeProcess(count === 1 ? dies : wellMeant()));
    const server = serverOver(launcher);
    expect(await server.call(call('echo'))).toEqual(
      failed('the server of notes exited with status 3\nits last words on stderr:\nout of luck'),
    );
    expect(await server.call(call('echo'))).toEqual(passed('call 1'));
    expect(launcher.requests).toHaveLength(2);
    await server.close();
  });

  it('that lets the deadline pass is told so and ended, and the next call has another', async () => {
    const launcher = new FakeLauncher(() => new FakeProcess(wellMeant()));
    const server = serverOver(launcher, { deadlineMs: 50 });
    expect(await server.call(call('slow'))).toEqual(failed('the server of notes did not answer within 0.05 s'));
    const [first] = launcher.processes;
    await first?.ended;
    expect(first?.asked).toEqual(['tools/call', 'notifications/cancelled']);
    expect(await server.call(call('echo'))).toEqual(passed('call 1'));
    expect(launcher.requests).toHaveLength(2);
    await server.close();
  });

  it('is told of a cancel, is not waited for, and serves the next call', async () => {
    const launcher = new FakeLauncher(() => new FakeProcess(wellMeant()));
    const server = serverOver(launcher);
    await server.call(call('echo'));
    const [process] = launcher.processes;
    const cancel = new AbortController();
    const reason = new Error('task canceled');
    const canceled = server.call(call('slow', cancel.signal));
    process?.stdin.once('data', () => cancel.abort(reason));
    await expect(canceled).rejects.toBe(reason);
    expect(await server.call(call('echo'))).toEqual(passed('call 2'));
    const [asked, told] = process?.received.slice(-3) ?? [];
    expect(told).toMatchObject({ method: 'notifications/cancelled', params: { requestId: asked?.['id'] } });
    expect(launcher.requests).toHaveLength(1);
    await server.close();
  });

  it('need not be up for a cancel, and goes on starting for the next call', async () => {
    const launcher = new FakeLauncher(() => new FakeProcess(wellMeant()));
    const server = serverOver(launcher);
    const reason = new Error('task canceled');
    await expect(server.call(call('echo', AbortSignal.abort(reason)))).rejects.toBe(reason);
    expect(await server.call(call('echo'))).toEqual(passed('call 1'));
    expect(launcher.requests).toHaveLength(1);
    await server.close();
  });

  it('is not waited for while it starts once the call is canceled', async () => {
    const server = serverOver(new FakeLauncher(() => new FakeProcess(() => {})));
    const cancel = new AbortController();
    const reason = new Error('task canceled');
    const canceled = server.call(call('echo', cancel.signal));
    cancel.abort(reason);
    await expect(canceled).rejects.toBe(reason);
    await server.close();
  });

  it('is ended by the end of its input when it heeds that', async () => {
    const launcher = new FakeLauncher(() => new FakeProcess(wellMeant()));
    const server = serverOver(launcher);
    await server.call(call('echo'));
    await server.close();
    expect(launcher.processes[0]?.events).toEqual(['end of input']);
  });

  it('is ended by force when it heeds nothing', async () => {
    const launcher = new FakeLauncher(() => new FakeProcess(wellMeant(), ['end of input', 'SIGTERM']));
    const server = serverOver(launcher);
    await server.call(call('echo'));
    await server.close();
    expect(launcher.processes[0]?.events).toEqual(['end of input', 'SIGTERM', 'SIGKILL']);
  });

  it('is ended while it is being started, and never again started', async () => {
    const launcher = new FakeLauncher(() => new FakeProcess(() => {}));
    const server = serverOver(launcher);
    const waiting = server.call(call('echo'));
    await server.close();
    expect((await waiting).status).toBe('failed');
    await launcher.processes[0]?.ended;
    expect(await server.call(call('echo'))).toEqual({
      ...failed('the server of notes could not be started: the session is over'),
      reached: false,
    });
    expect(launcher.requests).toHaveLength(1);
  });

  it('is ended when the session ends while it is being launched', async () => {
    let launch: (process: FakeProcess) => void = () => {};
    const launched = new Promise<FakeProcess>((resolve) => {
      launch = resolve;
    });
    const launcher = { launch: async () => ({ kind: 'started' as const, process: await launched }) };
    const server = serverOver(launcher);
    const waiting = server.call(call('echo'));
    const closing = server.close();
    const process = new FakeProcess(wellMeant());
    launch(process);
    await closing;
    expect(process.events).toEqual(['end of input']);
    expect((await waiting).status).toBe('failed');
  });

  it('answers no notification to the model, and its own requests are refused', async () => {
    const replies: LooseMessage[] = [];
    const asks: Handler = unlike(({ id }, process) => {
      process.write({ method: 'notifications/message', params: { level: 'error', data: 'x' } });
      process.write({ id: 'own', method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } });
      process.write({ id, result: { content: [{ type: 'text', text: 'done' }] } });
    });
    const launcher = new FakeLauncher(
      () =>
        new FakeProcess((message, process) => {
          if (message['id'] === 'own') replies.push(message);
          else asks(message, process);
        }),
    );
    const server = serverOver(launcher);
    expect(await server.call(call('echo'))).toEqual(passed('done'));
    await server.close();
    expect(replies).toMatchObject([{ id: 'own', error: { code: -32601 } }]);
  });
});

describe('a server that takes its time', () => {
  it('is held to one limit for all that is asked at its start, however often memory is collected', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const collecting = setInterval(collect, 50);
    let page = 0;
    const launcher = new FakeLauncher(
      () =>
        new FakeProcess((message, process) => {
          const { id, method } = message;
          if (method !== 'tools/list') return wellMeant()(message, process);
          page += 1;
          setTimeout(() => process.write({ id, result: { tools: [], nextCursor: String(page) } }), 100);
        }),
    );
    const server = serverOver(launcher, { kept: null, deadlineMs: 500 });
    expect(await server.offered()).toMatchObject({ kind: 'failed', reason: 'did not answer within 0.5 s' });
    clearInterval(collecting);
    await server.close();
  });

  it('is ended when it writes empty lines without end', async () => {
    const lines = '\n'.repeat(20_000);
    const launcher = new FakeLauncher(() => new FakeProcess(unlike((_message, { stdout }) => stdout.write(lines))));
    const server = serverOver(launcher);
    expect(await server.call(call('echo'))).toEqual(
      failed('the server of notes sent more than 10000 messages that nobody asked for'),
    );
    await server.close();
  });

  it.each([
    ['as its content', '"content":[{}', ']}'],
    ['as structured content', '"structuredContent":[{}', ']}'],
  ])('is ended when it answers with millions of values %s', async (_where, start, end) => {
    const launcher = new FakeLauncher(
      () =>
        new FakeProcess(
          unlike(({ id }, { stdout }) => {
            stdout.write(`{"jsonrpc":"2.0","id":${String(id)},"result":{${start}${',{}'.repeat(300_000)}${end}}\n`);
          }),
        ),
    );
    const server = serverOver(launcher);
    expect(await server.call(call('echo'))).toEqual(
      failed('the server of notes wrote a message of more than 262144 values'),
    );
    await server.close();
  });
});

describe('a server whose tools are others than before', () => {
  interface Changes {
    readonly seen: unknown[];
    readonly onChange: ToolServerSettings['onChange'];
  }

  function changes(): Changes {
    const seen: unknown[] = [];
    return { seen, onChange: ({ tools }, change) => void seen.push([tools.map(({ name }) => name), change]) };
  }

  it('is told of with the call that finds it, once, and to who keeps the list', async () => {
    const { seen, onChange } = changes();
    const launcher = new FakeLauncher(() => new FakeProcess(wellMeant([echo, { ...slow, name: 'more' }])));
    const server = serverOver(launcher, { onChange });
    expect(await server.call(call('echo'))).toEqual(
      passed('call 1\n[the server of notes lists other tools than before: gone: slow; new: more]'),
    );
    expect(await server.call(call('echo'))).toEqual(passed('call 2'));
    expect(seen).toEqual([[['echo', 'more'], 'gone: slow; new: more']]);
    await server.close();
  });

  it('is not asked for a tool that it no longer has', async () => {
    const launcher = new FakeLauncher(() => new FakeProcess(wellMeant([slow])));
    const server = serverOver(launcher);
    expect(await server.call(call('echo'))).toEqual(
      failed('the server of notes does not have the tool echo any more (gone: echo)'),
    );
    expect(launcher.processes[0]?.asked).toEqual([]);
    await server.close();
  });

  it('is asked again once for each time that it says so', async () => {
    const launcher = new FakeLauncher(() => new FakeProcess(wellMeant()));
    const server = serverOver(launcher);
    await server.call(call('echo'));
    const [process] = launcher.processes;
    process?.write({ method: 'notifications/tools/list_changed' });
    for (let count = 0; count < 3; count += 1) await server.call(call('echo'));
    expect(process?.received.filter(({ method }) => method === 'tools/list')).toHaveLength(2);
    await server.close();
  });

  it('is asked again when it says that they have changed, at the next call', async () => {
    const { seen, onChange } = changes();
    let listed: readonly unknown[] = kept.tools;
    const launcher = new FakeLauncher(
      () =>
        new FakeProcess((message, process) => {
          wellMeant(listed)(message, process);
          if (message['method'] !== 'tools/call') return;
          listed = listed.length === 2 ? [echo] : kept.tools;
          process.write({ method: 'notifications/tools/list_changed' });
        }),
    );
    const server = serverOver(launcher, { onChange });
    expect(await server.call(call('echo'))).toEqual(passed('call 1'));
    expect((await server.call(call('echo'))).content).toContain(
      '[the server of notes lists other tools than before: gone: slow]',
    );
    expect(await server.call(call('echo'))).toEqual(passed('call 1'));
    expect(seen).toEqual([
      [['echo'], 'gone: slow'],
      [['echo', 'slow'], null],
    ]);
    await server.close();
  });

  it('is asked again after a list that it refused', async () => {
    let lists = 0;
    const launcher = new FakeLauncher(
      () =>
        new FakeProcess((message, process) => {
          if (message['method'] === 'tools/list') lists += 1;
          if (lists !== 2 || message['method'] !== 'tools/list') return wellMeant()(message, process);
          process.write({ id: message['id'], error: { code: -32000, message: 'not now' } });
        }),
    );
    const server = serverOver(launcher);
    await server.call(call('echo'));
    launcher.processes[0]?.write({ method: 'notifications/tools/list_changed' });
    // What it wrote before its answer to this one has been read by then.
    await server.call(call('echo'));
    expect(await server.call(call('echo'))).toEqual(failed('the server of notes answered with error -32000: not now'));
    await server.call(call('echo'));
    expect(lists).toBe(3);
    expect(launcher.processes).toHaveLength(1);
    await server.close();
  });

  it('is ended when it does not list them in time, and the next call has another', async () => {
    const launcher = new FakeLauncher(() => {
      let lists = 0;
      return new FakeProcess((message, process) => {
        if (message['method'] === 'tools/list') lists += 1;
        if (lists < 2 || message['method'] !== 'tools/list') wellMeant()(message, process);
      });
    });
    const server = serverOver(launcher, { deadlineMs: 500 });
    await server.call(call('echo'));
    launcher.processes[0]?.write({ method: 'notifications/tools/list_changed' });
    // What it wrote before its answer to this one has been read by then.
    await server.call(call('echo'));
    expect(await server.call(call('echo'))).toEqual(failed('the server of notes did not answer within 0.5 s'));
    expect((await server.call(call('echo'))).status).toBe('passed');
    expect(launcher.processes).toHaveLength(2);
    await server.close();
  });
});
