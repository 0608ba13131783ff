import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';

import { PlayedCapsule, streamHead } from '../support/played-capsule.ts';
import { SvcProcess, type SvcOptions } from '../support/svc-process.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const cleanups: (() => void)[] = [];

afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

interface Watched {
  readonly capsule: PlayedCapsule;
  readonly watch: SvcProcess;
}

/** `svc watch` of a capsule that the test plays. */
async function watchPlayed(args: readonly string[] = [], options: SvcOptions = {}): Promise<Watched> {
  const capsule = await PlayedCapsule.open();
  const workspace: Workspace = makeWorkspace({});
  const watch = new SvcProcess(workspace, ['watch', capsule.address, ...args], options);
  cleanups.push(() => {
    watch.child.kill('SIGKILL');
    capsule.close();
    workspace.remove();
  });
  return { capsule, watch };
}

const frames = {
  acknowledged: (mode: string) => `event: connection-ack\ndata: {"role":"observer","conversation_mode":"${mode}"}\n\n`,
  working:
    'id: 0\nevent: status\ndata: {"id":"tsk_0123456789abcdef","status":{"state":"working","message":"inference turn 1"},"final":false}\n\n',
  thinking: 'id: 1\nevent: thinking\ndata: {"id":"tsk_0123456789abcdef","text":"hidden","final":false}\n\n',
  text: 'id: 2\nevent: text\ndata: {"id":"tsk_0123456789abcdef","text":"Hello","final":false}\n\n',
  textEnd: 'id: 3\nevent: text\ndata: {"id":"tsk_0123456789abcdef","text":"","final":true}\n\n',
  artifact:
    'id: 4\nevent: artifact\ndata: {"id":"tsk_0123456789abcdef","artifact":{"tool_name":"sh","content":"a\\nb","fence_source":null,"tool_call_id":null,"is_error":true,"duration_ms":1,"exit_code":null,"truncated":false}}\n\n',
  completed:
    'id: 5\nevent: status\ndata: {"id":"tsk_0123456789abcdef","status":{"state":"completed","message":"session ended"},"final":true}\n\n',
  gap: 'event: gap\ndata: {"first_available_id":18446744073709551615}\n\n',
  closed: 'event: capsule-closed\ndata: {}\n\n',
};

describe('svc watch', () => {
  it.each([
    [[], {}, ''],
    [[], { SVC_LISTENER_TOKEN: 'secret' }, ''],
    [['--send-token'], { SVC_LISTENER_TOKEN: 'secret' }, 'authorization: Bearer secret\r\n'],
  ])('asks once, from 0, with %j and the environment %j [D1-WATCH-01]', async (args, env, authorization) => {
    const { capsule } = await watchPlayed(args, { env });
    const { request } = await capsule.connection();
    expect(request).toBe(
      'POST / HTTP/1.1\r\ncontent-type: application/json\r\naccept: text/event-stream\r\nlast-event-id: 0\r\n' +
        `${authorization}content-length: 60\r\nHost: ${capsule.address}\r\nConnection: close\r\n\r\n` +
        '{"jsonrpc":"2.0","id":1,"method":"stream/watch","params":{}}',
    );
  });

  it.each([
    ['stateless', '[working] inference turn 1\n| Hello\n[sh failed] a\n| b\n[completed] session ended\n'],
    [
      'threaded',
      '[89abcdef working] inference turn 1\n| Hello\n[sh failed] a\n| b\n[89abcdef completed] session ended\n',
    ],
  ])(
    'shows a %s capsule to its end [D1-WATCH-03, D1-WATCH-04, D1-WATCH-05, D1-WATCH-06, D1-WATCH-07]',
    async (mode, stdout) => {
      const { capsule, watch } = await watchPlayed();
      const { socket } = await capsule.connection();
      const { acknowledged, gap, working, thinking, text, textEnd, artifact, completed, closed } = frames;
      socket.write(`${streamHead}${acknowledged(mode)}${gap}${working}:heartbeat\n\n${thinking}${text}${textEnd}`);
      socket.write(`${artifact}event: future\ndata: {"text":"later"}\n\n${completed}${closed}`);
      expect(await watch.ended).toEqual({
        code: 0,
        signal: null,
        stdout,
        stderr:
          'warning: earlier frames may be gone; the first available id is 18446744073709551615\n' +
          'the capsule closed its stream\n',
      });
    },
  );

  it('shows a character whole that comes in two pieces', async () => {
    const { capsule, watch } = await watchPlayed();
    const { socket } = await capsule.connection();
    const [before, after] = frames.text.replace('Hello', 'a\u{1F469}b').split('b"');
    const bytes = Buffer.from(`${streamHead}${frames.working}${before}`);
    socket.write(bytes.subarray(0, -2));
    await watch.printed(/inference turn 1\n/);
    socket.write(Buffer.concat([bytes.subarray(-2), Buffer.from(`b"${after}${frames.closed}`)]));
    expect((await watch.ended).stdout).toBe('[working] inference turn 1\n| a\u{1F469}b\n');
  });

  it('writes one JSON object a frame with --json, of every type, with ids and data as they came', async () => {
    const { capsule, watch } = await watchPlayed(['--json']);
    const { socket } = await capsule.connection();
    socket.write(`${streamHead}${frames.acknowledged('stateless')}${frames.gap}${frames.thinking}`);
    socket.write(`id: 18446744073709551615\nevent: future\ndata: {"n":12345678901234567890.10}\n\n`);
    socket.write(`event: error\ndata: {"error":"no "JSON""}\n\n${frames.closed}`);
    expect(await watch.ended).toMatchObject({
      code: 0,
      stdout: `{"event":"connection-ack","data":{"role":"observer","conversation_mode":"stateless"}}
{"event":"gap","data":{"first_available_id":18446744073709551615}}
{"id":"1","event":"thinking","data":{"id":"tsk_0123456789abcdef","text":"hidden","final":false}}
{"id":"18446744073709551615","event":"future","data":{"n":12345678901234567890.10}}
{"event":"error","data":"{\\"error\\":\\"no \\"JSON\\"\\"}"}
{"event":"capsule-closed","data":{}}
`,
    });
  });

  it('follows a hundred thousand chunks and a frame of 20 MB', async () => {
    const { capsule, watch } = await watchPlayed();
    const { socket } = await capsule.connection();
    const chunk = frames.text.replace('Hello', 'ab');
    socket.write(streamHead + chunk.repeat(100_000));
    socket.write(frames.artifact.replace('a\\nb', 'x'.repeat(20_000_000)) + frames.closed);
    const { code, stdout } = await watch.ended;
    expect(code).toBe(0);
    expect(stdout === `| ${'ab'.repeat(100_000)}\n[sh failed] ${'x'.repeat(20_000_000)}\n`).toBe(true);
  });

  it('ends without a word when nobody reads it any more', async () => {
    const { capsule, watch } = await watchPlayed();
    const { socket } = await capsule.connection();
    socket.write(streamHead + frames.working);
    await watch.printed(/inference turn 1/);
    watch.child.stdout?.destroy();
    const keepWriting = (): void => {
      while (socket.writable && socket.write(frames.text));
    };
    socket.on('drain', keepWriting);
    keepWriting();
    expect(await watch.ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  });

  it('ends at once by Ctrl-C, also while nobody reads what it prints', async () => {
    const { capsule, watch } = await watchPlayed();
    const { socket } = await capsule.connection();
    socket.write(streamHead + frames.working);
    await watch.printed(/inference turn 1/);
    watch.child.stdout?.pause();
    socket.write(frames.artifact.replace('a\\nb', 'x'.repeat(5_000_000)));
    socket.write(frames.gap);
    watch.child.kill('SIGINT');
    expect(await once(watch.child, 'exit')).toEqual([null, 'SIGINT']);
    watch.child.stdout?.resume();
    await watch.ended;
  });
});
