import * as sdk from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';

import { doorNames } from '@svc/artifacts/manifest/door-names.ts';
import { answerBudget } from '@svc/kit/http/byte-budget.ts';
import { servableMethods } from '@svc/protocol/agent-card.ts';
import { methodsBeyond } from '@svc/protocol/asked-events.ts';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { says } from '../../../test/support/fake-driver.ts';
import { capsuleRoutes } from '../src/capsule-listener.ts';
import { a2aMethods } from '../src/a2a/calls.ts';
import { createClientServer } from '../src/mcp/capsule-server.ts';
import { servedCapsule } from '../src/mcp/mcp-door.ts';
import { a2aScopes, mcpScopes, methodScopes, scopes, type Scope } from '../src/callers/scopes.ts';
import { type A2aCapsule, type A2aOptions, type Json, useA2aCapsules, userMessage } from './a2a-capsule.ts';
import { TokenHome } from './token-home.ts';

const open = useA2aCapsules();

const message = { messageId: 'm', role: 'user', parts: [{ text: 'x' }] };

/** What a call is made with: `id` is a task of another client. */
type Params = (id: string) => Json | null;
/** One scope of each list is enough. An empty list of lists is a call that every token may make. */
type Needs = readonly (readonly Scope[])[];
type Call = readonly [name: string, path: string, params: Params, needs: Needs];

const read: Needs = [['read']];
const send: Needs = [['send']];
const answer: Needs = [['answer']];
const stop: Needs = [['stop']];
const cancel: Needs = [['send', 'stop']];
const anybody: Needs = [];
const both: Needs = [['send'], ['answer']];
const config: Params = (taskId) => ({ taskId, id: 'c', url: 'https://hooks.example.com/' });
const nothing: Params = () => null;
const empty: Params = () => ({});

/** Every method, route and way to name another client's task; the name is a method of HTTP where there is no JSON-RPC. */
const calls: readonly Call[] = [
  ['message/send', '/', () => ({ message }), send],
  ['message/stream', '/', () => ({ message }), send],
  ['stream/watch', '/', empty, read],
  ['tasks/get', '/', (id) => ({ id }), read],
  ['tasks/cancel', '/', (id) => ({ id }), cancel],
  ['tasks/answer', '/', (id) => ({ id, wait: 'q1', text: 'x' }), answer],
  ['tasks/command', '/', () => ({ command: 'ls', told: false }), send],
  ['approvals/list', '/', empty, [['read', 'answer']]],
  ['approvals/answer', '/', () => ({ id: 'apr_1', digest: 'sha256:0', decision: 'allow' }), answer],
  ['session/stop', '/', empty, stop],
  ['no/such', '/', empty, anybody],
  ['constructor', '/', empty, anybody],
  ['GET', '/resources/files', nothing, read],
  ['HEAD', '/resources/files/a.txt', nothing, read],
  ['GET', '/resources/peer/handle', nothing, read],
  ['GET', '/.well-known/agent-card.json', nothing, anybody],
  ['SendMessage', '/a2a', () => userMessage('x', {}), send],
  ['SendMessage', '/a2a', (taskId) => userMessage('x', { taskId }), both],
  ['SendMessage', '/a2a/', () => userMessage('x', {}), send],
  ['SendStreamingMessage', '/a2a', () => userMessage('x', {}), send],
  ['GetTask', '/a2a', (id) => ({ id }), read],
  ['ListTasks', '/a2a', () => ({ includeArtifacts: true }), read],
  ['SubscribeToTask', '/a2a', (id) => ({ id }), read],
  ['CancelTask', '/a2a', (id) => ({ id }), cancel],
  ['GetExtendedAgentCard', '/a2a', empty, read],
  ['CreateTaskPushNotificationConfig', '/a2a', config, read],
  ['GetTaskPushNotificationConfig', '/a2a', config, read],
  ['ListTaskPushNotificationConfigs', '/a2a', config, read],
  ['DeleteTaskPushNotificationConfig', '/a2a', config, read],
  ['NoSuch', '/a2a', empty, anybody],
  ['POST', '/a2a/message:send', empty, send],
  ['POST', '/a2a/message:stream', empty, send],
  ['GET', '/a2a/tasks', nothing, read],
  ['GET', '/a2a/tasks/ID', nothing, read],
  ['POST', '/a2a/tasks/ID:cancel', empty, cancel],
  ['GET', '/a2a/tasks/ID:subscribe', nothing, read],
  ['POST', '/a2a/tasks/ID:subscribe', empty, read],
  ['POST', '/a2a/tasks/ID/pushNotificationConfigs', config, read],
  ['GET', '/a2a/tasks/ID/pushNotificationConfigs', nothing, read],
  ['GET', '/a2a/tasks/ID/pushNotificationConfigs/c', nothing, read],
  ['DELETE', '/a2a/tasks/ID/pushNotificationConfigs/c', nothing, read],
  ['GET', '/a2a/extendedAgentCard', nothing, read],
  ['GET', '/a2a/nothing', nothing, anybody],
  ['tools/list', '/mcp', empty, anybody],
  ['tools/call', '/mcp', () => ({ name: 'demo', arguments: { task: 'x' } }), send],
  ['tools/call', '/mcp', (id) => ({ name: 'demo', arguments: { task: 'x', task_id: id } }), both],
  ['tools/call', '/mcp', () => ({ name: 'demo', arguments: { task: 'x' }, inputResponses: {} }), both],
  ['tools/call', '/mcp', () => ({ name: 'demo', arguments: { task: 'x' }, requestState: 'x' }), both],
  ['resources/list', '/mcp', empty, read],
  ['resources/templates/list', '/mcp', empty, anybody],
  ['resources/read', '/mcp', () => ({ uri: 'svc-file:///a' }), read],
  ['tasks/get', '/mcp', (taskId) => ({ taskId }), read],
  ['tasks/update', '/mcp', (taskId) => ({ taskId, inputResponses: {} }), answer],
  ['tasks/cancel', '/mcp', (taskId) => ({ taskId }), cancel],
  ['initialize', '/mcp', empty, anybody],
  ['server/discover', '/mcp', empty, anybody],
  ['ping', '/mcp', empty, anybody],
  ['notifications/initialized', '/mcp', empty, anybody],
  ['notifications/cancelled', '/mcp', empty, anybody],
  ['notifications/progress', '/mcp', empty, anybody],
  ['no/such', '/mcp', empty, anybody],
  ['GET', '/mcp', nothing, anybody],
  ['DELETE', '/mcp', nothing, anybody],
  ['GET', '/v1/models', nothing, anybody],
  ['GET', '/v1/models/demo', nothing, anybody],
  ['POST', '/v1/chat/completions', () => ({ messages: [{ role: 'user', content: 'x' }] }), send],
  ['POST', '/v1/responses', () => ({ input: 'x' }), send],
  ['POST', '/v1/responses', (id) => ({ input: 'x', previous_response_id: `resp_${id.slice(4)}` }), send],
  ['GET', '/v1/responses/resp_ID', nothing, read],
  ['GET', '/v1/responses/resp_ID/nothing', nothing, anybody],
  ['POST', '/v1/responses/resp_ID/cancel', empty, cancel],
];

/** No token is enough for it. */
const ofPerson = 'tasks/command';

const methodsOfHttp: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'DELETE']);

const _meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
};

interface Answered {
  readonly status: number;
  /** Empty for a stream that has no end. */
  readonly text: string;
}

/** What comes of a call; `token` null shows none. */
async function ask(capsule: A2aCapsule, token: string | null, call: Call, id: string): Promise<Answered> {
  const [name, at, paramsOf] = call;
  const path = at.replace('resp_ID', `resp_${id.slice(4)}`).replace('ID', id);
  const isHttp = methodsOfHttp.has(name);
  const params = paramsOf(id);
  const isMcp = path === '/mcp';
  const headers: Record<string, string> = {
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    'content-type': 'application/json',
    'svc-events': '1',
    'last-event-id': '0',
    'a2a-version': '1.0',
    ...(isMcp ? { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28' } : {}),
    ...(isMcp && !isHttp ? { 'mcp-method': name } : {}),
    ...(isMcp && params !== null
      ? { 'mcp-name': String(params['taskId'] ?? params['name'] ?? params['uri'] ?? '') }
      : {}),
  };
  const ofRpc = { jsonrpc: '2.0', id: 1, method: name, params: isMcp ? { ...params, _meta } : params };
  const body = isHttp ? params : ofRpc;
  const response = await fetch(`${capsule.url}${path}`, {
    method: isHttp ? name : 'POST',
    headers,
    ...(body === null ? {} : { body: JSON.stringify(body) }),
  });
  const { status } = response;
  if (name !== 'stream/watch' || status !== 200) return { status, text: await response.text() };
  await response.body?.cancel();
  return { status, text: '' };
}

const scopeMissing = { error: 'scope_missing', message: expect.any(String) };
const refusals: readonly (readonly [below: string, answer: unknown])[] = [
  ['/a2a/', { error: { code: 403, status: 'PERMISSION_DENIED', message: expect.any(String) } }],
  ['/v1/', { error: { type: expect.any(String), code: 'scope_missing' } }],
];

function lacks(needs: Needs, held: readonly Scope[]): boolean {
  return needs.some((oneOf) => !oneOf.some((scope) => held.includes(scope)));
}

const secret = 'what was said to another client';

/** A capsule that has done a task of another client, which it still knows. */
async function asked(home: TokenHome, options: A2aOptions = {}): Promise<{ capsule: A2aCapsule; id: string }> {
  const ann = await home.add('ann', { scopes });
  const turns = [says(secret), ...Array.from({ length: 24 }, () => says('ok'))];
  const capsule = (await open({ turns, serve: doorNames, callers: home.callers(), ...options })).run();
  const sent = await capsule.answer('SendMessage', userMessage(secret), { authorization: `Bearer ${ann}` });
  return { capsule, id: sent['result'].task.id as string };
}

describe('the table of calls', () => {
  const named = (at: string): Set<string> =>
    new Set(calls.flatMap(([name, path]) => (path === at && !methodsOfHttp.has(name) ? [name] : [])));

  it('has every method of every protocol, and asks for a scope where the code does', async () => {
    expect(named('/')).toEqual(new Set([...servableMethods, ...methodsBeyond, 'no/such', 'constructor']));
    expect(named('/a2a')).toEqual(new Set([...a2aMethods, 'NoSuch']));
    const about = { name: 'demo', version: '1.0.0', description: null };
    const core = (): never => {
      throw new Error('nothing is called');
    };
    const capsule = servedCapsule(sdk, { about, binding: 'HTTP', spans: () => null, core }, new FakeClock());
    const { server } = createClientServer(capsule, core);
    // The library shows nobody what it handles; it answers `server/discover` without a server.
    const { _requestHandlers: requests, _notificationHandlers: notifications } = server as unknown as Handlers;
    expect(named('/mcp')).toEqual(new Set([...requests.keys(), ...notifications.keys(), 'server/discover', 'no/such']));
    const asking = (at: string): Set<string> =>
      new Set(calls.flatMap(([name, path, , needs]) => (path === at && needs.length > 0 ? [name] : [])));
    expect(asking('/')).toEqual(new Set(methodScopes.keys()));
    expect(asking('/a2a')).toEqual(new Set(a2aScopes.keys()));
    expect(asking('/mcp')).toEqual(new Set(mcpScopes.keys()));
  });

  it('has every route', () => {
    const routes = capsuleRoutes(new Promise(() => {}), { serve: doorNames, answers: answerBudget() });
    const isOf = (route: (typeof routes)[number], [name, path]: Call): boolean => {
      const method = methodsOfHttp.has(name) ? name : 'POST';
      if (route.method !== '*' && route.method !== method) return false;
      return route.prefix === true ? path.startsWith(route.path) : path === route.path;
    };
    expect(routes.filter((route) => !calls.some((call) => isOf(route, call)))).toEqual([]);
  });
});

interface Handlers {
  readonly _requestHandlers: ReadonlyMap<string, unknown>;
  readonly _notificationHandlers: ReadonlyMap<string, unknown>;
}

describe('a token', () => {
  const held: readonly (readonly Scope[])[] = [['read'], ['send'], ['answer'], ['stop'], ['send', 'answer', 'stop']];

  it.each(held.map((each) => [each]))(
    'with %j reaches what the table says, gets 403 for the rest, and nothing of a task of another',
    async (own) => {
      const home = new TokenHome();
      const { capsule, id } = await asked(home);
      const token = await home.add('one', { scopes: own });
      for (const call of calls) {
        const [name, path, , needs] = call;
        const { status, text } = await ask(capsule, token, call, id);
        const isForbidden = status === 403;
        const seesOthers = path === '/' && own.includes('read');
        const tells = !seesOthers && text.includes(secret);
        expect({ name, path, isForbidden, tells }).toEqual({
          name,
          path,
          isForbidden: lacks(needs, own) || name === ofPerson,
          tells: false,
        });
        if (!isForbidden || name === 'HEAD') continue;
        const [, refusal = scopeMissing] = refusals.find(([below]) => path.startsWith(below) && path !== '/a2a/') ?? [];
        if (lacks(needs, own)) expect(JSON.parse(text)).toMatchObject(refusal as object);
        else expect(JSON.parse(text)).toMatchObject({ error: 'person_missing' });
      }
    },
  );

  it('gets 401 everywhere except for the card when it is missing or invalid', async () => {
    const home = new TokenHome();
    const { capsule, id } = await asked(home);
    for (const token of [null, 'svc_door_wrong']) {
      for (const call of calls) {
        const [name, path] = call;
        const { status } = await ask(capsule, token, call, id);
        expect({ name, path, status }).toEqual({ name, path, status: path.startsWith('/.well-known') ? 200 : 401 });
      }
    }
  });

  it('gets a status that says which', async () => {
    const home = new TokenHome();
    const token = await home.add('one', { scopes: ['read'] });
    const capsule = await open({ callers: home.callers() });
    const response = await capsule.post(
      '{"jsonrpc":"2.0","id":1,"method":"session/stop"}',
      { authorization: `Bearer ${token}` },
      '/',
    );
    expect([response.status, await response.text()]).toEqual([
      403,
      '{"error":"scope_missing","message":"This token lacks the scope stop."}',
    ]);
  });

  it('answers no question with a message that names a task, whether there is one or not', async () => {
    const home = new TokenHome();
    const [sends, answers] = [
      await home.add('sends', { scopes: ['send'] }),
      await home.add('answers', { scopes: ['send', 'answer'] }),
    ];
    const capsule = await open({ callers: home.callers() });
    const none = 'tsk_00000000000000000000000000000000';
    const params = userMessage('x', { taskId: none });
    const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params });
    expect((await capsule.post(call, { authorization: `Bearer ${sends}` })).status).toBe(403);
    const found = await capsule.post(call, { authorization: `Bearer ${answers}` });
    expect([found.status, await found.json()]).toMatchObject([200, { error: { code: -32001 } }]);
  });
});

describe('the listener token, and a client that has to show none', () => {
  it.each([
    ['operator-token', 'operator-token'],
    [null, null],
  ])('keep all that they had, and approve nothing: %s', async (listenerToken, shown) => {
    const home = new TokenHome();
    const { capsule, id } = await asked(home, { callers: home.callers({ listenerToken }) });
    for (const call of calls) {
      // Children get the listener token too, and tools reach a listener that asks for none.
      const isRefused = call[0] === 'approvals/answer' || call[0] === ofPerson;
      expect([call[0], (await ask(capsule, shown, call, id)).status === 403]).toEqual([call[0], isRefused]);
    }
  });
});
