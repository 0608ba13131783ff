import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

import { describe, expect, it, onTestFinished } from 'vitest';

import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { Redactor } from '@svc/kit/diagnostics/redactor.ts';
import { Secret } from '@svc/kit/diagnostics/secret.ts';
import { mintContextId, mintTaskId } from '@svc/protocol/ids.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import { Task } from '@svc/session/task/task.ts';
import { FakeClock } from '../../../../../test/support/fake-clock.ts';
import { OperatorNotifications } from './operator-notifications.ts';
import { ntfyTarget, webhookTarget } from './operator-targets.ts';

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly raw: string;
  readonly body: { readonly type: string; readonly data: Record<string, unknown> };
}

async function listening(answer: RequestListener): Promise<number> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

function bodyOf(raw: string): Received['body'] {
  return raw.startsWith('{') ? (JSON.parse(raw) as Received['body']) : { type: 'text', data: {} };
}

/** A target that notes what it gets, and answers it so. */
class Receiver {
  readonly received: Received[] = [];
  port = 0;
  #watchers: (() => void)[] = [];

  static async open(status = 204, headers: Readonly<Record<string, string>> = {}): Promise<Receiver> {
    const receiver = new Receiver();
    receiver.port = await listening((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const raw = Buffer.concat(chunks).toString();
        receiver.received.push({ headers: request.headers, raw, body: bodyOf(raw) });
        response.writeHead(status, headers).end();
        for (const watcher of receiver.#watchers.splice(0)) watcher();
      });
    });
    return receiver;
  }

  async until(count: number): Promise<readonly Received[]> {
    while (this.received.length < count) await new Promise<void>((resolve) => this.#watchers.push(resolve));
    return this.received;
  }
}

interface Notified {
  readonly notifications: OperatorNotifications;
  readonly clock: FakeClock;
  readonly warnings: Diagnostic[];
  readonly task: Task;
  readonly ask: (prompt: string) => void;
  readonly note: (event: TraceEvent) => void;
}

function notifying(
  port: number,
  secret: string | null = null,
  { known = [], targetOf = webhookTarget }: { known?: readonly string[]; targetOf?: typeof webhookTarget } = {},
): Notified {
  const url = new URL(`http://127.0.0.1:${port}/hook${targetOf === webhookTarget ? '?of=mine' : ''}`);
  const clock = new FakeClock();
  const warnings: Diagnostic[] = [];
  const redactor = new Redactor();
  for (const value of known) redactor.register(new Secret(value));
  const notifications = new OperatorNotifications({
    target: targetOf({ url, secret: secret === null ? null : new Secret(secret), clock }),
    capsule: 'demo',
    sessionId: 'ses_1',
    redact: (text) => redactor.redact(text),
    onWarning: (warning) => void warnings.push(warning),
    clock,
  });
  onTestFinished(async () => {
    const ending = notifications.end();
    clock.advance(2000);
    await ending;
  });
  const ids = { id: mintTaskId(clock), contextId: mintContextId(clock) };
  const task = new Task(ids, { text: 'Go.', origin: 'user', trust: 'trusted' });
  const ask = (prompt: string): void =>
    notifications.hear({ kind: 'question', task, question: { taskId: task.id, waitId: 'q1', prompt } });
  const note = (event: TraceEvent): void => notifications.hear({ kind: 'noted', task: null, event });
  return { notifications, clock, warnings, task, ask, note };
}

const refusal = { event_type: 'refusal', what: 'host', name: '169.254.169.254:80', rule: 'r', by: 'programs' } as const;

describe('the target of an operator', () => {
  it('gets questions, ends and serious refusals, in their order', async () => {
    const receiver = await Receiver.open();
    const { notifications, task, ask, note } = notifying(receiver.port);
    ask('Which one?');
    note(refusal);
    note({ ...refusal, serious: 'metadata' });
    notifications.hear({ kind: 'task-settled', task });
    const received = await receiver.until(3);
    expect(received.map(({ body }) => body)).toEqual([
      {
        type: 'question.asked',
        timestamp: '2025-10-09T08:53:20.000Z',
        data: { capsule: 'demo', session_id: 'ses_1', task_id: task.id, text: 'Which one?' },
      },
      {
        type: 'refusal.serious',
        timestamp: '2025-10-09T08:53:20.000Z',
        data: {
          capsule: 'demo',
          session_id: 'ses_1',
          text: 'svc refused an address at which clouds give keys to any program: host 169.254.169.254:80, asked for by programs, refused by r',
        },
      },
      {
        type: 'task.ended',
        timestamp: '2025-10-09T08:53:20.000Z',
        data: { capsule: 'demo', session_id: 'ses_1', task_id: task.id, state: 'submitted' },
      },
    ]);
    expect(received[0]?.headers['webhook-signature']).toBe(undefined);
  });

  it.each([
    ['a text', 'the-secret-of-the-target', Buffer.from('the-secret-of-the-target')],
    ['base64', `whsec_${Buffer.from('0123456789').toString('base64')}`, Buffer.from('0123456789')],
  ])('gets signatures of Standard Webhooks, by a secret that is %s', async (_, secret, key) => {
    const receiver = await Receiver.open();
    notifying(receiver.port, secret).ask('Which one?');
    const [first] = await receiver.until(1);
    const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = first?.headers ?? {};
    const expected = createHmac('sha256', key)
      .update(`${String(id)}.${String(at)}.${first?.raw}`)
      .digest('base64');
    expect(signature).toBe(`v1,${expected}`);
  });

  it('gets no key, nothing that a screen obeys, and no more than 2,048 characters of a text', async () => {
    const receiver = await Receiver.open();
    const { ask, task, notifications } = notifying(receiver.port, null, { known: ['canary-key-0123456789'] });
    ask(`\u001B[2J\u202Ecanary-key-0123456789 ${'x'.repeat(1_000_000)}`);
    Object.assign(task, { failure: `the host said canary-key-0123456789\u0000` });
    notifications.hear({ kind: 'task-settled', task });
    const [question, end] = await receiver.until(2);
    const text = String(question?.body.data['text']);
    expect(text.startsWith('\\u{1b}[2J\\u{202e}[secret] xxx')).toBe(true);
    expect(text).toHaveLength(2049);
    expect(end?.body.data['text']).toBe('the host said [secret]\\u{0}');
    expect(receiver.received.map(({ raw }) => raw).join('')).not.toContain('canary');
  });

  it('gets 30 of a type in a minute at most, and with the next one how many were left out', async () => {
    const receiver = await Receiver.open();
    const { ask, clock } = notifying(receiver.port);
    for (let count = 0; count < 1000; count += 1) ask('Which one?');
    await receiver.until(30);
    // The last one may be on its way yet, and its time limit must not run out.
    const afterMs = clock.monotonicMs() + 60_000;
    clock.monotonicMs = () => afterMs;
    ask('And now?');
    const received = await receiver.until(31);
    expect(received).toHaveLength(31);
    expect(received.at(-1)?.body.data).toMatchObject({ text: 'And now?', left_out: 970 });
  });

  it('gets a serious refusal and a question however many tasks end', async () => {
    const receiver = await Receiver.open();
    const { ask, note, notifications, task } = notifying(receiver.port);
    for (let count = 0; count < 100; count += 1) notifications.hear({ kind: 'task-settled', task });
    note({ ...refusal, serious: 'metadata' });
    ask('Which one?');
    const received = await receiver.until(32);
    expect(received.slice(30).map(({ body }) => body.type)).toEqual(['refusal.serious', 'question.asked']);
  });

  it('leads nowhere by a redirect, and svc says once that nothing arrives', async () => {
    const other = await Receiver.open();
    const receiver = await Receiver.open(307, { location: `http://127.0.0.1:${other.port}/` });
    const { ask, notifications, warnings, clock } = notifying(receiver.port);
    ask('Which one?');
    ask('And now?');
    await receiver.until(1);
    await expect.poll(() => warnings.length).toBe(1);
    const ending = notifications.end();
    clock.advance(1000);
    expect(await ending).toEqual({
      event_type: 'push_lost',
      host: `127.0.0.1:${receiver.port}`,
      sent: 0,
      lost: 2,
      reason: 'it answered 307',
    });
    expect(warnings.map(({ code, message }) => `${code} ${message}`)).toEqual([
      `W-APR-005 a notification did not reach 127.0.0.1:${receiver.port}: it answered 307`,
    ]);
    expect(other.received).toEqual([]);
  });

  it('answers 32 MiB, of which nothing is read', async () => {
    let sent = 0;
    const port = await listening((request, response) => {
      request.resume();
      response.writeHead(200);
      const piece = Buffer.alloc(65_536);
      const more = (): void => {
        while (sent < 32 * 1024 * 1024) {
          sent += piece.length;
          if (!response.write(piece)) return void response.once('drain', more);
        }
        response.end();
      };
      more();
    });
    const { ask, notifications } = notifying(port);
    ask('Which one?');
    ask('And now?');
    expect(await notifications.end()).toBe(null);
    expect(sent).toBeLessThan(32 * 1024 * 1024);
  });

  it('counts as nobody after an answer of 410, and what it is not told is reported', async () => {
    const receiver = await Receiver.open(410);
    const { ask, notifications, warnings } = notifying(receiver.port);
    expect(notifications.isHeard).toBe(true);
    ask('Which one?');
    ask('And now?');
    await receiver.until(1);
    await expect.poll(() => notifications.isHeard).toBe(false);
    ask('And then?');
    expect(await notifications.end()).toMatchObject({ sent: 0, lost: 3, reason: 'it answered 410' });
    expect(receiver.received).toHaveLength(1);
    expect(warnings.map(({ code, hint }) => `${code} ${hint}`)).toEqual([
      'W-APR-005 it counts as nobody now; a question that is open waits on until svc approve answers it or its time is over',
    ]);
  });

  it('counts as nobody, and svc says so, where it answers 410 after another failure', async () => {
    const answers = [500, 410];
    const port = await listening((request, response) => {
      request.resume();
      response.writeHead(answers.shift() ?? 204).end();
    });
    const { ask, clock, warnings } = notifying(port);
    ask('Which one?');
    await expect.poll(() => warnings.length).toBe(1);
    clock.advance(1000);
    await expect.poll(() => warnings.length).toBe(2);
    expect(warnings.map(({ message, hint = '' }) => `${message.split(': ')[1]} ${hint.split(';')[0]}`)).toEqual([
      'it answered 500 ',
      'it answered 410 it counts as nobody now',
    ]);
  });

  it('holds up the end of a session for two seconds where it says nothing', async () => {
    let heard = (): void => {};
    const hears = new Promise<void>((resolve) => (heard = resolve));
    const port = await listening(() => heard());
    const { ask, notifications, clock } = notifying(port);
    ask('Which one?');
    await hears;
    let isOver = false;
    const ending = notifications.end().then((line) => {
      isOver = true;
      return line;
    });
    clock.advance(1999);
    await new Promise((resolve) => setImmediate(resolve));
    expect(isOver).toBe(false);
    clock.advance(1);
    expect(await ending).toMatchObject({ lost: 1, reason: 'the session ended' });
  });
});

describe('a topic of an ntfy server', () => {
  // A server of ntfy 2.13.0 took these, and gave subscribers the title, the priority, the tags and the whole text.
  it('gets title, priority and tags as ASCII in headers, the text as the body, and the token', async () => {
    const receiver = await Receiver.open();
    const { notifications, task, ask, note } = notifying(receiver.port, 'tk_0123456789', { targetOf: ntfyTarget });
    ask('Wie schön?');
    note({ ...refusal, serious: 'metadata' });
    notifications.hear({ kind: 'task-settled', task });
    const received = await receiver.until(3);
    const shown = received.map(({ headers, raw }) => [headers['title'], headers['priority'], headers['tags'], raw]);
    expect(shown).toEqual([
      ['demo asks', '4', 'question', `Wie schön?\nses_1 ${task.id}`],
      [
        'demo: serious refusal',
        '5',
        'rotating_light',
        'svc refused an address at which clouds give keys to any program: host 169.254.169.254:80, asked for by programs, refused by r\nses_1',
      ],
      ['demo: task submitted', '3', 'x', `ses_1 ${task.id}`],
    ]);
    const { authorization, 'content-type': type, ...headers } = received[0]?.headers ?? {};
    expect([authorization, type]).toEqual(['Bearer tk_0123456789', 'text/plain; charset=utf-8']);
    expect(Object.keys(headers).filter((name) => name.startsWith('webhook-'))).toEqual([]);
  });

  it('gets less than 4,096 bytes, what the text is about among them, and no character that is cut in two', async () => {
    const receiver = await Receiver.open();
    const { ask, task } = notifying(receiver.port, null, { targetOf: ntfyTarget });
    for (const text of ['€'.repeat(5000), `x${'€'.repeat(5000)}`, `xx${'€'.repeat(5000)}`]) ask(text);
    for (const { raw } of await receiver.until(3)) {
      const [text, about] = raw.split('\n');
      expect(text).toMatch(/^x{0,2}€+…$/);
      expect(about).toBe(`ses_1 ${task.id}`);
      expect(Buffer.byteLength(raw)).toBeLessThan(4096);
      expect(Buffer.byteLength(raw)).toBeGreaterThan(4091);
    }
  });

  it('gets it again after an answer of 429, as a webhook does', async () => {
    const receiver = await Receiver.open(429);
    const { ask, clock, warnings } = notifying(receiver.port, null, { targetOf: ntfyTarget });
    ask('Which one?');
    await receiver.until(1);
    await expect
      .poll(() => warnings.map(({ message }) => message))
      .toEqual([`a notification did not reach 127.0.0.1:${receiver.port}: it answered 429`]);
    clock.advance(1000);
    expect(await receiver.until(2)).toHaveLength(2);
  });
});
