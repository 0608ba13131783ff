import { describe, expect, it } from 'vitest';

import { hangs, says } from '../../../test/support/fake-driver.ts';
import { useA2aCapsules, type Json, userMessage } from './a2a-capsule.ts';

const open = useA2aCapsules();

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('a file that comes with a message', () => {
  it('lies in the workdir when its task begins, and the text of the task says where', async () => {
    let [there, asked] = ['', ''];
    const capsule = await open({
      turns: [
        async (request) => {
          asked = capsule.fixture.session.board.live()[0]?.text ?? '';
          there = [...capsule.outside.inputs.entries()].map(([name, text]) => `${name}=${text}`).join();
          return says(JSON.stringify(request.messages).includes(there.split('=')[0] ?? '?') ? 'named' : 'not named');
        },
      ],
    });
    capsule.run();
    const parts = [{ text: 'Read this.' }, { raw: base64('a,b'), filename: 'sales.csv', mediaType: 'text/csv' }];
    const { task } = await capsule.result('SendMessage', userMessage('', { parts }));
    expect(there).toMatch(/^[0-9a-f]{16}-sales\.csv=a,b$/);
    expect(task.artifacts[0].parts).toEqual([{ text: 'named' }]);
    expect(task.history[0].parts).toEqual(parts);
    const [name] = [...capsule.outside.inputs.keys()];
    expect(asked).toBe(`Read this.\n[A file that came with this message: in/${name}, 3 bytes, text/csv]`);
  });

  it.each([
    ['../../etc/passwd', 'passwd'],
    ['..\\..\\boot.ini', 'boot.ini'],
    ['a b;$(c)\n.txt', 'a_b_c_.txt'],
    ['..', 'file'],
    ['日本', 'file'],
    ['', 'file'],
    [undefined, 'file'],
    [`${'x'.repeat(200)}.txt`, `${'x'.repeat(96)}.txt`],
  ])('has a name that leads nowhere: %j', async (filename, safe) => {
    const capsule = (await open({ turns: [says('ok')] })).run();
    await capsule.result('SendMessage', userMessage('', { parts: [{ raw: base64('x'), filename }] }));
    expect([...capsule.outside.inputs.keys()].map((name) => name.slice(17))).toEqual([safe]);
  });

  it('stays one where the same message comes again, and never replaces another', async () => {
    const capsule = (await open({ turns: [says('1'), says('2'), says('3')] })).run();
    const message = userMessage('', { parts: [{ raw: base64('x'), filename: 'a' }] });
    for (let times = 0; times < 2; times += 1) await capsule.result('SendMessage', message);
    expect([capsule.outside.inputs.size, capsule.fixture.session.board.accepted]).toEqual([1, 1]);
    const parts = [
      { raw: base64('x'), filename: 'a' },
      { raw: base64('x'), filename: 'a' },
      { raw: base64('y'), filename: 'a' },
    ];
    await capsule.result('SendMessage', userMessage('', { parts }));
    expect(capsule.outside.inputs.size).toBe(4);
  });

  it('stays unwritten where there was no room for its task', async () => {
    const capsule = (await open({ turns: [hangs], acceptance: { queueDepth: 0 } })).run();
    const quick = { configuration: { returnImmediately: true } };
    await capsule.result('SendMessage', { ...userMessage('x'), ...quick });
    const { task } = await capsule.result('SendMessage', userMessage('', { parts: [{ raw: base64('x') }] }));
    expect(task.status.state).toBe('TASK_STATE_REJECTED');
    expect(capsule.outside.inputs.size).toBe(0);
  });

  it('ends its task where it cannot be kept', async () => {
    const capsule = await open({ turns: [says('ok')] });
    capsule.outside.takesInput = false;
    const answer = await capsule.answer('SendMessage', userMessage('', { parts: [{ raw: base64('x') }] }));
    expect(answer['error']).toMatchObject({ code: -32603 });
    expect(capsule.fixture.session.board.live()).toEqual([]);
  });

  it('ends the session where neither it nor the end of its task can be written', async () => {
    const capsule = await open({ turns: [says('ok')], traceFailsAt: 'task_canceled' });
    capsule.outside.takesInput = false;
    const answer = await capsule.answer('SendMessage', userMessage('', { parts: [{ raw: base64('x') }] }));
    expect(answer['error']).toMatchObject({ code: -32603 });
    expect(await capsule.fixture.session.run()).toMatchObject({ status: 'trapped' });
  });

  it.each([
    [{ raw: 7 }, 'message.parts[0].raw'],
    [{ raw: 'a b' }, 'message.parts[0].raw'],
    [{ raw: 'ü' }, 'message.parts[0].raw'],
    [{ raw: 'a' }, 'message.parts[0].raw'],
    [{ raw: 'QUJDR' }, 'message.parts[0].raw'],
    [{ raw: '=' }, 'message.parts[0].raw'],
    [{ raw: '==' }, 'message.parts[0].raw'],
    [{ raw: 'QQ=' }, 'message.parts[0].raw'],
    [{ raw: 'QUI==' }, 'message.parts[0].raw'],
    [{ raw: 'QUJD=' }, 'message.parts[0].raw'],
    [{ raw: 'Q=Q=' }, 'message.parts[0].raw'],
    [{ raw: 'eA==', filename: 7 }, 'message.parts[0].filename'],
    [{ raw: 'eA==', filename: 'x'.repeat(257) }, 'message.parts[0].filename'],
    [{ raw: 'eA==', text: 'x' }, 'message.parts[0]'],
  ])('fails by its field: %j', async (part, field) => {
    const capsule = await open();
    const { error } = await capsule.answer('SendMessage', userMessage('', { parts: [part] }));
    expect(error).toMatchObject({ code: -32602, data: [{ fieldViolations: [{ field }] }] });
  });

  it.each([
    ['QQ==', 'A'],
    ['QQ', 'A'],
    ['QUI=', 'AB'],
    ['QUI', 'AB'],
    ['QUJD', 'ABC'],
    ['Pz8_', '???'],
    ['Pz8/', '???'],
  ])('counts as %j', async (raw, text) => {
    const capsule = (await open({ turns: [says('ok')] })).run();
    await capsule.result('SendMessage', userMessage('', { parts: [{ raw }] }));
    expect([...capsule.outside.inputs.values()]).toEqual([text]);
  });

  it('has at most 31 beside it', async () => {
    const capsule = (await open({ turns: [says('ok')] })).run();
    const parts = (count: number): Json[] => Array.from({ length: count }, () => ({ raw: '' }));
    expect(await capsule.code('SendMessage', userMessage('', { parts: parts(33) }))).toBe(-32602);
    expect(await capsule.code('SendMessage', userMessage('', { parts: parts(32) }))).toBeUndefined();
  });
});

describe('the files that a task has made', () => {
  it('become an artifact of addresses at its end, on its stream as in the task', async () => {
    const capsule = (await open({ turns: [says('Done.')] })).run();
    capsule.outside.files = ['a b/ü.txt', 'result.txt'];
    const stream = await capsule.stream('SendStreamingMessage', userMessage('Write.'));
    const events = await stream.whole();
    const files = {
      artifactId: 'files',
      name: 'files',
      parts: [
        { url: 'http://localhost:1/resources/files/a%20b/%C3%BC.txt', filename: 'a b/ü.txt' },
        { url: 'http://localhost:1/resources/files/result.txt', filename: 'result.txt' },
      ],
    };
    const told = events.flatMap(({ artifactUpdate }) => (artifactUpdate === undefined ? [] : [artifactUpdate]));
    expect(told.at(-1)).toMatchObject({ artifact: files, append: false, lastChunk: true });
    expect(events.at(-1)).toHaveProperty('statusUpdate');
    const task = await capsule.result('GetTask', { id: told.at(-1).taskId });
    expect(task['artifacts']).toEqual([
      { artifactId: 'response', name: 'response', parts: [{ text: 'Done.' }] },
      files,
    ]);
  });

  it('make no artifact where nothing changed', async () => {
    const capsule = (await open({ turns: [says('Done.')] })).run();
    const { task } = await capsule.result('SendMessage', userMessage('x'));
    expect(task.artifacts).toHaveLength(1);
  });
});
