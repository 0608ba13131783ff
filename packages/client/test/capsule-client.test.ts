import { createHash } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { CapsuleClient } from '@svc/client/capsule-client.ts';
import type { Http } from '@svc/client/http-door.ts';
import { RegistryClient } from '@svc/client/registry-client.ts';
import type { WatchEvent } from '@svc/client/watch-capsule.ts';
import { JsonRpcFault } from '@svc/protocol/json-rpc.ts';
import { encodeFileFacts } from '@svc/protocol/resource-files.ts';
import {
  acknowledgement,
  closed,
  FakeCapsule,
  gap,
  snapshot,
  status,
  taskId,
  taskObject,
  text,
} from './fake-capsule.ts';

const quick = { reconnectMs: 1, callMs: 2000, idleMs: 2000, maxReconnects: 3 };

async function all(events: AsyncIterable<WatchEvent>): Promise<unknown[]> {
  const seen: unknown[] = [];
  for await (const event of events) seen.push(brief(event));
  return seen;
}

/** What distinguishes events in a test. */
function brief(event: WatchEvent): unknown {
  switch (event.kind) {
    case 'connected':
      return event.isAgain ? 'again' : 'connected';
    case 'frame':
      return 'text' in event.frame ? event.frame.text : event.frame.event === 'status' ? event.frame.state : 'artifact';
    case 'event':
      return 'taskId' in event.event ? `${event.event.event} ${event.event.taskId}` : event.event.event;
    case 'gap':
      return `gap ${event.firstAvailableId}`;
    case 'closed':
      return 'closed';
  }
}

describe('a watch', () => {
  it('gives every frame once, however often the connection breaks', async () => {
    const capsule = await FakeCapsule.open({
      watch: (watcher, index) => {
        watcher.write(acknowledgement);
        if (index > 0) watcher.write(status(1n, 'working') + text(7n, 'one'));
        if (index === 0) watcher.write(status(0n, 'working') + status(1n, 'working'));
        if (index === 0) watcher.write(`${text(7n, 'one')}id: 8\nevent: te`);
        // The same task, event and id again is no repeat: another attempt began.
        if (index === 1) watcher.write(text(8n, 'two') + text(3n, 'lower') + status(0n, 'working'));
        if (index === 2) watcher.write(text(8n, 'two') + text(3n, 'lower') + text(9n, 'three') + closed);
        if (index < 2) setTimeout(() => watcher.cut(), 50);
      },
    });
    const client = new CapsuleClient({ url: capsule.url, limits: quick });
    expect(await all(client.watch())).toEqual(
      [
        ['connected', 'working', 'working', 'one'],
        ['again', 'two', 'lower', 'working'],
        ['again', 'three', 'closed'],
      ].flat(),
    );
    expect(capsule.watchers.map(({ lastEventId }) => lastEventId)).toEqual(['0', '0', '0']);
  });

  it('says where frames may be lost: where the capsule says so first, later where nothing of before is held', async () => {
    const capsule = await FakeCapsule.open({
      watch: (watcher, index) => {
        if (index === 0) watcher.write(acknowledgement + gap(5n) + text(5n, 'five') + text(6n, 'six'));
        // It names a gap for its ids alone: what came before is still there.
        if (index === 1) watcher.write(acknowledgement + gap(6n) + text(6n, 'six') + text(7n, 'seven'));
        if (index === 2)
          watcher.write(acknowledgement + gap(90n) + text(90n, 'ninety') + text(6n, 'another six') + closed);
        if (index < 2) setTimeout(() => watcher.cut(), 50);
      },
    });
    const client = new CapsuleClient({ url: capsule.url, limits: quick });
    expect(await all(client.watch())).toEqual(
      [
        ['connected', 'gap 5', 'five', 'six'],
        ['again', 'seven'],
        ['again', 'gap 90', 'ninety', 'another six', 'closed'],
      ].flat(),
    );
  });

  it('gives the frames of another attempt, whose ids began again, behind a gap', async () => {
    const said = (attempt: string): string =>
      [2n, 3n, 4n].map((id) => status(id, 'working', { message: `${attempt} ${id}` })).join('');
    const capsule = await FakeCapsule.open({
      watch: (watcher, index) => {
        watcher.write(acknowledgement + gap(2n) + said(index === 0 ? 'first' : 'second'));
        if (index === 0) setTimeout(() => watcher.cut(), 50);
        else watcher.write(status(5n, 'working') + closed);
      },
    });
    const client = new CapsuleClient({ url: capsule.url, limits: quick });
    const working = ['working', 'working', 'working'];
    expect(await all(client.watch())).toEqual(
      [
        ['connected', 'gap 2', ...working],
        ['again', 'gap 2', ...working, 'working', 'closed'],
      ].flat(),
    );
  });

  it('drops the first status of a task too where a capsule replays all that it holds', async () => {
    const capsule = await FakeCapsule.open({
      watch: (watcher, index) => {
        watcher.write(acknowledgement + gap(8n) + text(8n, 'eight') + status(0n, 'working'));
        if (index === 0) setTimeout(() => watcher.cut(), 50);
        else watcher.write(text(9n, 'nine') + closed);
      },
    });
    const client = new CapsuleClient({ url: capsule.url, limits: quick });
    expect(await all(client.watch())).toEqual(['connected', 'gap 8', 'eight', 'working', 'again', 'nine', 'closed']);
  });

  it('goes on for as long as each connection brings something new', async () => {
    const capsule = await FakeCapsule.open({
      watch: (watcher, index) => {
        const held = Array.from({ length: index + 1 }, (_, at) => text(BigInt(at + 1), String(at)));
        watcher.write(acknowledgement + held.join('') + (index === 9 ? closed : ''));
        if (index < 9) setTimeout(() => watcher.cut(), 20);
      },
    });
    const client = new CapsuleClient({ url: capsule.url, limits: quick });
    const said = (await all(client.watch())).filter((each) => each !== 'again');
    expect(said).toEqual(['connected', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'closed']);
  });

  it('goes on for as long as connections stand, though nothing happens on them', async () => {
    const capsule = await FakeCapsule.open({
      watch: (watcher, index) => {
        watcher.write(acknowledgement);
        const beat = setInterval(() => watcher.write(':heartbeat\n\n'), 50);
        watcher.response.once('close', () => clearInterval(beat));
        if (index === 4) watcher.write(closed);
        else setTimeout(() => (index % 2 === 0 ? watcher.cut() : watcher.response.end()), 600);
      },
    });
    const limits = { ...quick, maxReconnects: 1, idleMs: 400 };
    const client = new CapsuleClient({ url: capsule.url, limits });
    expect(await all(client.watch())).toEqual(['connected', 'again', 'again', 'again', 'again', 'closed']);
  });

  it.each([502, 503, 504])('connects again where a gateway answers %i, and is lost when that goes on', async (code) => {
    const capsule = await FakeCapsule.open({ watch: (watcher) => watcher.write(acknowledgement + closed) });
    const watched = async (refusals: number): Promise<unknown[]> => {
      let left = refusals;
      const refusing: Http = async (url, request) => {
        if (request.method === 'GET' || left === 0) return await fetch(url, request);
        left -= 1;
        return new Response('', { status: code });
      };
      return await all(new CapsuleClient({ url: capsule.url, limits: quick, fetch: refusing }).watch());
    };
    expect(await watched(3)).toEqual(['connected', 'closed']);
    await expect(watched(4)).rejects.toMatchObject({ code: 'lost', cause: { code: 'refused', status: code } });
  });

  it('connects again when nothing comes for too long, and is lost when that goes on', async () => {
    const capsule = await FakeCapsule.open({ watch: (watcher) => watcher.write(acknowledgement) });
    const client = new CapsuleClient({ url: capsule.url, limits: { ...quick, idleMs: 300 } });
    await expect(all(client.watch())).rejects.toMatchObject({ name: 'ClientError', code: 'lost' });
    expect(capsule.watchers).toHaveLength(4);
  });

  it('takes heartbeats without end for a busy capsule, keeps none, and ends with its signal', async () => {
    let written = 0;
    const beats = ':heartbeat\n\n'.repeat(100_000);
    const leave = new AbortController();
    const capsule = await FakeCapsule.open({
      watch: ({ response }) => {
        response.write(acknowledgement);
        const beat = (error?: Error | null): void => {
          written += beats.length;
          if (written > 50_000_000) leave.abort(new Error('enough'));
          // Once the client has left, some versions of Node refuse each write at once, before they say that it has.
          if (error == null && !response.destroyed) response.write(beats, beat);
        };
        beat();
      },
    });
    const client = new CapsuleClient({ url: capsule.url, limits: quick });
    await expect(all(client.watch({ signal: leave.signal }))).rejects.toThrow('enough');
    expect(capsule.watchers).toHaveLength(1);
  });

  it('gives frames without ids, because nothing distinguishes them', async () => {
    const bare = 'event: text\ndata: {"id":"tsk_1","text":"bare"}\n\n';
    const odd = 'id: many\nevent: text\ndata: {"id":"tsk_1","text":"odd"}\n\nevent: later\ndata: {}\n\n';
    const capsule = await FakeCapsule.open({
      watch: (watcher) => watcher.write(acknowledgement + bare + bare + odd + closed),
    });
    const client = new CapsuleClient({ url: capsule.url, limits: quick });
    expect(await all(client.watch())).toEqual(['connected', 'bare', 'bare', 'odd', 'closed']);
  });

  it.each([
    ['a frame without end', 'too-large', (): string => `${acknowledgement}data: ${'x'.repeat(2_000_000)}`],
    ['another beginning', 'bad-answer', (): string => text(1n, 'a')],
  ])('ends for %s: %s', async (_name, code, written) => {
    const capsule = await FakeCapsule.open({ watch: (watcher) => watcher.write(written()) });
    const client = new CapsuleClient({ url: capsule.url, limits: { ...quick, maxFrame: 1_000_000 } });
    await expect(all(client.watch())).rejects.toMatchObject({ code });
    expect(capsule.watchers).toHaveLength(1);
  });

  it.each([
    [200, 'text/html', '<html>', 'no-stream'],
    [200, 'application/json', '{"error":"odd"}', 'bad-answer'],
    [200, 'application/json', '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}', 'fault'],
    [401, 'application/json', '{"error":"unauthorized","message":"A token is missing."}', 'refused'],
  ])('ends where %i %s comes in its place', async (code, type, body, error) => {
    const capsule = await FakeCapsule.open({});
    const fetch = async (url: string, request: RequestInit): Promise<Response> =>
      url.endsWith('.json')
        ? await globalThis.fetch(url, request)
        : new Response(body, { status: code, headers: { 'content-type': type } });
    const client = new CapsuleClient({ url: capsule.url, limits: quick, fetch });
    await expect(all(client.watch())).rejects.toMatchObject({ code: error });
  });
});

describe('a run of a task', () => {
  it('follows its task alone, over a connection that breaks, to what the capsule says it came to', async () => {
    const other = 'tsk_2' as typeof taskId;
    const capsule = await FakeCapsule.open({
      watch: (watcher, index) => {
        watcher.write(acknowledgement + gap(40n) + status(40n, 'completed', { task: other }));
        if (index === 1) watcher.write(status(1n, 'working') + text(2n, 'reply') + status(3n, 'completed'));
      },
      call: (method) => {
        const isOver = capsule.watchers.length === 2;
        if (method === 'tasks/get') return taskObject(isOver ? { state: 'completed', response: 'reply' } : {});
        capsule.watchers[0]?.write(status(1n, 'working'));
        setTimeout(() => capsule.watchers[0]?.cut(), 50);
        return taskObject({ state: 'submitted' });
      },
    });
    const run = new CapsuleClient({ url: capsule.url, limits: quick }).run('do it');
    const events: unknown[] = [];
    let next = await run.next();
    for (; next.done !== true; next = await run.next()) events.push(brief(next.value));
    expect(events).toEqual(['working']);
    expect(next.value).toMatchObject({ id: taskId, state: 'completed', response: 'reply' });
  });

  /** What a run comes to whose final frame is all that its capsule says; `now` answers `tasks/get`, null closes the door. */
  async function runTold(now: (asked: number) => string | null): Promise<{ states: unknown[]; end: unknown }> {
    let asked = 0;
    const capsule = await FakeCapsule.open({
      watch: (watcher) => watcher.write(acknowledgement),
      call: (method) => {
        if (method === 'tasks/get') {
          asked += 1;
          const state = now(asked);
          return state === null ? capsule.close() : taskObject({ state });
        }
        capsule.watchers[0]?.write(status(0n, 'working') + status(1n, 'completed', { message: 'done' }));
        return taskObject({ state: 'submitted' });
      },
    });
    const states: unknown[] = [];
    const run = new CapsuleClient({ url: capsule.url, limits: quick }).run('do it');
    let next = await run.next();
    for (; next.done !== true; next = await run.next()) states.push(brief(next.value));
    return { states, end: next.value };
  }

  it('ends when the capsule says so after the final frame, which no other need follow', async () => {
    const { states, end } = await runTold((asked) => (asked < 3 ? 'working' : 'completed'));
    expect(states).toEqual(['working', 'completed']);
    expect(end).toMatchObject({ id: taskId, state: 'completed', message: null });
  });

  it.each([1, 2])('ends as the final frame said when the capsule is gone at question %i', async (last) => {
    const { states, end } = await runTold((asked) => (asked < last ? 'working' : null));
    expect(states).toEqual(['working', 'completed']);
    expect(end).toEqual({
      id: taskId,
      contextId: 'ctx_1',
      state: 'completed',
      message: 'done',
      prompt: null,
      response: null,
    });
  });

  it('goes on when the task does after its final frame', async () => {
    const states: unknown[] = [];
    const capsule = await FakeCapsule.open({
      watch: (watcher) => watcher.write(acknowledgement),
      call: (method) => {
        const [watcher] = capsule.watchers;
        if (method === 'tasks/get') return taskObject({ state: states.includes('failed') ? 'failed' : 'working' });
        watcher?.write(status(0n, 'working') + status(1n, 'completed'));
        setTimeout(() => {
          watcher?.write(status(0n, 'working') + text(1n, 'more') + status(2n, 'failed'));
        }, 50);
        return taskObject({ state: 'submitted' });
      },
    });
    const run = new CapsuleClient({ url: capsule.url, limits: quick }).run('do it');
    let next = await run.next();
    for (; next.done !== true; next = await run.next()) states.push(brief(next.value));
    expect(states).toEqual(['working', 'completed', 'working', 'more', 'failed']);
    expect(next.value.state).toBe('failed');
  });

  it('asks for input once, and sends the answer', async () => {
    let state = 'working';
    const capsule = await FakeCapsule.open({
      watch: (watcher) => watcher.write(acknowledgement),
      call: (method, params) => {
        const [watcher] = capsule.watchers;
        if (method === 'tasks/get') return taskObject({ state, prompt: state === 'input-required' ? 'Which?' : null });
        const said = JSON.stringify(params);
        if (said.includes('this one')) {
          watcher?.write(status(2n, 'working', { message: 'resumed' }) + status(3n, 'completed'));
          state = 'completed';
        } else {
          state = 'input-required';
          watcher?.write(status(0n, 'working') + status(1n, 'input-required'));
        }
        return taskObject({ state: 'working' });
      },
    });
    const asked: string[] = [];
    const client = new CapsuleClient({ url: capsule.url, limits: quick });
    const run = client.run('do it', {
      onInput: ({ prompt }) => {
        asked.push(prompt);
        return 'this one';
      },
    });
    let next = await run.next();
    while (next.done !== true) next = await run.next();
    expect(asked).toEqual(['Which?']);
    expect(next.value.state).toBe('completed');
    expect(capsule.calls.filter(({ method }) => method === 'message/send')).toHaveLength(2);
  });

  it.each([
    ['while it runs', 'working'],
    ['after its final frame', 'completed'],
  ] as const)('asks again where a connection breaks %s', async (_when, told) => {
    let isCut = false;
    const capsule = await FakeCapsule.open({
      watch: (watcher) => watcher.write(acknowledgement),
      call: (method) => {
        if (method === 'tasks/get') return taskObject({ state: 'completed', response: 'all of it' });
        const [watcher] = capsule.watchers;
        watcher?.write(status(0n, 'working') + status(1n, told));
        if (told === 'working') setTimeout(() => watcher?.cut(), 50);
        return taskObject({ state: 'submitted' });
      },
    });
    const run = new CapsuleClient({
      url: capsule.url,
      limits: quick,
      // The first question about the task comes to nothing.
      fetch: async (url, request) => {
        if (isCut || !String(request.body).includes('tasks/get')) return await fetch(url, request);
        isCut = true;
        throw new TypeError('fetch failed');
      },
    }).run('do it');
    let next = await run.next();
    while (next.done !== true) next = await run.next();
    expect(isCut).toBe(true);
    expect(next.value).toMatchObject({ state: 'completed', response: 'all of it' });
  });

  it('answers the question that it was asked, and no other that has come meanwhile', async () => {
    const sent: unknown[] = [];
    let state = 'working';
    const capsule = await FakeCapsule.open({
      hasEvents: true,
      watch: (watcher) => {
        watcher.write(acknowledgement);
        if (watcher.eventsHeader === '1') watcher.write(snapshot({ waitId: 'q1', prompt: 'Which?' }));
      },
      call: (method, params) => {
        const [watcher] = capsule.watchers;
        if (method === 'tasks/get') return taskObject({ state, prompt: state === 'input-required' ? 'Which?' : null });
        sent.push([method, params['id'], params['wait'], params['text']]);
        if (method === 'tasks/answer') {
          state = 'completed';
          watcher?.write(status(2n, 'working', { message: 'resumed' }) + status(3n, 'completed'));
          // Another client was faster.
          throw new JsonRpcFault('question-not-open');
        }
        state = 'input-required';
        watcher?.write(status(0n, 'working') + status(1n, 'input-required'));
        return taskObject({ state: 'working' });
      },
    });
    const run = new CapsuleClient({ url: capsule.url, limits: quick }).run('do it', { onInput: () => 'green' });
    let next = await run.next();
    while (next.done !== true) next = await run.next();
    expect(next.value.state).toBe('completed');
    expect(sent).toEqual([
      ['message/send', undefined, undefined, undefined],
      ['tasks/answer', taskId, 'q1', 'green'],
    ]);
  });

  it('fails of what an answer fails of, and ends with its signal', async () => {
    const capsule = await FakeCapsule.open({
      watch: (watcher) => watcher.write(acknowledgement),
      call: (method) => {
        if (method === 'message/send') capsule.watchers.at(-1)?.write(status(1n, 'input-required'));
        return taskObject({ state: 'input-required', prompt: 'Which?' });
      },
    });
    const client = new CapsuleClient({ url: capsule.url, limits: quick });
    const broken = client.run('a', { onInput: () => Promise.reject(new Error('no answer')) });
    await expect(drained(broken)).rejects.toThrow('no answer');
    const leave = new AbortController();
    const waiting = client.run('a', {
      signal: leave.signal,
      onInput: () => {
        leave.abort(new Error('left'));
        return null;
      },
    });
    await expect(drained(waiting)).rejects.toThrow('left');
  });
});

async function drained(events: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of events);
}

/** The listing of so many files. */
function listingOf(files: number): string {
  const file = (index: number): unknown => ({ path: `file-${index}`, size_bytes: 1, mtime_ms: 1, sha256: 'a' });
  const entries = Array.from({ length: files }, (_, index) => file(index));
  return JSON.stringify({ root: '/', max_bytes: 1, generation: 0, entries });
}

describe('a call', () => {
  it('goes with the token, and gives what is answered', async () => {
    const capsule = await FakeCapsule.open({ call: () => taskObject({ state: 'canceled' }) });
    const client = new CapsuleClient({ url: capsule.url, token: 'secret', limits: quick });
    expect(await client.cancel(taskId)).toMatchObject({ id: taskId, state: 'canceled' });
    expect(capsule.calls).toMatchObject([
      { method: 'tasks/cancel', params: { id: taskId }, headers: { authorization: 'Bearer secret' } },
    ]);
  });

  it('goes nowhere with a token that no header holds, which no error repeats', async () => {
    const capsule = await FakeCapsule.open();
    const client = new CapsuleClient({ url: capsule.url, token: 'secret\n', limits: quick });
    const message = `the token for http://${capsule.url} holds what no header can, such as a line break`;
    await expect(client.card()).rejects.toMatchObject({ code: 'bad-token', message });
    expect(capsule.calls).toEqual([]);
  });

  it('has the usual limits where one is undefined, and none that is not a number', async () => {
    const capsule = await FakeCapsule.open();
    const client = new CapsuleClient({ url: capsule.url, limits: { callMs: undefined } });
    expect(await client.card()).toMatchObject({ name: 'fake' });
    expect(() => new CapsuleClient({ url: capsule.url, limits: { idleMs: Number.NaN } })).toThrow(/limits.idleMs/);
  });

  it('fails as the capsule refuses it', async () => {
    const capsule = await FakeCapsule.open({
      call: () => {
        throw new JsonRpcFault('task-not-found');
      },
    });
    const client = new CapsuleClient({ url: capsule.url, limits: quick });
    await expect(client.task('tsk_9')).rejects.toMatchObject({ code: 'fault', fault: -32001 });
  });

  it.each([
    ['does not list it', { serves: { methods: ['tasks/get'], planes: [] } }, {}, 'not-served'],
    ['is that of another version', {}, { version: '2.0.0' }, 'another-capsule'],
    ['is that of another session', {}, { sessionId: 'ses_2' }, 'another-capsule'],
    ['is none', { name: '' }, {}, 'bad-answer'],
  ])('goes nowhere when the card %s', async (_name, shown, expect_, code) => {
    const capsule = await FakeCapsule.open({ card: (usual) => ({ ...usual, ...shown }) });
    const client = new CapsuleClient({ url: capsule.url, limits: quick, expect: expect_ });
    await expect(client.send('a')).rejects.toMatchObject({ code });
    await expect(client.files()).rejects.toMatchObject({ code });
    expect(capsule.calls).toEqual([]);
  });

  it('goes to a runtime that does not say what it serves', async () => {
    const capsule = await FakeCapsule.open({
      card: (usual) => ({ ...usual, serves: undefined }),
      call: () => ({ session_id: 'ses_1', canceled: [taskId], residue: [] }),
    });
    const client = new CapsuleClient({ url: `http://${capsule.url}/`, limits: quick });
    expect(await client.stop()).toEqual({ sessionId: 'ses_1', canceled: [taskId], residue: [] });
  });

  it.each([
    ['is no JSON', 'unparsable', 'not-json'],
    ['is too large', `"${'x'.repeat(3000)}"`, 'too-large'],
  ])('fails when the answer %s', async (_name, body, code) => {
    const capsule = await FakeCapsule.open({ other: (_request, response) => response.end(body) });
    const client = new CapsuleClient({ url: capsule.url, limits: { ...quick, maxAnswerBytes: 2000 } });
    await expect(client.files()).rejects.toMatchObject({ code });
  });

  it('takes a long listing, but no answer of empty objects without end', async () => {
    const bodies = [listingOf(100_000), `[${'{},'.repeat(2 ** 19)}{}]`];
    const capsule = await FakeCapsule.open({ other: (_request, response) => response.end(bodies.shift()) });
    const client = new CapsuleClient({ url: capsule.url, limits: quick });
    expect((await client.files()).files).toHaveLength(100_000);
    const message = 'the answer holds more than 1048576 values';
    await expect(client.files()).rejects.toMatchObject({ code: 'too-large', message });
  });

  it('takes as many files as a raised limit has room for', async () => {
    const listing = listingOf(220_000);
    const capsule = await FakeCapsule.open({ other: (_request, response) => response.end(listing) });
    const limits = { ...quick, callMs: 20_000, maxAnswerBytes: 20_000_000 };
    const client = new CapsuleClient({ url: capsule.url, limits });
    expect((await client.files()).files).toHaveLength(220_000);
  });

  it.each([200, 403])('waits no longer than for a whole answer for one of %i that comes drop by drop', async (code) => {
    const capsule = await FakeCapsule.open({
      other: (_request, response) => {
        response.writeHead(code);
        const drip = setInterval(() => response.write(' '), 20);
        response.once('close', () => clearInterval(drip));
      },
    });
    const limits = { ...quick, callMs: 300 };
    const index = new RegistryClient({ url: capsule.url, limits }).index();
    await expect(index).rejects.toMatchObject({ code: 'timeout' });
    const file = new CapsuleClient({ url: capsule.url, limits: quick }).file('a');
    await expect(file).rejects.toMatchObject(
      code === 200 ? { code: 'bad-answer' } : { code: 'refused', refusal: null },
    );
  });

  it('fails where nothing listens, and where no answer comes', async () => {
    const gone = new CapsuleClient({ url: '127.0.0.1:1', limits: quick });
    await expect(gone.card()).rejects.toMatchObject({ code: 'unreachable' });
    const capsule = await FakeCapsule.open({ other: () => {} });
    const client = new CapsuleClient({ url: capsule.url, limits: { ...quick, callMs: 50 } });
    await expect(client.files()).rejects.toMatchObject({ code: 'timeout' });
    const late = AbortSignal.timeout(20);
    const patient = new CapsuleClient({ url: capsule.url, limits: quick });
    await expect(patient.files({ signal: late })).rejects.toMatchObject({ name: 'TimeoutError' });
  });
});

describe('a file', () => {
  const bytes = Buffer.from('content');
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const facts = { sha256, mtimeMs: 5, generation: 2, containment: 'sealed' } as const;

  it('comes whole, with what its headers say', async () => {
    const asked: unknown[] = [];
    const capsule = await FakeCapsule.open({
      other: (request, response) => {
        asked.push([request.url, request.headers['x-svc-audience']]);
        response.writeHead(200, encodeFileFacts(facts)).end(bytes);
      },
    });
    const client = new CapsuleClient({ url: capsule.url, limits: quick });
    const file = await client.file('a b/c.txt');
    expect(Buffer.from(file.bytes).toString()).toBe('content');
    expect(file).toMatchObject({ sha256, generation: 2, mtimeMs: 5, containment: 'sealed' });
    await client.sharedFile('mh1.a.b', 'me@localhost:1');
    expect(asked).toEqual([
      ['/resources/files/a%20b/c.txt', undefined],
      ['/resources/peer/mh1.a.b', 'me@localhost:1'],
    ]);
  });

  it.each([
    ['is refused', 403, { error: 'outside_root', message: 'No.' }, 'refused', 'outside_root'],
    ['has other bytes than announced', 200, 'other', 'bad-answer', null],
  ])('does not come when it %s', async (_name, answered, body, code, refusal) => {
    const capsule = await FakeCapsule.open({
      other: (_request, response) =>
        response
          .writeHead(answered, encodeFileFacts(facts))
          .end(typeof body === 'string' ? body : JSON.stringify(body)),
    });
    const client = new CapsuleClient({ url: capsule.url, limits: quick });
    await expect(client.file('a')).rejects.toMatchObject({ code, refusal });
  });
});
