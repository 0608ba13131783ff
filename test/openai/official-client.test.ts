import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import OpenAI, { APIError } from 'openai';
import { describe, expect, it, onTestFinished } from 'vitest';

import { startObligingModel } from '../support/obliging-model.mjs';
import { asks, says, script } from '../support/scripted-turns.ts';
import { staysUp, type StreamedCapsule, useStreamedCapsules } from '../support/streamed-capsule.ts';
import { makeWorkspace } from '../support/workspace.ts';

const capsules = useStreamedCapsules();
const threaded = 'lifecycle: { task_acceptance: queue, after_task: sleep, conversation: threaded }\n';
const asker = 'artifacts: [{ name: svc-tool-request-input, version: 1.0.0 }]\n';
const manual = fileURLToPath(new URL('../../docs/doors.md', import.meta.url));
const model = 'demo';

/** A capsule whose model does what a word in the message asks for. */
async function obliging(): Promise<StreamedCapsule> {
  const server = await startObligingModel();
  onTestFinished(() => server.close());
  const inference = `inference: { model: m, endpoint: "${server.endpoint}", driver: { artifact: svc-driver-openai } }\n`;
  const manifest = `name: demo\nversion: 1.2.3\n${inference}${threaded}${asker}`;
  return await capsules.from(makeWorkspace({ 'svc.yaml': manifest }));
}

/** The official client, with the settings that a program which knows nothing of capsules has. */
function clientOf({ line }: StreamedCapsule, apiKey = 'any'): OpenAI {
  return new OpenAI({ baseURL: `http://${line.url}/v1`, apiKey });
}

const user = (content: string) => ({ role: 'user', content }) as const;

/** Status and code of what a client was refused with. */
async function refusal(asked: PromiseLike<unknown>): Promise<unknown> {
  try {
    await asked;
    return 'accepted';
  } catch (error) {
    if (!(error instanceof APIError)) throw error;
    return [error.status, error.code];
  }
}

describe('the official client of OpenAI', () => {
  it('lists the capsule as its model', async () => {
    const client = clientOf(await capsules.script({ manifest: staysUp }));
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['demo']);
    expect((await client.models.retrieve('demo')).owned_by).toBe('svc');
  });

  it('has a response, goes on it, and asks for it later', async () => {
    const client = clientOf(await obliging());
    const one = await client.responses.create({ model, input: 'hello' });
    expect([one.status, one.output_text]).toEqual(['completed', 'echo: hello']);
    const two = await client.responses.create({ model, input: 'again', previous_response_id: one.id });
    expect([two.output_text, two.previous_response_id]).toEqual(['echo: again', one.id]);
    expect((await client.responses.retrieve(two.id)).output_text).toBe('echo: again');
  });

  it('has a question as an answer, and its next message reaches the task', async () => {
    const client = clientOf(await obliging());
    const asked = await client.responses.create({ model, input: 'ask' });
    expect(asked.output_text).toBe('Which colour?');
    const told = await client.responses.create({ model, input: 'red', previous_response_id: asked.id });
    expect(told.output_text).toMatch(/^You said [^]*red[^]*\.$/);
    const first = await client.chat.completions.create({ model, messages: [user('ask')] });
    const message = first.choices[0]!.message;
    expect(message.content).toBe('Which colour?');
    const next = await client.chat.completions.create({ model, messages: [user('ask'), message, user('blue')] });
    expect(next.choices[0]!.message.content).toMatch(/^You said [^]*blue[^]*\.$/);
  });

  it('follows a response as events, which its own helper puts together', async () => {
    const client = clientOf(await obliging());
    const stream = client.responses.stream({ model, input: 'hello' });
    const types: string[] = [];
    let text = '';
    for await (const event of stream) {
      types.push(event.type);
      if (event.type === 'response.output_text.delta') text += event.delta;
    }
    expect([types[0], types.at(-1), text]).toEqual(['response.created', 'response.completed', 'echo: hello']);
    expect((await stream.finalResponse()).output_text).toBe('echo: hello');
  });

  it('starts one in the background, looks at it and cancels it', async () => {
    const client = clientOf(await obliging());
    const slow = await client.responses.create({ model, input: 'slow', background: true });
    expect(['queued', 'in_progress']).toContain((await client.responses.retrieve(slow.id)).status);
    expect((await client.responses.cancel(slow.id)).status).toBe('cancelled');
    expect((await client.responses.cancel(slow.id)).status).toBe('cancelled');
  });

  it('chats, and goes on without a name for it', async () => {
    const client = clientOf(await obliging());
    const messages = [{ role: 'system', content: 'Be brief.' } as const, user('hello there')];
    const chat = await client.chat.completions.create({ model, messages });
    expect(chat.choices[0]!.message.content).toBe('echo: hello there');
    const next = await client.chat.completions.create({
      model,
      messages: [...messages, chat.choices[0]!.message, user('more')],
    });
    // The capsule got the last message alone: it knows the others.
    expect(next.choices[0]!.message.content).toBe('echo: more');
  });

  it('follows a chat as chunks, which its own helper puts together', async () => {
    const client = clientOf(await obliging());
    const options = { model, messages: [user('hello')], stream_options: { include_usage: true } };
    const stream = client.chat.completions.stream(options);
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    expect(text).toBe('echo: hello');
    const whole = await stream.finalChatCompletion();
    expect([whole.choices[0]!.finish_reason, whole.usage?.total_tokens]).toEqual(['stop', expect.any(Number)]);
  });

  it('gets every mistake by its status and code, once', async () => {
    const capsule = await obliging();
    const client = clientOf(capsule);
    const { responses, chat, models } = client;
    const image = [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }] as const;
    const tools = [{ type: 'function', function: { name: 'f' } }] as const;
    const made = await responses.create({ model, input: 'x' });
    const refusals = [
      responses.create({ model, input: 'x', previous_response_id: 'resp_tsk_0' }),
      responses.retrieve('resp_tsk_0'),
      responses.retrieve(made.id, { stream: true, starting_after: 1 }),
      responses.retrieve(made.id, { starting_after: 1 }),
      responses.create({ model: 'gpt-4o', input: 'x' }),
      models.retrieve('gpt-4o'),
      chat.completions.create({ model, messages: [{ role: 'user', content: [...image] }] }),
      chat.completions.create({ model, messages: [user('x')], tools: [...tools] }),
      chat.completions.create({ model, messages: [user('x')], n: 2 }),
      chat.completions.create({ model, messages: [] }),
    ];
    expect(await Promise.all(refusals.map(refusal))).toEqual([
      [404, 'previous_response_not_found'],
      [404, 'response_not_found'],
      [400, 'unsupported_parameter'],
      [400, 'unsupported_parameter'],
      [404, 'model_not_found'],
      [404, 'model_not_found'],
      [400, 'unsupported_parameter'],
      [400, 'unsupported_parameter'],
      [400, 'unsupported_parameter'],
      [400, 'invalid_value'],
    ]);
    // Its client would ask again by itself after 502.
    const failing = chat.completions.create({ model, messages: [user('fail')] });
    expect(await refusal(failing)).toEqual([502, 'task_failed']);
    const stream = client.chat.completions.stream({ model, messages: [user('fail')] });
    expect(await refusal(stream.done())).toEqual([undefined, 'task_failed']);
    const failed = await responses.create({ model, input: 'fail' });
    expect([failed.status, failed.error?.message]).toEqual(['failed', expect.stringContaining('on holiday')]);
    const received = capsule.trace.filter(({ event_type: type }) => type === 'task_received');
    expect(received).toHaveLength(4);
  });

  it('shows its key as the token, and is refused without it', async () => {
    const capsule = await capsules.script(
      { manifest: staysUp, script: script(says('ok')) },
      { SVC_LISTENER_TOKEN: 'secret-token' },
    );
    const asked = clientOf(capsule, 'secret-token').responses.create({ model, input: 'x' });
    expect((await asked).output_text).toBe('ok');
    expect(await refusal(clientOf(capsule, 'other').responses.create({ model, input: 'x' }))).toEqual([401, undefined]);
  });

  it('gets answers from a capsule that asks, in the stream of each', async () => {
    const client = clientOf(
      await capsules.script({ manifest: asker + staysUp, script: script(asks('Which colour?'), says('Blue it is.')) }),
    );
    const asked = await client.responses.stream({ model, input: 'Paint.' }).finalResponse();
    expect(asked.output_text).toBe('Which colour?');
    const told = client.responses.stream({ model, input: 'blue', previous_response_id: asked.id });
    expect((await told.finalResponse()).output_text).toBe('Blue it is.');
  });
});

describe('the command that docs/doors.md shows', () => {
  it('chats with a capsule by curl', async (context) => {
    context.skip(spawnSync('curl', ['--version']).status !== 0, 'needs curl');
    const blocks = [...readFileSync(manual, 'utf8').matchAll(/```sh\n([^]*?)```/g)].map(([, block = '']) => block);
    const command = blocks.find((block) => block.includes('/v1/chat/completions')) ?? '';
    const capsule = await capsules.script({ manifest: staysUp, script: script(says('Rain falls.')) });
    const env = { ...process.env, PORT: capsule.line.url.replace(/^.*:/, '') };
    const { stdout } = await promisify(execFile)('sh', ['-c', command], { env });
    expect(JSON.parse(stdout)).toMatchObject({ choices: [{ message: { content: 'Rain falls.' } }] });
  });
});
