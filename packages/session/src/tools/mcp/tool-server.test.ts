import { setFlagsFromString } from 'node:v8';
import { setImmediate } from 'node:timers/promises';
import { runInNewContext } from 'node:vm';

import { describe, expect, it, vi } from 'vitest';

import {
  FakeLauncher,
  FakeProcess,
  type Handler,
  type LooseMessage,
} from '../../../../../test/support/fake-launcher.ts';
import { echo, kept, wellMeant, unlike, serverOver, call, passed, failed } from '../../../test/tools/played-server.ts';

describe('the server of an artifact', () => {
  it('starts with the first call when its list is kept, and serves every call', async () => {
    const launcher = new FakeLauncher(() => new FakeProcess(wellMeant()));
    const server = serverOver(launcher);
    expect(await server.offered()).toEqual({ kind: 'answered', value: kept });
    expect(launcher.requests).toEqual([]);
    expect(await server.call(call('echo'))).toEqual(passed('call 1'));
    expect(await server.call(call('echo'))).toEqual(passed('call 2'));
    expect(launcher.requests).toEqual([{ command: '/opt/server', args: ['--all'], env: { LANG: 'C' }, stdin: 'pipe' }]);
    await server.close();
  });

  it('gets the name of its client, no offers, and the arguments of a call', async () => {
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

  it('lists its tools when no list is kept, and goes on running', async () => {
    const launcher = new FakeLauncher(() => new FakeProcess(wellMeant([echo])));
    const server = serverOver(launcher, { kept: null });
    expect(await server.offered()).toEqual({ kind: 'answered', value: { tools: [echo], leftOut: [] } });
    expect(await server.call(call('echo'))).toEqual(passed('call 1'));
    expect(launcher.requests).toHaveLength(1);
    await server.close();
  });

  it('starts once for calls that come together', async () => {
    const launcher = new FakeLauncher(() => new FakeProcess(wellMeant()));
    const server = serverOver(launcher);
    const answers = await Promise.all([server.call(call('echo')), server.call(call('echo'))]);
    expect(answers).toEqual([passed('call 1'), passed('call 2')]);
    expect(launcher.requests).toHaveLength(1);
    await server.close();
  });

  it('never ran when it cannot be launched, and starts with the next call', async () => {
    const launcher = new FakeLauncher((count) =>
      count === 1 ? { kind: 'refused', reason: 'permission denied' } : new FakeProcess(wellMeant()),
    );
    const server = serverOver(launcher);
    expect(await server.call(call('echo'))).toEqual({
      ...failed('the server of notes could not be started: "/opt/server": permission denied'),
      reached: false,
    });
    expect(await server.call(call('echo'))).toEqual(passed('call 1'));
    await server.close();
  });

  it('fails the call in which it ends with its last words, and the next call has another', async () => {
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

  it('fails the call at once when it closes its output and lives, and the next call has another', async () => {
    const closes = unlike((_, { stdout }) => void stdout.end());
    const launcher = new FakeLauncher((count) =>
      count === 1 ? new FakeProcess(closes, ['end of input', 'SIGTERM']) : new FakeProcess(wellMeant()),
    );
    const server = serverOver(launcher, { endGraceMs: 3_600_000 });
    expect(await server.call(call('echo'))).toEqual(failed('the server of notes closed its output'));
    expect(await server.call(call('echo'))).toEqual(passed('call 1'));
    launcher.processes[0]?.exit({ kind: 'signaled', signal: 'SIGKILL' });
    await server.close();
  });

  it('gives way to another with the next call when it closed its output', async () => {
    const closes = unlike(({ id }, process) => {
      process.write({ id, result: { content: [] } });
      process.stdout.end();
    });
    const launcher = new FakeLauncher((count) => new FakeProcess(count === 1 ? closes : wellMeant()));
    const server = serverOver(launcher);
    expect(await server.call(call('echo'))).toEqual(passed(''));
    await setImmediate();
    expect(await server.call(call('echo'))).toEqual(passed('call 1'));
    await server.close();
  });

  it('gets a notice and an end when it lets the deadline pass, and the next call has another', async () => {
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

  it('gets the cancel, holds up nothing, and serves the next call', async () => {
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

  it('holds up nothing while it starts once the call is canceled', async () => {
    const server = serverOver(new FakeLauncher(() => new FakeProcess(() => {})));
    const cancel = new AbortController();
    const reason = new Error('task canceled');
    const canceled = server.call(call('echo', cancel.signal));
    cancel.abort(reason);
    await expect(canceled).rejects.toBe(reason);
    await server.close();
  });

  it('ends at the end of its input when it heeds that', async () => {
    const launcher = new FakeLauncher(() => new FakeProcess(wellMeant()));
    const server = serverOver(launcher);
    await server.call(call('echo'));
    await server.close();
    expect(launcher.processes[0]?.events).toEqual(['end of input']);
  });

  it('ends by force when it heeds nothing', async () => {
    const launcher = new FakeLauncher(() => new FakeProcess(wellMeant(), ['end of input', 'SIGTERM']));
    const server = serverOver(launcher);
    await server.call(call('echo'));
    await server.close();
    expect(launcher.processes[0]?.events).toEqual(['end of input', 'SIGTERM', 'SIGKILL']);
  });

  it('ends while it starts, and never starts again', async () => {
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

  it('has what a failed call names and is hidden from it below the words of that call alone', async () => {
    const answers = unlike(({ id, params }, process) => {
      const isError = (params as { arguments: { text: string } }).arguments.text !== 'hi';
      process.write({ id, result: { content: [{ type: 'text', text: 'no /opt/sdk/x' }], isError } });
    });
    const hides = (path: string): boolean => path === '/opt/sdk/x';
    const launcher = new FakeLauncher(() => Object.assign(new FakeProcess(answers), { hides }));
    const server = serverOver(launcher, {
      hiddenIn: (said, isHidden) => (said === 'no /opt/sdk/x' && isHidden?.('/opt/sdk/x') === true ? 'one\ntwo' : null),
    });
    expect(await server.call({ ...call('echo'), args: { text: 'fail' } })).toEqual(
      failed('no /opt/sdk/x\n[one]\n[two]'),
    );
    expect(await server.call(call('echo'))).toEqual(passed('no /opt/sdk/x'));
    await server.close();
  });

  it('ends when the session ends during its launch', async () => {
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
  it('has itself told after three seconds, the hosts that it was refused after five, and goes on starting', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const refused = ['far.example is refused'];
      let answer = (): void => {};
      const greets: Handler = (message, process) => {
        if (message.method !== 'initialize') return wellMeant([echo])(message, process);
        answer = () => wellMeant([echo])(message, process);
      };
      const launcher = new FakeLauncher(() =>
        Object.assign(new FakeProcess(greets), { takeRefusedHosts: () => refused.splice(0) }),
      );
      const told: string[] = [];
      const server = serverOver(launcher, { kept: null, onWaiting: (words) => told.push(words) });
      const offered = server.offered();
      while (launcher.processes[0]?.received.length !== 1) await setImmediate();
      vi.advanceTimersByTime(2999);
      expect(told).toEqual([]);
      vi.advanceTimersByTime(1);
      expect(told).toEqual(['']);
      vi.advanceTimersByTime(2000);
      expect(told).toEqual(['', '[far.example is refused]']);
      answer();
      expect(await offered).toMatchObject({ kind: 'answered' });
      await server.close();
    } finally {
      vi.useRealTimers();
    }
  });

  it('has one time limit for its whole start, however often memory is collected', async () => {
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

  it('ends when it writes empty lines without end', async () => {
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
  ])('ends when it answers with millions of values %s', async (_where, start, end) => {
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
