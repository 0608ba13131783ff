import { once } from 'node:events';

import { describe, expect, it } from 'vitest';

import { calls, hangs, says } from '../../../test/support/fake-driver.ts';
import { RawSocket } from '../../../test/support/raw-socket.ts';
import { fakeTool, passed } from '../../../test/support/session-fixture.ts';
import { useA2aCapsules, userMessage, type A2aCapsule, type Json } from './a2a-capsule.ts';
import { Speaker } from './speaker.ts';

const open = useA2aCapsules();

const ask = fakeTool('ask', async (_args, context) => {
  const answer = await context.requestInput('Which?');
  return passed(answer.kind === 'answered' ? answer.text : 'nobody answered');
});

/** A task that says nothing yet. */
async function started(capsule: A2aCapsule): Promise<string> {
  const { task } = await capsule.result('SendMessage', {
    ...userMessage('x'),
    configuration: { returnImmediately: true },
  });
  return task.id;
}

describe('a stream of a task', () => {
  it('begins with the task, has what happens in its order and ends behind the last status', async () => {
    const speaker = new Speaker();
    const capsule = (await open({ turns: [speaker.turn] })).run();
    const stream = await capsule.stream('SendStreamingMessage', userMessage('Write.'));
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream');
    await speaker.say('rain ');
    await stream.until((events) => events.length === 3);
    await speaker.say('falls');
    await speaker.end();
    await stream.whole();
    expect(stream.lines).toEqual([
      'task SUBMITTED',
      'status WORKING',
      'response =rain ',
      'response +falls',
      'response !rain falls',
      'status COMPLETED',
    ]);
    const id = stream.events[0]?.['task'].id;
    expect(stream.events.slice(1).every((event) => Object.values(event)[0].taskId === id)).toBe(true);
  });

  it('joins what one turn of the event loop says, and cuts no character', async () => {
    const speaker = new Speaker();
    const capsule = (await open({ turns: [speaker.turn] })).run();
    const stream = await capsule.stream('SendStreamingMessage', userMessage('Write.'));
    await speaker.say('a');
    await Promise.all(['b', 'c', '\ud83c'].map((text) => speaker.say(text)));
    await stream.until((events) => events.length >= 3);
    await speaker.say('\udf27');
    await speaker.end();
    await stream.whole();
    const chunks = stream.lines.filter((line) => /^response [=+]/.test(line)).map((line) => line.slice(10));
    expect(chunks.length).toBeLessThan(5);
    expect(chunks.join('')).toBe('abc🌧');
    expect(chunks.every((chunk) => chunk.isWellFormed())).toBe(true);
  });

  it('has no line end of Unicode as it is, which a client that splits as Python does takes for the end of a line', async () => {
    const text = 'one\u0085two\u2028three\u2029four';
    const capsule = (await open({ turns: [says(text)] })).run();
    const stream = await capsule.stream('SendStreamingMessage', userMessage(text));
    await stream.whole();
    expect(stream.text).not.toMatch(/[\u0085\u2028\u2029]/);
    expect(stream.lines).toContain(`response !${text}`);
    expect(stream.events[0]?.['task'].history[0].parts[0].text).toBe(text);
  });

  it('shows what a turn said before it called a tool as a message, and of the call only what is no output', async () => {
    const capsule = (
      await open({
        turns: [
          async (_request, call) => {
            call.onText('Let me look.');
            return {
              ...calls(['look', {}]),
              content: [{ type: 'text', text: 'Let me look.' }, ...calls(['look', {}]).content],
            };
          },
          says('Found.'),
        ],
        tools: [fakeTool('look', async () => passed('secret result'))],
      })
    ).run();
    const events = await (await capsule.stream('SendStreamingMessage', userMessage('Look.'))).whole();
    expect(JSON.stringify(events)).not.toContain('secret result');
    const told = events.flatMap(({ statusUpdate }) => (statusUpdate === undefined ? [] : [statusUpdate]));
    expect(told.map((update: Json) => update['metadata'] ?? update['status'].message?.parts[0].text ?? null)).toEqual([
      null,
      {
        'urn:svc:a2a:calls:1': {
          tool: 'look',
          callId: 'call_1',
          isError: false,
          durationMs: expect.any(Number),
          exitCode: null,
          truncated: false,
        },
      },
      'Let me look.',
      null,
    ]);
  });

  it('ends when its task asks, while a subscription stays open and says that nobody answered in time', async () => {
    const capsule = (
      await open({ turns: [calls(['ask', {}]), says('ok')], tools: [ask], inputTimeoutMs: 60_000 })
    ).run();
    const sent = userMessage('Choose.');
    const asking = await capsule.stream('SendStreamingMessage', sent);
    await asking.whole();
    expect(asking.lines).toEqual(['task SUBMITTED', 'status WORKING', 'status INPUT_REQUIRED']);
    const again = await capsule.stream('SendStreamingMessage', sent);
    await again.whole();
    expect(again.lines).toEqual(['task INPUT_REQUIRED']);
    const stream = await capsule.stream('SubscribeToTask', { id: asking.events[0]?.['task'].id });
    capsule.fixture.clock.advance(60_000);
    const events = await stream.whole();
    expect(stream.lines.slice(0, 2)).toEqual(['task INPUT_REQUIRED', 'status WORKING']);
    expect(events[1]?.['statusUpdate'].metadata).toEqual({ 'urn:svc:a2a:input-timeout:1': true });
    expect(stream.lines).not.toContain('status FAILED');
    expect(stream.lines.at(-1)).toBe('status COMPLETED');
  });

  it('says that its task waits behind a question of another one, and when that is over', async () => {
    const capsule = (await open({ turns: [calls(['ask', {}]), says('ok'), says('fine')], tools: [ask] })).run();
    const asking = await capsule.stream('SendStreamingMessage', userMessage('Choose.'));
    await asking.whole();
    const waiting = await capsule.stream('SendStreamingMessage', userMessage('Write.'));
    expect(waiting.events[0]?.['task'].status).toMatchObject({
      state: 'TASK_STATE_SUBMITTED',
      message: { parts: [{ text: expect.stringMatching(/^waits: /) }] },
    });
    await capsule.result('SendMessage', userMessage('red', { taskId: asking.events[0]?.['task'].id }));
    const events = await waiting.whole();
    expect(waiting.lines.slice(0, 3)).toEqual(['task SUBMITTED', 'status SUBMITTED', 'status WORKING']);
    expect(events[1]?.['statusUpdate'].status).not.toHaveProperty('message');
  });

  it('goes on from an answer to the next question', async () => {
    const turns = [calls(['ask', {}]), calls(['ask', {}]), says('ok')];
    const capsule = (await open({ turns, tools: [ask] })).run();
    const first = await capsule.stream('SendStreamingMessage', userMessage('Choose.'));
    await first.whole();
    const taskId = first.events[0]?.['task'].id;
    const answer = await capsule.stream('SendStreamingMessage', userMessage('red', { taskId }));
    await answer.whole();
    expect(answer.lines.filter((line) => line.startsWith('status'))).toEqual([
      'status WORKING',
      'status WORKING',
      'status INPUT_REQUIRED',
    ]);
    const last = await capsule.stream('SendStreamingMessage', userMessage('blue', { taskId }));
    await last.whole();
    expect(last.lines.at(-1)).toBe('status COMPLETED');
  });

  it('says nothing of an end before the hooks have spoken, and ends once', async () => {
    let asked = 0;
    const capsule = (
      await open({
        turns: [says('first'), says('second')],
        hooks: {
          mayReopen: true,
          taskEnded: async () => (asked++ === 0 ? { kind: 'reopen', feedback: 'Again.' } : { kind: 'accepted' }),
          takeArtifacts: () => (asked === 1 ? [{ hookName: 'check', content: 'fine' }] : []),
        },
      })
    ).run();
    const stream = await capsule.stream('SendStreamingMessage', userMessage('Write.'));
    await stream.whole();
    expect(stream.lines).toEqual([
      'task SUBMITTED',
      'status WORKING',
      'response =first',
      'status WORKING',
      'response =second',
      'check-1 !fine',
      'response !second',
      'status COMPLETED',
    ]);
  });

  it('has the same events for all who follow the task', async () => {
    const speaker = new Speaker();
    const capsule = (await open({ turns: [speaker.turn] })).run();
    const id = await started(capsule);
    const streams = await Promise.all([1, 'two', 3, 1].map((call) => capsule.stream('SubscribeToTask', { id }, call)));
    await speaker.say('rain ');
    await streams[0]?.until((events) => events.length > 1);
    await speaker.say('x'.repeat(100_000));
    await speaker.end();
    const [one, ...others] = await Promise.all(streams.map(async (stream) => (await stream.whole()).slice(1)));
    expect(one?.at(-1)).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } });
    for (const other of others) expect(other).toEqual(one);
  });

  it('begins for who comes later with what was said so far', async () => {
    const speaker = new Speaker();
    const capsule = (await open({ turns: [speaker.turn] })).run();
    const first = await capsule.stream('SendStreamingMessage', userMessage('Write.'));
    await speaker.say('rain ');
    await first.until((events) => events.length === 3);
    const id = first.events[0]?.['task'].id;
    const later = await capsule.stream('SubscribeToTask', { id });
    expect(later.events[0]?.['task']).toMatchObject({
      status: { state: 'TASK_STATE_WORKING' },
      artifacts: [{ artifactId: 'response', parts: [{ text: 'rain ' }] }],
    });
    await speaker.say('falls');
    await speaker.end();
    await later.whole();
    expect(later.lines.slice(1)).toEqual(['response +falls', 'response !rain falls', 'status COMPLETED']);
  });

  it('fails for a task that is over, and for an unknown one', async () => {
    const capsule = (await open({ turns: [says('ok')] })).run();
    const { task } = await capsule.result('SendMessage', userMessage('x'));
    expect(await capsule.code('SubscribeToTask', { id: task.id })).toBe(-32004);
    expect(await capsule.code('SubscribeToTask', { id: 'tsk_0' })).toBe(-32001);
  });

  it('shows the task that an earlier copy of the message made', async () => {
    const capsule = (await open({ turns: [says('once')] })).run();
    const params = userMessage('Write.');
    await (await capsule.stream('SendStreamingMessage', params)).whole();
    const again = await capsule.stream('SendStreamingMessage', params);
    expect((await again.whole()).length).toBe(1);
    expect(again.lines).toEqual(['task COMPLETED']);
  });

  it('has one event where there was no room', async () => {
    const capsule = (await open({ turns: [hangs], acceptance: { queueDepth: 0 } })).run();
    await started(capsule);
    const stream = await capsule.stream('SendStreamingMessage', userMessage('y'));
    await stream.whole();
    expect(stream.lines).toEqual(['task REJECTED']);
  });

  it('ends with its task when the session is stopped', async () => {
    const capsule = (await open({ turns: [hangs] })).run();
    const stream = await capsule.stream('SendStreamingMessage', userMessage('x'));
    await capsule.fixture.session.shutDown();
    await stream.whole();
    expect(stream.lines.at(-1)).toBe('status CANCELED');
  });

  it('reports a task that broke with the trace', async () => {
    const capsule = (await open({ turns: [says('x')], traceFailsAt: 'inference' })).run();
    const stream = await capsule.stream('SendStreamingMessage', userMessage('x'));
    await stream.whole();
    expect(stream.lines.at(-1)).toBe('status FAILED');
  });

  it('has a comment every 4 seconds, for a client that leaves after 5 silent ones', async () => {
    const capsule = (await open({ turns: [hangs] })).run();
    const socket = await capsule.deaf('SendStreamingMessage', userMessage('x'));
    socket.resume();
    let seen = '';
    socket.on('data', (bytes: Buffer) => {
      seen += bytes.toString();
    });
    while (!seen.includes('TASK_STATE_WORKING')) await once(socket, 'data');
    capsule.fixture.clock.advance(4000);
    while (!seen.includes('\n\n:\n\n')) await once(socket, 'data');
    expect(seen).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });
});

describe('the streams of a client', () => {
  it('number 256 at the most: the next fails before anything is done, until one is over', async () => {
    const capsule = (await open({ turns: [hangs, hangs] })).run();
    const id = await started(capsule);
    const streams = await Promise.all(Array.from({ length: 256 }, () => capsule.stream('SubscribeToTask', { id })));
    const refused = await capsule.post(
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: userMessage('y') }),
    );
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
    expect(capsule.fixture.session.board.live()).toHaveLength(1);
    await streams[0]?.response.body?.cancel().catch(() => {});
    await capsule.close();
  });

  it('number 256 of 10,000 requests, and the others hold nothing', async () => {
    const capsule = (await open({ turns: [hangs] })).run();
    const id = await started(capsule);
    const streams = await Promise.all(Array.from({ length: 256 }, () => capsule.stream('SubscribeToTask', { id })));
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id } });
    const ask = (lines: string): string =>
      `POST /a2a HTTP/1.1\r\nhost: localhost\r\na2a-version: 1.0\r\ncontent-type: application/json\r\n${lines}content-length: ${body.length}\r\n\r\n${body}`;
    let refused = 0;
    for (let asked = 256; asked < 10_000; asked += 100) {
      const socket = await RawSocket.open(capsule.port);
      socket.send(ask('').repeat(99) + ask('connection: close\r\n'));
      refused += (await socket.untilClosed()).split('HTTP/1.1 429 ').length - 1;
    }
    expect(refused).toBe(9800);
    await capsule.result('CancelTask', { id });
    const ends = await Promise.all(streams.map(async (stream) => (await stream.whole()).at(-1)));
    expect(new Set(ends.map((end) => JSON.stringify(end))).size).toBe(1);
    expect(ends[0]).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_CANCELED' } } });
  });

  it('end when they stay more than 1 MiB behind, and nobody else notices', async () => {
    const speaker = new Speaker();
    const capsule = (await open({ turns: [speaker.turn] })).run();
    const id = await started(capsule);
    const deaf = await capsule.deaf('SubscribeToTask', { id });
    const reader = await capsule.stream('SubscribeToTask', { id });
    const chunk = 'x'.repeat(512 * 1024);
    // What the system and a connection hold of a reader that takes nothing is some megabytes.
    for (let said = 1; said <= 48; said += 1) {
      await speaker.say(chunk);
      await reader.until((events) => events.length > said);
    }
    await capsule.result('CancelTask', { id });
    await reader.whole();
    expect(reader.lines.at(-1)).toBe('status CANCELED');
    let taken = 0;
    deaf.on('data', (bytes: Buffer) => {
      taken += bytes.length;
    });
    deaf.resume();
    await once(deaf, 'close');
    expect(taken).toBeLessThan(24 * 1024 * 1024);
  });
});
