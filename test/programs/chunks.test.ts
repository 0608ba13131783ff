import { describe, expect, it } from 'vitest';

import { fixtureComponent } from '../../packages/components/test/support/fixture-component.ts';
import { addComponentTool } from '../support/component-tool.ts';
import { canceled, completed, reply, working } from '../support/frame-lines.ts';
import { scriptCapsule } from '../support/script-capsule.ts';
import { calls, runs, says, script } from '../support/scripted-turns.ts';
import { staysUp, useStreamedCapsules, type StreamedCapsule } from '../support/streamed-capsule.ts';

const capsules = useStreamedCapsules();

function chunk(text: string): string {
  return `text {"id":"task-1","text":"${text}","final":false}`;
}

function thought(text: string): string {
  return `thinking {"id":"task-1","text":"${text}","final":false}`;
}

const endOfChunks = 'text {"id":"task-1","text":"","final":true}';

async function linesOf(capsule: StreamedCapsule): Promise<readonly string[]> {
  return (await (await capsule.submit('Go on.')).untilClosed()).lines;
}

describe('a driver that streams', () => {
  it('shows chunk by chunk, with ids that continue those of the task and are continued by them [D1-STATE-01, D1-STATE-02, D1-STATE-09, D1-FRAME-35, D1-FRAME-36, D1-FRAME-37, D1-FRAME-38, D1-FRAME-39, D1-FRAME-40, D1-ID-01, D1-ID-02, D1-ID-09]', async () => {
    const capsule = await capsules.script({
      manifest: `${staysUp}capabilities: { shell: { allow: [sh] } }\n`,
      script: script(
        { ...runs('true'), thinking: ['hm', 'so'], chunks: ['I ', 'look.'] },
        says('It is done.', { chunks: ['It is ', 'done.'] }),
      ),
    });
    const watch = await capsule.watch();
    const lines = await linesOf(capsule);
    expect(lines).toEqual([
      `0 ${working(1)}`,
      `1 ${thought('hm')}`,
      `2 ${thought('so')}`,
      `3 ${chunk('I ')}`,
      `4 ${chunk('look.')}`,
      `5 ${endOfChunks}`,
      '6 artifact {"id":"task-1","artifact":{"tool_name":"sh","content":"<untrusted-content source=tool:sh>\\ncommand: true\\nexit code: 0\\nstdout: (empty)\\nstderr: (empty)\\n</untrusted-content>","fence_source":"tool:sh","tool_call_id":"run_1","is_error":false,"duration_ms":<ms>,"exit_code":0,"truncated":false}}',
      `7 ${working(2)}`,
      `8 ${chunk('It is ')}`,
      `9 ${chunk('done.')}`,
      `10 ${endOfChunks}`,
      `11 ${completed()}`,
    ]);
    expect((await capsule.terminate()).code).toBe(0);
    expect((await watch.untilClosed()).lines.slice(1, -1)).toEqual(lines);
  });

  it('writes the whole reply only for a last turn without a chunk of text [D1-FRAME-37, D1-FRAME-38, D1-ID-09]', async () => {
    const capsule = await capsules.script({
      manifest: `${staysUp}capabilities: { shell: { allow: [sh] } }\n`,
      script: script({ ...runs('true'), chunks: ['I look.'] }, says('It is done.', { thinking: ['hm'] })),
    });
    const lines = await linesOf(capsule);
    expect([...lines.slice(0, 3), ...lines.slice(4)]).toEqual([
      `0 ${working(1)}`,
      `1 ${chunk('I look.')}`,
      `2 ${endOfChunks}`,
      `4 ${working(2)}`,
      `5 ${thought('hm')}`,
      `6 ${endOfChunks}`,
      `7 ${reply('It is done.')}`,
      `8 ${completed()}`,
    ]);
  });

  it('marks no end where it emitted nothing, and writes no reply that is empty [D1-FRAME-37, D1-FRAME-38]', async () => {
    const capsule = await capsules.script({
      manifest: staysUp,
      script: script({ content: [], stop_reason: 'end_turn' }),
    });
    expect(await linesOf(capsule)).toEqual([`0 ${working(1)}`, `1 ${completed()}`]);
  });

  it('may emit any text: each chunk stays one line of data [D1-FRAME-01, D1-FRAME-04]', async () => {
    const text = 'a\nb\r\nc\rd\n\n: "e"\\\u2028\u2029\u0085 \u{1F469}\u200D\u{1F680} ä\0\u007F';
    const capsule = await capsules.script({
      manifest: staysUp,
      script: script(says(text, { thinking: ['data: x\n\nevent: y'], chunks: [text, '', text] })),
    });
    const stream = await (await capsule.submit('Go on.')).untilClosed();
    const written = 'a\\nb\\r\\nc\\rd\\n\\n: \\"e\\"\\\\\u2028\u2029\u0085 \u{1F469}\u200D\u{1F680} ä\\u0000\u007F';
    expect(stream.lines.slice(1, -2)).toEqual([
      `1 ${thought('data: x\\n\\nevent: y')}`,
      `2 ${chunk(written)}`,
      `3 ${chunk('')}`,
      `4 ${chunk(written)}`,
    ]);
    expect(stream.frames[2]?.data['text']).toBe(text);
    expect(stream.body).not.toContain('\r');
  });

  it('starts again at 0 with the next task [D1-ID-07, D1-ID-09, D1-ID-12]', async () => {
    const capsule = await capsules.script({ manifest: staysUp, script: script(says('Hi.', { chunks: ['Hi.'] })) });
    const first = await linesOf(capsule);
    expect(first).toEqual([`0 ${working(1)}`, `1 ${chunk('Hi.')}`, `2 ${endOfChunks}`, `3 ${completed()}`]);
    expect(await linesOf(capsule)).toEqual(first);
  });
});

describe('a tool that emits chunks', () => {
  async function start(...turns: readonly object[]): Promise<StreamedCapsule> {
    const workspace = scriptCapsule({
      manifest: `artifacts: [{ name: probe, version: 1.0.0, source: ./probe }]\n${staysUp}`,
      script: script(...turns),
    });
    addComponentTool(workspace, 'probe', await fixtureComponent('probe-tool'));
    return await capsules.from(workspace);
  }

  function emitted(id: string): string {
    return `artifact {"id":"task-1","artifact":{"tool_name":"probe","content":"<untrusted-content source=tool:probe>\\nemitted\\n</untrusted-content>","fence_source":"tool:probe","tool_call_id":"${id}","is_error":false,"duration_ms":<ms>,"exit_code":null,"truncated":false}}`;
  }

  it('continues the chunk counter, which the next inference call sets back to the task counter [D1-FRAME-36, D1-FRAME-40, D1-ID-02, D1-ID-08, D1-ID-09, D1-ID-12]', async () => {
    const capsule = await start(
      calls(
        [
          ['call_1', 'probe', { op: 'emit', texts: ['a', 'b\n'] }],
          ['call_2', 'probe', { op: 'emit', texts: ['c'] }],
        ],
        { chunks: ['Look.'] },
      ),
      says('Done.'),
    );
    expect(await linesOf(capsule)).toEqual([
      `0 ${working(1)}`,
      `1 ${chunk('Look.')}`,
      `2 ${endOfChunks}`,
      `3 ${chunk('a')}`,
      `4 ${chunk('b\\n')}`,
      `5 ${thought('thought')}`,
      `3 ${emitted('call_1')}`,
      `6 ${chunk('c')}`,
      `7 ${thought('thought')}`,
      `4 ${emitted('call_2')}`,
      `5 ${working(2)}`,
      `6 ${reply('Done.')}`,
      `7 ${completed()}`,
    ]);
  });

  it('shows them before it returns, and no more once its task is canceled [D1-FRAME-36, D1-STATE-14]', async () => {
    const capsule = await start(calls([['call_1', 'probe', { op: 'loop', first: 'on my way' }]]), says('Done.'));
    const stream = await capsule.submit('Go on.');
    const { data } = await stream.until(({ event }) => event === 'text');
    await capsule.rpc('tasks/cancel', { id: data['id'] });
    expect((await stream.untilClosed()).lines).toEqual([
      `0 ${working(1)}`,
      `1 ${chunk('on my way')}`,
      `1 ${canceled()}`,
    ]);
  });
});
