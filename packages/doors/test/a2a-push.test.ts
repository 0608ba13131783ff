import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { parseDestination } from '@svc/kit/net/network-destination.ts';
import { calls, hangs, says } from '../../../test/support/fake-driver.ts';
import { fakeTool, passed } from '../../../test/support/session-fixture.ts';
import type { PushHost } from '../src/core/door-core.ts';
import { TokenHome } from './token-home.ts';
import { type A2aCapsule, type A2aOptions, type Json, lineOf, useA2aCapsules, userMessage } from './a2a-capsule.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const openCapsule = useA2aCapsules();

const here: PushHost = hostOf('127.0.0.1', true);

function hostOf(text: string, isPrivate: boolean): PushHost {
  const reading = parseDestination(text);
  if (reading.kind === 'malformed') throw new Error(reading.reason);
  return { destination: reading.destination, isPrivate };
}

/** A capsule that may push to this machine. */
async function open(options: A2aOptions = {}): Promise<A2aCapsule> {
  return await openCapsule({ ...options, facts: { push: [here], ...options.facts } });
}

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly json: Json;
}

/** A receiver that notes what it is sent, and answers each request with the next of these; the last one stays. Null never answers. */
class Receiver {
  readonly received: Received[] = [];
  /** Settles when the sender of the last request has left, which it does once it has the answer. */
  left: Promise<unknown> = Promise.resolve();
  readonly url: string;
  #watchers: (() => void)[] = [];

  private constructor(port: number) {
    this.url = `http://127.0.0.1:${port}/hook`;
  }

  static async open(...statuses: readonly (number | null)[]): Promise<Receiver> {
    let receiver: Receiver | null = null;
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const index = receiver?.received.length ?? 0;
        const status = statuses[Math.min(index, statuses.length - 1)];
        receiver?.note({ headers: request.headers, json: JSON.parse(Buffer.concat(chunks).toString()) as Json });
        if (receiver !== null) receiver.left = once(request.socket, 'close');
        if (status !== null) response.writeHead(status ?? 200).end();
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    receiver = new Receiver((server.address() as AddressInfo).port);
    return receiver;
  }

  note(received: Received): void {
    this.received.push(received);
    for (const watcher of this.#watchers.splice(0)) watcher();
  }

  async until(count: number): Promise<readonly Received[]> {
    while (this.received.length < count) await new Promise<void>((resolve) => this.#watchers.push(resolve));
    return this.received;
  }

  get lines(): string[] {
    return this.received.map(({ json }) => lineOf(json));
  }
}

/** A message whose sender wants to hear of its task. */
function notified(text: string, config: Json, more: Json = {}): Json {
  return { ...userMessage(text), configuration: { taskPushNotificationConfig: config, ...more } };
}

async function started(capsule: A2aCapsule): Promise<string> {
  const { task } = await capsule.result('SendMessage', {
    ...userMessage('x'),
    configuration: { returnImmediately: true },
  });
  return task.id;
}

describe('a client that asks to be notified', () => {
  it('gets each change of the state, and at the end the whole task, with the token of its config', async () => {
    const receiver = await Receiver.open(200);
    const ask = fakeTool('ask', async (_args, context) => {
      const answer = await context.requestInput('Which?');
      return passed(answer.kind === 'answered' ? answer.text : 'nobody answered');
    });
    const capsule = (await open({ turns: [calls(['ask', {}]), says('Blue it is.')], tools: [ask] })).run();
    const config = { url: receiver.url, token: 'tok-1', authentication: { scheme: 'Bearer', credentials: 'cred-1' } };
    const { task } = await capsule.result('SendMessage', notified('Paint.', config));
    expect(task.status.state).toBe('TASK_STATE_INPUT_REQUIRED');
    const answer = userMessage('blue', { taskId: task.id });
    const { task: ended } = await capsule.result('SendMessage', answer);
    const received = await receiver.until(5);
    expect(receiver.lines).toEqual([
      'status WORKING',
      'status INPUT_REQUIRED',
      'status WORKING',
      'status WORKING',
      'task COMPLETED',
    ]);
    expect(received.at(-1)?.json['task']).toEqual(ended);
    for (const { headers } of received) {
      expect(headers).toMatchObject({
        'content-type': 'application/a2a+json',
        'a2a-version': '1.0',
        authorization: 'Bearer cred-1',
        'x-a2a-notification-token': 'tok-1',
        'webhook-id': expect.stringMatching(/^msg_/),
        'webhook-timestamp': expect.stringMatching(/^\d+$/),
        'webhook-signature': expect.stringMatching(/^v1,/),
      });
    }
    expect(JSON.stringify(capsule.fixture.traced)).not.toMatch(/tok-1|cred-1/);
  });

  it('gets what hooks commit, and no chunk', async () => {
    const receiver = await Receiver.open(200);
    const hooks = {
      mayReopen: false,
      taskEnded: async () => ({ kind: 'accepted' }) as const,
      takeArtifacts: () => [{ hookName: 'check', content: 'fine' }],
    };
    const capsule = (await open({ turns: [says('Rain.')], hooks })).run();
    await capsule.result('SendMessage', notified('Write.', { url: receiver.url }));
    await receiver.until(3);
    expect(receiver.lines).toEqual(['status WORKING', 'check-1 !fine', 'task COMPLETED']);
  });

  it('gets each notification again until it takes it', async () => {
    const receiver = await Receiver.open(500, 503, 200);
    const capsule = (await open({ turns: [says('Rain.')] })).run();
    await capsule.result('SendMessage', notified('Write.', { url: receiver.url }));
    for (const [tries, pauseMs] of [
      [1, 1000],
      [2, 4000],
    ] as const) {
      await receiver.until(tries);
      while (receiver.received.length === tries) {
        await new Promise((resolve) => setImmediate(resolve));
        capsule.fixture.clock.advance(pauseMs / 10);
      }
    }
    await receiver.until(4);
    expect(receiver.lines).toEqual(['status WORKING', 'status WORKING', 'status WORKING', 'task COMPLETED']);
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    expect([new Set(ids.slice(0, 3)).size, new Set(ids).size]).toEqual([1, 2]);
  });

  it('keeps nothing of a task that nobody can ask about any more', async () => {
    const receiver = await Receiver.open(200);
    const result = 'x'.repeat(4 * 1024 * 1024);
    const turns = Array.from({ length: 8 }, () => says(result));
    const capsule = (await open({ turns })).run();
    const { board } = capsule.fixture.session;
    const first = await capsule.result('SendMessage', notified('Write.', { url: receiver.url }));
    const task = new WeakRef(board.find(first.task.id) ?? {});
    await receiver.until(2);
    for (let others = 1; others < 7; others += 1) await capsule.result('SendMessage', userMessage('Write.'));
    expect(board.find(first.task.id)).toBeUndefined();
    await receiver.left;
    // By now it has taken the last notification; the next end of a task lets it go.
    await capsule.result('SendMessage', userMessage('Write.'));
    await vi.waitFor(() => {
      collectGarbage();
      expect(task.deref()).toBeUndefined();
    });
  });

  it('gets no more once it answers that it is gone', async () => {
    const receiver = await Receiver.open(410);
    const capsule = (await open({ turns: [hangs] })).run();
    const { task } = await capsule.result(
      'SendMessage',
      notified('x', { url: receiver.url }, { returnImmediately: true }),
    );
    await receiver.until(1);
    const configs = async (): Promise<Json[]> =>
      (await capsule.result('ListTaskPushNotificationConfigs', { taskId: task.id }))['configs'];
    while ((await configs()).length > 0);
    await capsule.result('CancelTask', { id: task.id });
    expect(receiver.lines).toEqual(['status WORKING']);
  });

  it('gets a task that was over when it asked', async () => {
    const receiver = await Receiver.open(200);
    const capsule = (await open({ turns: [says('Rain.')] })).run();
    const { task } = await capsule.result('SendMessage', userMessage('Write.'));
    await capsule.result('CreateTaskPushNotificationConfig', { taskId: task.id, url: receiver.url });
    expect((await receiver.until(1))[0]?.json).toEqual({ task });
  });

  it('gets the status alone where the task is longer than 1 MiB', async () => {
    const receiver = await Receiver.open(200);
    const capsule = (await open({ turns: [says('x'.repeat(1024 * 1024))] })).run();
    await capsule.result('SendMessage', notified('Write.', { url: receiver.url }));
    await receiver.until(2);
    expect(receiver.lines).toEqual(['status WORKING', 'status COMPLETED']);
  });

  it('holds nobody up who says nothing, and the end waits for it two seconds', async () => {
    const [silent, other] = [await Receiver.open(null), await Receiver.open(200)];
    const capsule = (await open({ turns: [says('Rain.')] })).run();
    const { task } = await capsule.result('SendMessage', notified('Write.', { url: silent.url }));
    await capsule.result('CreateTaskPushNotificationConfig', { taskId: task.id, url: other.url });
    await Promise.all([silent.until(1), other.until(1)]);
    await other.left;
    let isOver = false;
    const ending = capsule.outside.end().then(() => (isOver = true));
    capsule.fixture.clock.advance(1999);
    await new Promise((resolve) => setImmediate(resolve));
    expect(isOver).toBe(false);
    capsule.fixture.clock.advance(1);
    await ending;
    const { host } = new URL(silent.url);
    const line = { event_type: 'push_lost', task_id: task.id, host, sent: 0, lost: 2, reason: 'the session ended' };
    expect(capsule.outside.traced).toEqual([line]);
  });
});

describe('the config of a client', () => {
  const url = 'http://127.0.0.1:9/hook';
  const secret = { scheme: 'Basic', credentials: 'dTpw' };

  it('can be created, shown without its credentials, listed and deleted, once and again', async () => {
    const capsule = (await open({ turns: [hangs] })).run();
    const taskId = await started(capsule);
    const sent = { taskId, id: 'mine', url, token: 't', authentication: secret };
    const shown = { ...sent, authentication: { scheme: 'Basic', credentials: '…' } };
    expect(await capsule.result('CreateTaskPushNotificationConfig', sent)).toEqual(shown);
    expect(await capsule.result('GetTaskPushNotificationConfig', { taskId, id: 'mine' })).toEqual(shown);
    const list = { configs: [shown], nextPageToken: '' };
    expect(await capsule.result('ListTaskPushNotificationConfigs', { taskId, pageSize: 1 })).toEqual(list);
    for (let times = 0; times < 2; times += 1) {
      expect(await capsule.result('DeleteTaskPushNotificationConfig', { taskId, id: 'mine' })).toEqual({});
    }
    expect(await capsule.code('GetTaskPushNotificationConfig', { taskId, id: 'mine' })).toBe(-32001);
    const none = { configs: [], nextPageToken: '' };
    expect(await capsule.result('ListTaskPushNotificationConfigs', { taskId })).toEqual(none);
  });

  it('has the same four methods over HTTP+JSON', async () => {
    const capsule = (await open({ turns: [hangs] })).run();
    const taskId = await started(capsule);
    const path = `/tasks/${taskId}/pushNotificationConfigs`;
    const made = (await (await capsule.http('POST', path, { url })).json()) as Json;
    expect(made).toEqual({ id: expect.stringMatching(/^cfg_[0-9a-f]{32}$/), taskId, url });
    expect(await (await capsule.http('GET', path)).json()).toEqual({ configs: [made], nextPageToken: '' });
    expect(await (await capsule.http('GET', `${path}/${made['id']}`)).json()).toEqual(made);
    expect(await (await capsule.http('DELETE', `${path}/${made['id']}`)).json()).toEqual({});
    expect((await capsule.http('GET', `${path}/${made['id']}`)).status).toBe(404);
  });

  it('stays one where the same is asked for twice, and replaces the one with its id', async () => {
    const capsule = (await open({ turns: [hangs] })).run();
    const taskId = await started(capsule);
    const made = await capsule.result('CreateTaskPushNotificationConfig', { taskId, url });
    expect(await capsule.result('CreateTaskPushNotificationConfig', { taskId, url })).toEqual(made);
    const other = { taskId, url, id: made['id'], token: 'new' };
    expect(await capsule.result('CreateTaskPushNotificationConfig', other)).toEqual(other);
    const { configs } = await capsule.result('ListTaskPushNotificationConfigs', { taskId });
    expect(configs).toEqual([other]);
  });

  it('shares its task with seven others at the most', async () => {
    const capsule = (await open({ turns: [hangs] })).run();
    const taskId = await started(capsule);
    const create = (id: string): Promise<number | undefined> =>
      capsule.code('CreateTaskPushNotificationConfig', { taskId, url, id });
    const codes = [];
    for (let index = 0; index < 9; index += 1) codes.push(await create(`c${index}`));
    expect(codes).toEqual([...Array.from({ length: 8 }, () => undefined), -32004]);
    expect(await create('c3')).toBeUndefined();
  });

  it.each([
    [{}, 'url'],
    [{ url: 7 }, 'url'],
    [{ url: 'https://other.example/' }, 'url'],
    [{ url: 'https://127.0.0.2/' }, 'url'],
    [{ url: `http://127.0.0.1/${'x'.repeat(2048)}` }, 'url'],
    [{ url, token: 'a\r\nx: y' }, 'token'],
    [{ url, token: 'ü' }, 'token'],
    [{ url, token: 'x'.repeat(1025) }, 'token'],
    [{ url, id: 'x'.repeat(257) }, 'id'],
    [{ url, authentication: 'Bearer' }, 'authentication'],
    [{ url, authentication: {} }, 'authentication.scheme'],
    [{ url, authentication: { scheme: 'a b' } }, 'authentication.scheme'],
    [{ url, authentication: { scheme: 'Bearer', credentials: 'a\nb' } }, 'authentication.credentials'],
    [{ url, authentication: { scheme: 'Bearer', credentials: 'x'.repeat(8193) } }, 'authentication.credentials'],
  ])('fails by its field: %j', async (config, field) => {
    const capsule = (await open({ turns: [hangs] })).run();
    const taskId = await started(capsule);
    const asked = await capsule.answer('CreateTaskPushNotificationConfig', { taskId, ...config });
    expect(asked['error']).toMatchObject({ code: -32602, data: [{ fieldViolations: [{ field }] }] });
    const sent = await capsule.answer('SendMessage', notified('y', config));
    const prefix = 'configuration.taskPushNotificationConfig.';
    expect(sent['error']).toMatchObject({
      code: -32602,
      data: [{ fieldViolations: [{ field: `${prefix}${field}` }] }],
    });
    expect(capsule.fixture.session.board.accepted).toBe(1);
  });

  it('needs a task that the client may know of', async () => {
    const capsule = await open();
    const create = { taskId: 'tsk_0', url };
    expect(await capsule.code('CreateTaskPushNotificationConfig', create)).toBe(-32001);
    expect(await capsule.code('ListTaskPushNotificationConfigs', { taskId: 'tsk_0' })).toBe(-32001);
    expect(await capsule.code('DeleteTaskPushNotificationConfig', { taskId: 'tsk_0', id: 'x' })).toBe(-32001);
    expect(await capsule.code('GetTaskPushNotificationConfig', { taskId: 'tsk_0' })).toBe(-32602);
  });

  it('fails where the manifest names no host, and the card says which it is', async () => {
    const pushes = async (capsule: A2aCapsule): Promise<unknown> => {
      const card = (await (await fetch(`${capsule.url}/.well-known/agent-card.json`)).json()) as Json;
      return card['capabilities'].pushNotifications;
    };
    const [closed, opened] = [await open({ facts: { push: [] } }), await open()];
    expect([await pushes(closed), await pushes(opened)]).toEqual([false, true]);
    expect(await closed.code('CreateTaskPushNotificationConfig', { taskId: 'x', url })).toBe(-32003);
    expect(await closed.code('SendMessage', notified('x', { url }))).toBe(-32003);
    expect(closed.fixture.session.board.accepted).toBe(0);
  });
});

describe('a client with a token of its own', () => {
  const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });
  const quick = { returnImmediately: true };

  it('reads what it is notified of, which its token must allow', async () => {
    const home = new TokenHome();
    const token = await home.add('ann', { scopes: ['send'] });
    const capsule = (await open({ turns: [hangs], callers: home.callers() })).run();
    const body = {
      jsonrpc: '2.0',
      id: 1,
      method: 'SendMessage',
      params: notified('x', { url: 'http://127.0.0.1:9/' }),
    };
    expect((await capsule.post(JSON.stringify(body), bearer(token))).status).toBe(403);
    expect(capsule.fixture.session.board.accepted).toBe(0);
  });

  it('sees only its own configs', async () => {
    const home = new TokenHome();
    const token = await home.add('ann', { scopes: ['read', 'send'] });
    const capsule = (await open({ turns: [hangs], callers: home.callers() })).run();
    const url = 'http://127.0.0.1:9/hook';
    const sent = await capsule.answer('SendMessage', notified('x', { url, id: 'hers' }, quick), bearer(token));
    const taskId = sent['result'].task.id as string;
    const operator = bearer('operator-token');
    await capsule.answer('CreateTaskPushNotificationConfig', { taskId, url, id: 'ours' }, operator);
    const list = async (headers: Record<string, string>): Promise<string[]> =>
      (await capsule.answer('ListTaskPushNotificationConfigs', { taskId }, headers))['result'].configs.map(
        (config: Json) => config['id'] as string,
      );
    await capsule.answer('DeleteTaskPushNotificationConfig', { taskId, id: 'ours' }, bearer(token));
    // Another one of the same id is hers alone.
    await capsule.answer('CreateTaskPushNotificationConfig', { taskId, url, id: 'ours', token: 'x' }, bearer(token));
    await capsule.answer('DeleteTaskPushNotificationConfig', { taskId, id: 'ours' }, bearer(token));
    const got = await capsule.answer('GetTaskPushNotificationConfig', { taskId, id: 'ours' }, bearer(token));
    expect([await list(bearer(token)), await list(operator), got['error'].code]).toEqual([
      ['hers'],
      ['hers', 'ours'],
      -32001,
    ]);
  });

  it('has a config of its own where another has asked for the same address', async () => {
    const home = new TokenHome();
    const token = await home.add('ann', { scopes: ['read', 'send'] });
    const capsule = (await open({ turns: [hangs], callers: home.callers() })).run();
    const url = 'http://127.0.0.1:9/hook';
    const sent = await capsule.answer('SendMessage', notified('x', { url }, quick), bearer(token));
    const taskId = sent['result'].task.id as string;
    const create = async (headers: Record<string, string>): Promise<string> =>
      (await capsule.answer('CreateTaskPushNotificationConfig', { taskId, url }, headers))['result'].id;
    const [hers, again] = [await create(bearer(token)), await create(bearer(token))];
    const ours = await create(bearer('operator-token'));
    expect([again === hers, ours === hers]).toEqual([true, false]);
  });

  it('gets nothing more once the token is removed', async () => {
    const receiver = await Receiver.open(200);
    const home = new TokenHome();
    const token = await home.add('ann', { scopes: ['read', 'send'] });
    const capsule = (await open({ turns: [hangs], callers: home.callers() })).run();
    const sent = await capsule.answer('SendMessage', notified('x', { url: receiver.url }, quick), bearer(token));
    await receiver.until(1);
    await home.remove('ann');
    const { id } = sent['result'].task as { id: string };
    const operator = bearer('operator-token');
    await capsule.answer('CancelTask', { id }, operator);
    const configs = async (): Promise<Json[]> =>
      (await capsule.answer('ListTaskPushNotificationConfigs', { taskId: id }, operator))['result'].configs;
    while ((await configs()).length > 0);
    expect(receiver.lines).toEqual(['status WORKING']);
    expect(capsule.outside.traced).toEqual([]);
  });

  /** Asks for 8 configs of each of so many tasks; the errors. */
  async function configsOf(capsule: A2aCapsule, token: string, tasks: number, url: string): Promise<Json[]> {
    const errors: Json[] = [];
    for (let made = 0; made < tasks; made += 1) {
      const message = { ...userMessage('x'), configuration: quick };
      const taskId = (await capsule.answer('SendMessage', message, bearer(token)))['result'].task.id as string;
      for (let at = 0; at < 8; at += 1) {
        const config = { taskId, url, id: `c${at}` };
        const { error } = await capsule.answer('CreateTaskPushNotificationConfig', config, bearer(token));
        if (error !== undefined) errors.push(error as Json);
      }
    }
    return errors;
  }

  const roomy = { afterTask: 'sleep', queueDepth: 100 } as const;
  const nowhere = 'http://127.0.0.1:9/hook';

  it('has 250 configs at the most, so that others may have theirs', async () => {
    const home = new TokenHome();
    const [ann, bob] = [await home.add('ann'), await home.add('bob')];
    const capsule = (await open({ turns: [hangs], callers: home.callers(), acceptance: roomy })).run();
    const full = { code: -32004, message: expect.stringContaining('This client has 250 push notification configs') };
    expect(await configsOf(capsule, ann, 32, nowhere)).toMatchObject(Array.from({ length: 6 }, () => full));
    const sent = await capsule.answer('SendMessage', notified('x', { url: nowhere }, quick), bearer(ann));
    expect(sent['error']).toMatchObject(full);
    expect(await configsOf(capsule, bob, 1, nowhere)).toEqual([]);
  });

  it('sends a message again whose config is one of them', async () => {
    const home = new TokenHome();
    const ann = await home.add('ann');
    const capsule = (await open({ turns: [hangs], callers: home.callers(), acceptance: roomy })).run();
    const message = notified('first', { url: nowhere }, quick);
    const { result } = await capsule.answer('SendMessage', message, bearer(ann));
    await configsOf(capsule, ann, 32, nowhere);
    const again = await capsule.answer('SendMessage', message, bearer(ann));
    expect(again['result'].task.id).toBe(result.task.id);
  });

  it('starts no task with a long message for whose config another has taken the place meanwhile', async () => {
    const home = new TokenHome();
    const ann = await home.add('ann');
    const capsule = (await open({ turns: [hangs], callers: home.callers(), acceptance: roomy })).run();
    await configsOf(capsule, ann, 31, nowhere);
    const { board } = capsule.fixture.session;
    const before = board.accepted;
    // All of them are being prepared before the first is accepted. 248 are there: of four, two are refused.
    const prepare = board.prepare.bind(board);
    const preparing = vi.spyOn(board, 'prepare').mockImplementation(async (text) => {
      const prepared = await prepare(text);
      await vi.waitUntil(() => preparing.mock.calls.length === 4, { timeout: 20_000 });
      return prepared;
    });
    const answers = await Promise.all(
      ['a', 'b', 'c', 'd'].map(async (letter) => {
        const long = notified(letter.repeat(1_100_000), { url: nowhere }, quick);
        return (await capsule.answer('SendMessage', long, bearer(ann)))['error']?.code as number | undefined;
      }),
    );
    expect(answers.filter((code) => code === -32004)).toHaveLength(2);
    expect(board.accepted - before).toBe(2);
  });

  it('takes none of its 1,000 from who runs the capsule, where no other client has any', async () => {
    const home = new TokenHome();
    const bob = await home.add('bob');
    const capsule = (await open({ turns: [hangs], callers: home.callers(), acceptance: roomy })).run();
    expect(await configsOf(capsule, 'operator-token', 32, nowhere)).toEqual([]);
    expect(await configsOf(capsule, bob, 1, nowhere)).toEqual([]);
    const full = { code: -32004, message: expect.stringContaining('This client has 250 push notification configs') };
    expect(await configsOf(capsule, 'operator-token', 1, nowhere)).toMatchObject(Array.from({ length: 8 }, () => full));
  });

  it('holds no other up with 40 receivers that say nothing', async () => {
    const [silent, other] = [await Receiver.open(null), await Receiver.open(200)];
    const home = new TokenHome();
    const [ann, bob] = [await home.add('ann'), await home.add('bob')];
    const capsule = (
      await open({ turns: Array.from({ length: 6 }, () => says('Rain.')), callers: home.callers(), acceptance: roomy })
    ).run();
    expect(await configsOf(capsule, ann, 5, silent.url)).toEqual([]);
    await silent.until(8);
    await capsule.answer('SendMessage', notified('x', { url: other.url }), bearer(bob));
    await other.until(2);
    expect([other.lines, silent.received.length]).toEqual([['status WORKING', 'task COMPLETED'], 8]);
  });
});
