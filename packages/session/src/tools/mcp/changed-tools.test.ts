import { describe, expect, it } from 'vitest';

import { FakeLauncher, FakeProcess } from '../../../../../test/support/fake-launcher.ts';
import { echo, slow, kept, wellMeant, serverOver, call, passed, failed } from '../../../test/tools/played-server.ts';
import type { ToolServerSettings } from './tool-server.ts';

describe('a server whose tools are others than before', () => {
  interface Changes {
    readonly seen: unknown[];
    readonly onChange: ToolServerSettings['onChange'];
  }

  function changes(): Changes {
    const seen: unknown[] = [];
    return { seen, onChange: (live, change) => void seen.push([live?.tools.map(({ name }) => name), change]) };
  }

  it('causes one report, with the call that finds the change, to the holder of the list', async () => {
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

  it('gets no call of a tool that it no longer has', async () => {
    const launcher = new FakeLauncher(() => new FakeProcess(wellMeant([slow])));
    const server = serverOver(launcher);
    expect(await server.call(call('echo'))).toEqual(
      failed('the server of notes does not have the tool echo any more (gone: echo)'),
    );
    expect(launcher.processes[0]?.asked).toEqual([]);
    await server.close();
  });

  it('gets one request for its list after each change that it announces', async () => {
    const launcher = new FakeLauncher(() => new FakeProcess(wellMeant()));
    const server = serverOver(launcher);
    await server.call(call('echo'));
    const [process] = launcher.processes;
    process?.write({ method: 'notifications/tools/list_changed' });
    for (let count = 0; count < 3; count += 1) await server.call(call('echo'));
    expect(process?.received.filter(({ method }) => method === 'tools/list')).toHaveLength(2);
    await server.close();
  });

  it('gets a request for its list at the call after its announcement', async () => {
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

  it('gets another request after a list that it refused', async () => {
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

  it('ends when it does not list them in time, and the next call has another', async () => {
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
