import { describe, expect, it } from 'vitest';

import { calls, says, type Turn } from '../../../../test/support/fake-driver.ts';
import { fakeTool, passed } from '../../../../test/support/session-fixture.ts';
import { hello, useStreamDoors, type StreamDoor } from './stream-door.ts';

const openDoor = useStreamDoors();

/** A turn that emits two chunks and then ends as `last` says. */
function chunksThen(last: Turn): Turn {
  return async (request, call) => {
    call.onText('a');
    call.onThinking('b');
    return typeof last === 'function' ? await last(request, call) : last;
  };
}

/** Each frame of a body: its id line, and what distinguishes it. */
function labels(body: string): string[] {
  return body
    .split('\n\n')
    .slice(0, -1)
    .filter((group) => group !== ':heartbeat')
    .map((frame) => {
      const line = (form: RegExp): string => form.exec(frame)?.[1] ?? '-';
      const event = line(/^event: (.*)$/m);
      const shown = event === 'status' ? line(/"message":"([^"]*)"/) : line(/"text":"([^"]*)"/);
      return `${line(/^id: (.*)$/m)} ${event} ${event === 'artifact' ? line(/"tool_name":"([^"]*)"/) : shown}`;
    });
}

/** The frames of one task, streamed to its submitter. */
async function streamed(door: StreamDoor): Promise<string[]> {
  return labels((await (await door.call('message/stream', hello)).untilClosed()).body);
}

describe('the ids of a stream', () => {
  it('pass from the task counter to the chunks and back around each inference call [D1-ID-01, D1-ID-02, D1-ID-09]', async () => {
    const turns = [chunksThen(calls(['look', {}])), calls(['look', {}]), chunksThen(says('Done.'))];
    const door = await openDoor({ turns, tools: [fakeTool('look')] });
    void door.fixture.session.run();
    expect(await streamed(door)).toEqual([
      '0 status inference turn 1',
      '1 text a',
      '2 thinking b',
      '3 text ',
      '4 artifact look',
      '5 status inference turn 2',
      '6 artifact look',
      '7 status inference turn 3',
      '8 text a',
      '9 thinking b',
      '10 text ',
      '11 status session ended',
    ]);
  });

  it('pass back also from a call that fails, and start at 0 with the next task [D1-ID-07, D1-ID-09, D1-ID-12]', async () => {
    const failing = chunksThen({ kind: 'failed', error: 'lost' });
    const door = await openDoor({ turns: [failing, says('Done.')] });
    void door.fixture.session.run();
    expect(await streamed(door)).toEqual([
      '0 status inference turn 1',
      '1 text a',
      '2 thinking b',
      '3 text ',
      '4 status session ended',
    ]);
    expect(await streamed(door)).toEqual(['0 status inference turn 1', '1 text Done.', '2 status session ended']);
  });

  it('pass back also from a call that is canceled [D1-ID-01, D1-ID-09]', async () => {
    const waits: Turn = chunksThen(async (_request, call) => {
      return await new Promise((resolve) => {
        call.signal.addEventListener('abort', () => resolve({ kind: 'failed', error: 'aborted' }), { once: true });
      });
    });
    const door = await openDoor({ turns: [waits] });
    void door.fixture.session.run();
    const reader = await door.call('message/stream', hello);
    await reader.until('id: 2\n');
    await door.fixture.session.board.cancelAll();
    expect(labels((await reader.untilClosed()).body)).toEqual([
      '0 status inference turn 1',
      '1 text a',
      '2 thinking b',
      '3 status task canceled',
    ]);
  });

  it('start at 2^63-1 for an input wait, again for each call, and cross 2^63 unsigned [D1-ID-03, D1-ID-10, D1-FRAME-02]', async () => {
    const ask = fakeTool('ask', async (_args, context) => {
      const answer = await context.requestInput('Which?');
      return passed(answer.kind === 'answered' ? answer.text : 'nobody');
    });
    const turns = [calls(['ask', {}], ['ask', {}]), says('Done.')];
    const door = await openDoor({ turns, tools: [ask], inputTimeoutMs: 60_000 });
    void door.fixture.session.run();
    const reader = await door.call('message/stream', hello);
    await reader.until('Which?');
    door.fixture.session.board.answerInput({ text: 'blue' });
    await door.fixture.frame(() => door.fixture.frames.filter(({ id }) => id === 9223372036854775807n).length === 2);
    door.fixture.clock.advance(60_000);
    expect(labels((await reader.untilClosed()).body)).toEqual([
      '0 status inference turn 1',
      '9223372036854775807 status Which?',
      '9223372036854775808 status resumed',
      '1 artifact ask',
      '9223372036854775807 status Which?',
      '9223372036854775808 status input-timeout',
      '2 artifact ask',
      '3 status inference turn 2',
      '4 text Done.',
      '5 status session ended',
    ]);
  });

  it('come from a counter of the session for tasks canceled in the queue [D1-ID-04, D1-ID-11]', async () => {
    const door = await openDoor({ acceptance: { queueDepth: 5 } });
    const watcher = await door.watch();
    const { board } = door.fixture.session;
    for (const text of ['a', 'b']) {
      const { task } = board.submit({ text, origin: 'user', trust: 'trusted' });
      await board.cancel(task);
    }
    await watcher.until('id: 2305843009213693952\n');
    expect(labels(watcher.body).slice(1)).toEqual([
      '2305843009213693951 status task canceled before it started',
      '2305843009213693952 status task canceled before it started',
    ]);
  });

  it('go on for the chunks of a tool where the last inference call ended, so that a chunk and an artifact share one [D1-ID-02, D1-ID-12]', async () => {
    const speak = fakeTool('speak', async (_args, context) => {
      context.emitText('said');
      return passed('ok');
    });
    const door = await openDoor({ turns: [calls(['speak', {}]), says('Done.')], tools: [speak] });
    void door.fixture.session.run();
    expect(await streamed(door)).toEqual([
      '0 status inference turn 1',
      '1 text said',
      '1 artifact speak',
      '2 status inference turn 2',
      '3 text Done.',
      '4 status session ended',
    ]);
  });
});
