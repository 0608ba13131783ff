import { afterEach, describe, expect, it } from 'vitest';

import { calls, hangs, says, type Turn } from '../../../test/support/fake-driver.ts';
import { OpenDelegations } from '../../../test/support/open-delegations.ts';
import { bodyOf, RawSocket } from '../../../test/support/raw-socket.ts';
import { fakeTool, passed, SessionFixture, type FixtureOptions } from '../../../test/support/session-fixture.ts';
import { emptyReply } from '@svc/kit/http/reply.ts';
import { HttpServer } from '@svc/kit/http/server.ts';
import { agentCard } from '@svc/protocol/agent-card.ts';
import { capsuleRoutes } from './capsule-listener.ts';

interface Listening {
  readonly fixture: SessionFixture;
  readonly delegation: OpenDelegations;
  readonly port: number;
  readonly url: string;
}

const servers: HttpServer[] = [];
const bugs: unknown[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close(0)));
  if (bugs.length > 0) throw new Error('a handler failed', { cause: bugs.splice(0)[0] });
});

async function listen(options: FixtureOptions): Promise<Listening> {
  const fixture = new SessionFixture(options);
  const taskAcceptance = options.acceptance?.taskAcceptance ?? 'queue';
  const card = agentCard({
    name: 'demo',
    version: '1.2.3',
    url: 'localhost:1',
    sessionId: fixture.session.id,
    tools: [],
    shellAllow: [],
    networkAllow: [],
    taskAcceptance,
    exports: { files: false, peer_files: false },
  });
  const delegation = new OpenDelegations({ dlg_trusted: 'trusted', dlg_untrusted: 'untrusted' });
  const door = {
    session: fixture.session,
    card,
    principal: 'local',
    conversationMode: 'stateless' as const,
    containment: 'sealed',
    redact: (text: string) => text,
    delegation,
    residue: () => [],
    resources: { answer: () => emptyReply(404), refused: () => {}, counted: () => {} },
  } as const;
  const routes = capsuleRoutes(Promise.resolve(door));
  const server = new HttpServer({ routes, token: null, onBug: (bug) => bugs.push(bug) });
  servers.push(server);
  const bound = await server.bind({ address: '127.0.0.1', port: 0 });
  if (bound.kind !== 'bound') throw new Error('no port');
  return { fixture, delegation, port: bound.port, url: `http://127.0.0.1:${bound.port}/` };
}

function sleeping(turns: readonly Turn[], options: Partial<FixtureOptions> = {}): Promise<Listening> {
  return listen({ turns, ...options, acceptance: { afterTask: 'sleep', ...options.acceptance } });
}

async function rpc(url: string, call: Record<string, unknown>, headers: Record<string, string> = {}): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, ...call }),
  });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('application/json');
  return await response.json();
}

const say = (text: string): { message: Record<string, unknown> } => ({
  message: { messageId: 'm1', role: 'user', parts: [{ text }] },
});

describe('message/send', () => {
  it('starts a task and returns it submitted [D1-CARD-13, D1-SEND-01, D1-SEND-02, D1-SEND-03]', async () => {
    const { fixture, url } = await sleeping([says('ok')]);
    const answer = await rpc(url, {
      method: 'message/send',
      params: { message: { ...say('Hello').message, contextId: 'ctx_mine' } },
    });
    expect(answer).toEqual({
      jsonrpc: '2.0',
      id: 7,
      result: {
        id: expect.stringMatching(/^tsk_[0-9a-f]{32}$/),
        contextId: 'ctx_mine',
        status: { state: 'submitted' },
      },
    });
    expect(fixture.traced[0]).toMatchObject({
      event_type: 'task_received',
      origin: 'message',
      trust: 'untrusted',
      text: 'Hello',
    });
  });

  it('takes the message as params itself, joins its parts and mints a context [D1-SHAPE-03]', async () => {
    const { fixture, url } = await sleeping([says('ok')]);
    const params = { messageId: 'm', role: 'user', parts: [{ text: 'one' }, { text: 'two' }] };
    const answer = await rpc(url, { method: 'message/send', params });
    expect(answer).toMatchObject({ result: { contextId: expect.stringMatching(/^ctx_[0-9a-f]{32}$/) } });
    expect(fixture.traced[0]).toMatchObject({ text: 'one\ntwo' });
  });

  it('gives its text to the task that waits for input', async () => {
    const ask = fakeTool('ask', async (_args, context) => {
      const answer = await context.requestInput('Which?');
      return passed(answer.kind === 'answered' ? answer.text : 'nothing');
    });
    const { fixture, url } = await sleeping([calls(['ask', {}]), says('ok')], { tools: [ask] });
    void fixture.session.run();
    await rpc(url, { method: 'message/send', params: say('Choose.') });
    const waiting = await fixture.frame((frame) => frame.id === 9223372036854775807n);
    expect(await rpc(url, { method: 'tasks/get', params: { id: waiting.data['id'] } })).toMatchObject({
      result: { status: { state: 'input-required' }, artifacts: [{ name: 'prompt', parts: [{ text: 'Which?' }] }] },
    });
    const answer = await rpc(url, {
      method: 'message/send',
      params: { ...say('blue').message, contextId: 'ctx_other' },
    });
    expect(answer).toMatchObject({ result: { id: waiting.data['id'], status: { state: 'working' } } });
    await fixture.frame((frame) => frame.data['final'] === true && frame.event === 'status');
  });

  it('rejects a task there is no room for, and forgets it', async () => {
    const { url } = await sleeping([], { acceptance: { queueDepth: 0 } });
    await rpc(url, { method: 'message/send', params: say('one') });
    const answer = (await rpc(url, { method: 'message/send', params: say('two') })) as { result: { id: string } };
    expect(answer.result).toMatchObject({ status: { state: 'rejected', message: 'task rejected: capsule is busy' } });
    expect(await rpc(url, { method: 'tasks/get', params: { id: answer.result.id } })).toMatchObject({
      error: { code: -32001 },
    });
  });

  it('names the field of a bad message', async () => {
    const { url } = await sleeping([]);
    expect(await rpc(url, { method: 'message/send', params: { message: { messageId: 'm', role: 'user' } } })).toEqual({
      jsonrpc: '2.0',
      id: 7,
      error: { code: -32602, message: 'Invalid params: message.parts must be an array' },
    });
  });
});

describe('a completion', () => {
  const call = {
    method: 'message/send',
    params: { message: { ...say('done').message, contextId: 'ctx_of_the_child' } },
  };
  const headersOf = (session: string, id: string): Record<string, string> => ({
    'x-svc-task-origin': 'completion',
    'x-svc-task-trust': 'trusted',
    'x-svc-completion-session': session,
    'x-svc-delegation-id': id,
  });

  it('fails for another session, and the answer says so [D2-COMPL-28, D2-COMPL-29, D2-HANDLE-03]', async () => {
    const { delegation, url } = await sleeping([]);
    expect(await rpc(url, call, headersOf('ses_other', 'dlg_trusted'))).toEqual({
      jsonrpc: '2.0',
      id: 7,
      error: { code: -32004, message: 'The completion is addressed to a session that is not the one running' },
    });
    expect(delegation.completed).toEqual([]);
  });

  it('fails for an unknown delegation', async () => {
    const { fixture, url } = await sleeping([]);
    expect(await rpc(url, call, headersOf(fixture.session.id, 'dlg_none'))).toEqual({
      jsonrpc: '2.0',
      id: 7,
      error: { code: -32004, message: 'The completion names no delegation that this session has open' },
    });
  });

  it("becomes a task in the background lane, of the delegation's context [D2-COMPL-25, D2-COMPL-26]", async () => {
    const { fixture, delegation, url } = await sleeping([]);
    expect(await rpc(url, call, headersOf(fixture.session.id, 'dlg_trusted'))).toMatchObject({
      result: { contextId: 'ctx_of_the_delegation', status: { state: 'submitted' } },
    });
    expect(fixture.traced.at(-1)).toMatchObject({
      event_type: 'task_received',
      origin: 'completion',
      trust: 'trusted',
      lane: 'background',
      context_id: 'ctx_of_the_delegation',
    });
    expect(delegation.completed).toEqual(['dlg_trusted: done']);
  });

  it('has at most the trust of the task that delegated', async () => {
    const { fixture, url } = await sleeping([]);
    await rpc(url, call, headersOf(fixture.session.id, 'dlg_untrusted'));
    expect(fixture.traced.at(-1)).toMatchObject({ origin: 'completion', trust: 'untrusted' });
  });

  it('counts as untrusted when its headers say so, or say nothing', async () => {
    for (const trust of ['untrusted', 'Trusted', null]) {
      const { fixture, url } = await sleeping([]);
      const { 'x-svc-task-trust': _trusted, ...rest } = headersOf(fixture.session.id, 'dlg_trusted');
      await rpc(url, call, trust === null ? rest : { ...rest, 'x-svc-task-trust': trust });
      expect(fixture.traced.at(-1)).toMatchObject({ origin: 'completion', trust: 'untrusted' });
    }
  });

  it('counts once [D2-COMPL-17]', async () => {
    const { fixture, delegation, url } = await sleeping([], { acceptance: { queueDepth: 3 } });
    const headers = headersOf(fixture.session.id, 'dlg_trusted');
    expect(await rpc(url, call, headers)).toMatchObject({ result: { status: { state: 'submitted' } } });
    expect(await rpc(url, call, headers)).toMatchObject({ error: { code: -32004 } });
    expect(delegation.completed).toEqual(['dlg_trusted: done']);
  });

  it('leaves its delegation open when it finds no room', async () => {
    const { fixture, delegation, url } = await sleeping([], { acceptance: { queueDepth: 0 } });
    await rpc(url, { method: 'message/send', params: say('one') });
    const headers = headersOf(fixture.session.id, 'dlg_trusted');
    expect(await rpc(url, call, headers)).toMatchObject({ result: { status: { state: 'rejected' } } });
    expect(delegation.completed).toEqual([]);
    expect(delegation.open('dlg_trusted')).not.toBeNull();
  });

  it('answers no task that waits for input', async () => {
    const { fixture, url } = await sleeping([calls(['ask', {}]), says('Thank you.')], {
      tools: [
        fakeTool('ask', async (_args, { requestInput }) => {
          const answer = await requestInput('Which colour?');
          return passed(answer.kind === 'answered' ? answer.text : 'nobody answered');
        }),
      ],
    });
    void fixture.session.run();
    const first = (await rpc(url, { method: 'message/send', params: say('Ask.') })) as { result: { id: string } };
    await fixture.frame((frame) => frame.event === 'status' && JSON.stringify(frame.data).includes('Which colour?'));
    await rpc(url, call, headersOf(fixture.session.id, 'dlg_trusted'));
    expect(await rpc(url, { method: 'tasks/get', params: { id: first.result.id } })).toMatchObject({
      result: { status: { state: 'input-required' } },
    });
  });

  it('gets its trust from its headers only when its origin is completion [D2-COMPL-27]', async () => {
    const { fixture, delegation, url } = await sleeping([]);
    const { 'x-svc-task-origin': _origin, ...rest } = headersOf('ses_other', 'dlg_trusted');
    await rpc(url, call, rest);
    expect(fixture.traced.at(-1)).toMatchObject({
      origin: 'message',
      trust: 'untrusted',
      lane: 'foreground',
      context_id: 'ctx_of_the_child',
    });
    expect(delegation.completed).toEqual([]);
  });
});

describe('with task_acceptance none', () => {
  it('message/send and message/stream are not served, the rest is [D1-ERR-12]', async () => {
    const { url } = await listen({ turns: [], acceptance: { taskAcceptance: 'none' } });
    for (const method of ['message/send', 'message/stream']) {
      expect(await rpc(url, { method, params: say('x') })).toEqual({
        jsonrpc: '2.0',
        id: 7,
        error: { code: -32601, message: 'Method not found' },
      });
    }
    expect(await rpc(url, { method: 'tasks/get' })).toMatchObject({ error: { code: -32001 } });
    const card = (await (await fetch(`${url}.well-known/agent-card.json`)).json()) as Record<string, unknown>;
    expect(card).toMatchObject({
      capabilities: { streaming: false },
      serves: { methods: ['stream/watch', 'tasks/get', 'tasks/cancel', 'session/stop'] },
    });
  });
});

describe('tasks/get', () => {
  it('returns the task of params.id, with its result once completed [D1-CARD-18]', async () => {
    const { fixture, url } = await sleeping([says('There are 3.')]);
    void fixture.session.run();
    const sent = (await rpc(url, { method: 'message/send', params: say('Count.') })) as { result: { id: string } };
    await fixture.frame((frame) => frame.data['final'] === true && frame.event === 'status');
    const task = {
      ...sent.result,
      status: { state: 'completed', message: 'session ended' },
      artifacts: [{ name: 'response', parts: [{ text: 'There are 3.' }] }],
    };
    expect(await rpc(url, { method: 'tasks/get', params: { id: sent.result.id } })).toMatchObject({ result: task });
    expect(await rpc(url, { method: 'tasks/get' })).toMatchObject({ result: task });
  });

  it('answers an unknown task and a bad id differently', async () => {
    const { url } = await sleeping([]);
    const get = async (params: unknown): Promise<unknown> => await rpc(url, { method: 'tasks/get', params });
    const fault = (code: number, message: string): object => ({ error: { code, message } });
    expect(await get({ id: 'tsk_0' })).toMatchObject(fault(-32001, 'Task not found: tsk_0'));
    expect(await get({ id: 5 })).toMatchObject(fault(-32602, 'Invalid params: id must be a string'));
    expect(await get(['tsk_0'])).toMatchObject({ error: { code: -32602 } });
  });
});

describe('tasks/cancel', () => {
  it('stops the running task and returns it canceled [D1-CARD-19]', async () => {
    const { fixture, url } = await sleeping([hangs]);
    void fixture.session.run();
    const sent = (await rpc(url, { method: 'message/send', params: say('Wait.') })) as { result: { id: string } };
    await fixture.frame((frame) => frame.id === 0n);
    expect(await rpc(url, { method: 'tasks/cancel', params: { id: sent.result.id } })).toMatchObject({
      result: { id: sent.result.id, status: { state: 'canceled', message: 'task canceled' } },
    });
  });

  it('needs an id', async () => {
    const { url } = await sleeping([]);
    const error = { code: -32602, message: 'Invalid params: id is required' };
    expect(await rpc(url, { method: 'tasks/cancel' })).toMatchObject({ error });
  });
});

describe('session/stop', () => {
  it('cancels every live task and reports them sorted', async () => {
    const { fixture, url } = await sleeping([hangs], { acceptance: { queueDepth: 5 } });
    void fixture.session.run();
    const ids: string[] = [];
    for (const text of ['one', 'two', 'three']) {
      const sent = (await rpc(url, { method: 'message/send', params: say(text) })) as { result: { id: string } };
      ids.push(sent.result.id);
    }
    await fixture.frame((frame) => frame.id === 0n);
    expect(await rpc(url, { method: 'session/stop' })).toEqual({
      jsonrpc: '2.0',
      id: 7,
      result: { session_id: fixture.session.id, canceled: ids.toSorted(), residue: [] },
    });
    expect(fixture.driver.requests).toHaveLength(1);
  });
});

describe('the method name', () => {
  it.each([
    ['2.0', { messageId: 'm', role: 'user', parts: [{ text: 'a' }] }, undefined],
    ['1.0', { messageId: 'm', role: 'user', parts: [{ text: 'a' }] }, -32600],
    ['2.0', { messageId: 'm', parts: [{ text: 'a' }] }, -32602],
    ['2.0', { role: 'user', parts: [{ text: 'a' }] }, -32602],
    ['2.0', { messageId: 'm', role: 'user', parts: [{}] }, -32602],
  ])('counts only after the shape of its request: %s with %j [D1-SEND-02, D1-SEND-03]', async (jsonrpc, sent, code) => {
    const { url } = await sleeping([]);
    const body = JSON.stringify({ jsonrpc, id: 1, method: 'message/send', params: { message: sent } });
    const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    expect(((await answer.json()) as { error?: { code: number } }).error?.code).toBe(code);
  });

  it.each(['Message/Send', 'message/send ', ' message/send', 'tasks/resubscribe', '', 'constructor', '__proto__'])(
    'must match exactly: %j [D1-HTTP-06, D1-HTTP-07]',
    async (method) => {
      const { url } = await sleeping([]);
      expect(await rpc(url, { method, params: say('x') })).toEqual({
        jsonrpc: '2.0',
        id: 7,
        error: { code: -32601, message: 'Method not found' },
      });
    },
  );
});

describe('POST / without a JSON content type or a body', () => {
  it.each([
    ['no content type', ['Content-Length: 2'], '{}'],
    ['another content type', ['Content-Type: text/plain; charset=application/json', 'Content-Length: 2'], '{}'],
    ['no body', ['Content-Type: application/json'], ''],
    ['an empty body', ['Content-Type: application/json', 'Content-Length: 0'], ''],
    ['an empty chunked body', ['Content-Type: application/json', 'Transfer-Encoding: chunked'], '0\r\n\r\n'],
  ])('answers 404 with an empty body: %s [D1-HTTP-04, D1-HTTP-05, D1-ERR-13]', async (_name, headers, body) => {
    const { port } = await sleeping([]);
    const socket = await RawSocket.open(port);
    socket.send(['POST / HTTP/1.1', 'Host: localhost', 'Connection: close', ...headers, '', body].join('\r\n'));
    const response = await socket.untilClosed();
    expect(response).toMatch(/^HTTP\/1\.1 404 Not Found\r\n/);
    expect(bodyOf(response)).toBe('');
  });

  it('takes any parameters and any case of the media type', async () => {
    const { port } = await sleeping([]);
    const socket = await RawSocket.open(port);
    const body = '{"jsonrpc":"2.0","id":"a","method":"tasks/get"}';
    socket.send(
      `POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: Application/JSON ;charset=utf-8\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    expect(bodyOf(await socket.untilClosed())).toBe(
      '{"jsonrpc":"2.0","id":"a","error":{"code":-32001,"message":"Task not found: no task has run yet"}}',
    );
  });
});
