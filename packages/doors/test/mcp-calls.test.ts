import type { Client } from '@modelcontextprotocol/client';
import { afterEach, describe, expect, it } from 'vitest';

import { calls, hangs, says, type Turn } from '../../../test/support/fake-driver.ts';
import { fakeTool, passed } from '../../../test/support/session-fixture.ts';
import { type A2aCapsule, type A2aOptions, useA2aCapsules, type Json } from './a2a-capsule.ts';
import { type ClientChoice, connectMcp, revisions } from './mcp-client.ts';

const openCapsule = useA2aCapsules();
const clients: Client[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

const ask = fakeTool('ask', async (_args, context) => {
  const answer = await context.requestInput('Which colour?');
  return passed(answer.kind === 'answered' ? answer.text : answer.kind);
});

async function running(turns: readonly Turn[], options: A2aOptions = {}): Promise<A2aCapsule> {
  return (await openCapsule({ turns, tools: [ask], serve: ['mcp'], ...options })).run();
}

async function connect(capsule: A2aCapsule, choice: ClientChoice): Promise<Client> {
  const client = await connectMcp(capsule, choice);
  clients.push(client);
  return client;
}

const demo = (task: string, more: Json = {}): { name: string; arguments: Json } => ({
  name: 'demo',
  arguments: { task, ...more },
});

const structured = ({ structuredContent }: { structuredContent?: unknown }): Json => structuredContent as Json;

const stateOf = (capsule: A2aCapsule, id: unknown): string | undefined =>
  capsule.fixture.session.board.find(String(id))?.state;

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

describe.each(revisions)('a client of %s', (revision) => {
  it('sees one tool, which gives a task and returns its outcome', async () => {
    const capsule = await running([says('Rain falls.'), says('Again.')]);
    const client = await connect(capsule, { revision });
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    expect(client.getServerVersion()).toMatchObject({ name: 'demo', version: '1.2.3' });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['demo']);
    expect(tools[0]?.description).toContain('Writes.');
    const result = await client.callTool(demo('Write.', { context_id: 'of mine' }));
    expect(result.content).toEqual([{ type: 'text', text: 'Rain falls.' }]);
    expect(result.structuredContent).toEqual({
      task_id: expect.stringMatching(/^tsk_[0-9a-f]{32}$/),
      context_id: 'of mine',
      state: 'completed',
      text: 'Rain falls.',
    });
    const task = capsule.fixture.session.board.find(String(structured(result)['task_id']));
    expect([task?.origin, task?.trust, task?.sender?.principal]).toEqual(['message', 'untrusted', 'local']);
  });

  it('gets each turn and each call that ended, when it asks for that', async () => {
    const capsule = await running([calls(['ask', {}]), says('Blue.')]);
    const client = await connect(capsule, { revision, answer: () => 'blue' });
    const heard: { progress: number; message?: string | undefined }[] = [];
    await client.callTool(demo('Paint.'), {
      onprogress: ({ progress, message }) => heard.push({ progress, message }),
    });
    expect(heard.map(({ message }) => message)).toContain('ask done');
    expect(heard.map(({ message }) => message)).toContain('inference turn 2');
    const counted = heard.map(({ progress }) => progress);
    expect(counted).toEqual(counted.toSorted((left, right) => left - right));
  });

  it('gets a form, and the call goes on with the answer', async () => {
    const capsule = await running([calls(['ask', {}]), calls(['ask', {}]), says('Done.')]);
    const asked: string[] = [];
    const client = await connect(capsule, {
      revision,
      answer: (question) => {
        asked.push(question);
        return `blue ${asked.length}`;
      },
    });
    const { structuredContent } = await client.callTool(demo('Paint.'));
    expect(structuredContent).toMatchObject({ state: 'completed', text: 'Done.' });
    expect(asked).toEqual(['Which colour?', 'Which colour?']);
    expect(capsule.fixture.driver.requests.map(({ messages }) => JSON.stringify(messages.at(-1)))).toEqual([
      expect.stringContaining('Paint.'),
      expect.stringContaining('blue 1'),
      expect.stringContaining('blue 2'),
    ]);
  });

  it('cancels the task by declining its question', async () => {
    const capsule = await running([calls(['ask', {}]), says('never')]);
    const client = await connect(capsule, { revision, answer: () => null });
    const result = await client.callTool(demo('Paint.'));
    expect([structured(result)['state'], result.isError]).toEqual(['canceled', true]);
  });

  it('without forms gets the question as a result, and answers it with the next call', async () => {
    const capsule = await running([calls(['ask', {}]), says('Blue.')]);
    const client = await connect(capsule, { revision });
    const asked = await client.callTool(demo('Paint.'));
    expect(asked.structuredContent).toMatchObject({ state: 'input-required', text: 'Which colour?' });
    expect(asked.isError).toBe(false);
    const { task_id } = structured(asked);
    const answered = await client.callTool(demo('blue', { task_id }));
    expect(answered.structuredContent).toMatchObject({ task_id, state: 'completed', text: 'Blue.' });
  });

  it('takes its call back, which cancels the task', async () => {
    const capsule = await running([hangs]);
    const client = await connect(capsule, { revision });
    const stop = new AbortController();
    const call = client.callTool(demo('Write.'), { signal: stop.signal }).then(
      () => 'answered',
      () => 'taken back',
    );
    await until(() => capsule.fixture.session.board.current()?.state === 'working');
    const { id } = capsule.fixture.session.board.current() ?? {};
    stop.abort();
    expect(await call).toBe('taken back');
    await until(() => stateOf(capsule, id) === 'canceled');
  });

  it('gets its mistakes as a result that a model can read', async () => {
    const capsule = await running([says('One.'), { kind: 'failed', error: 'no model' }]);
    const client = await connect(capsule, { revision });
    const wrong = async (given: Json): Promise<string> => {
      const { isError, content } = await client.callTool({ name: 'demo', arguments: given });
      return isError === true ? (content as Json[])[0]?.['text'] : 'accepted';
    };
    expect(await wrong({})).toBe('task must be a string');
    expect(await wrong({ task: 1 })).toBe('task must be a string');
    expect(await wrong({ task: 'x', context_id: 'a\nb' })).toBe('context_id must be 1 to 256 printable characters');
    expect(await wrong({ task: 'x', task_id: 'x'.repeat(257) })).toBe('task_id must be 1 to 256 printable characters');
    expect(await wrong({ task: 'x', task_id: 'tsk_0' })).toMatch(/^there is no task tsk_0/);
    const { task_id } = structured(await client.callTool(demo('Write.')));
    expect(await wrong({ task: 'more', task_id })).toMatch(/is completed and waits for no answer/);
    expect(await wrong({ task: 'more', task_id, context_id: 'other' })).toMatch(/^context_id is not that of/);
    const failed = await client.callTool(demo('Again.'));
    expect([failed.isError, failed.structuredContent]).toMatchObject([true, { state: 'failed', text: 'no model' }]);
    await expect(client.callTool({ name: 'other', arguments: {} })).rejects.toThrow('there is no tool of that name');
    await expect(client.readResource({ uri: 'file:///etc/passwd' })).rejects.toThrow('Resource not found');
    expect((await client.listResources()).resources).toEqual([]);
  });

  it('has no room in a full queue', async () => {
    const capsule = await running([hangs], { acceptance: { queueDepth: 0 } });
    const client = await connect(capsule, { revision });
    void client.callTool(demo('One.')).catch(() => {});
    await until(() => capsule.fixture.session.board.current()?.state === 'working');
    const refused = await client.callTool(demo('Two.'));
    expect([refused.isError, structured(refused)['state']]).toEqual([true, 'rejected']);
  });

  it('sends a long task, which is recorded whole', async () => {
    const capsule = await running([says('Read.')]);
    const client = await connect(capsule, { revision });
    const text = 'x'.repeat(4 * 1024 * 1024);
    expect(structured(await client.callTool(demo(text)))['text']).toBe('Read.');
    const received = capsule.fixture.traced.find(({ event_type: type }) => type === 'task_received');
    expect(received).toMatchObject({ text, origin: 'message', trust: 'untrusted' });
  });
});

describe('a client', () => {
  it('with 2025-11-25 cancels a call while its user is asked, which cancels the task', async () => {
    const capsule = await running([calls(['ask', {}]), says('never')]);
    const stop = new AbortController();
    const client = await connect(capsule, {
      revision: '2025-11-25',
      answer: async () => {
        stop.abort();
        return await new Promise<string>(() => {});
      },
    });
    const { board } = capsule.fixture.session;
    const call = client.callTool(demo('Paint.'), { signal: stop.signal }).then(
      () => 'answered',
      () => 'taken back',
    );
    expect(await call).toBe('taken back');
    await until(() => [...board.known()][0]?.state === 'canceled');
  });
});
