import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';

import { CapsuleClient } from '@svc/client/capsule-client.ts';
import { encodeConnectionFrame, encodeNumberedFrame } from '@svc/protocol/frames.ts';
import type { TaskId } from '@svc/protocol/ids.ts';
import { encodeLiveEvent } from '@svc/protocol/live-events.ts';
import { ShownTerminal } from '../../../../test/support/shown-terminal.ts';
import { SessionView } from '../shown/session-view.ts';
import { ChatSession } from './chat-session.ts';

const servers: Server[] = [];
const views: SessionView[] = [];

afterEach(() => {
  for (const view of views.splice(0)) view.close();
  for (const server of servers.splice(0)) server.close();
});

const taskOf = 'tsk_0190a1b2c3d4e5f60718293a4b5c6d7e' as TaskId;
const artifact = {
  event: 'artifact',
  taskId: taskOf,
  toolName: 'cat',
  fenceSource: null,
  toolCallId: null,
  isError: false,
  durationMs: 1,
  exitCode: 0,
  truncated: false,
} as const;

interface Asked {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

interface Answering {
  /** Once it is asked for. */
  readonly stream: Promise<ServerResponse>;
  readonly reply: () => void;
}

/** A chat with a server that notes what it is asked, has every call succeed, and streams these frames; `onAnswer` answers `tasks/answer` instead. */
async function openChat(
  frames: readonly string[] = [],
  onAnswer: ((answering: Answering) => void) | null = null,
): Promise<{ chat: ChatSession; view: SessionView; asked: Asked[]; shown: ShownTerminal }> {
  const asked: Asked[] = [];
  let onStream: (response: ServerResponse) => void = () => {};
  const stream = new Promise<ServerResponse>((resolve) => (onStream = resolve));
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (piece: string) => (body += piece));
    request.on('end', () => {
      const call = JSON.parse(body) as Asked;
      asked.push(call);
      if (call.method === 'stream/watch') {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const frame of frames) response.write(frame);
        onStream(response);
        if (onAnswer === null) response.end();
        return;
      }
      const reply = (): void => {
        const result = { id: 'tsk_1', contextId: 'c', status: { state: 'working' } };
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result }));
      };
      if (call.method === 'tasks/answer' && onAnswer !== null) onAnswer({ stream, reply });
      else reply();
    });
  });
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = new CapsuleClient({ url: `127.0.0.1:${(server.address() as AddressInfo).port}`, isGated: false });
  const shown = new ShownTerminal();
  const settings = {
    useColor: false,
    nowMs: () => 0,
    keysHint: () => '',
    answerHint: () => '',
    wholeOutput: () => null,
    keptOutput: () => null,
  };
  const view = new SessionView(shown.output, settings);
  views.push(view);
  const capsule = {
    client,
    follower: client,
    ask: async <Value>(call: (of: CapsuleClient) => Promise<Value>) => await call(client),
  };
  const context = { cwd: '/', home: '/', env: {}, stdout: shown.output, stderr: shown.output };
  return {
    chat: new ChatSession({ context, capsule, view, record: () => null, readPast: () => new Map() }, 'c'),
    view,
    asked,
    shown,
  };
}

describe('a chat', () => {
  it('answers the question that a text was written for, and not the next one', async () => {
    const { chat, view, asked } = await openChat();
    view.show({ kind: 'task-started', taskId: 'tsk_1' });
    view.show({ kind: 'question', taskId: 'tsk_1', waitId: 'q1', prompt: 'Paint it?' });
    const { question } = view;
    view.show({ kind: 'question-settled', taskId: 'tsk_1', waitId: 'q1', end: 'timed-out', answer: null });
    view.show({ kind: 'question', taskId: 'tsk_1', waitId: 'q2', prompt: 'Burn it?' });
    await chat.send('yes', question);
    expect(asked.map(({ method, params }) => [method, params])).toEqual([
      ['tasks/answer', { id: 'tsk_1', wait: 'q1', text: 'yes' }],
    ]);
  });

  it('says that a capsule remembers nothing of what was said, and does not have it summed up', async () => {
    const ack = encodeConnectionFrame({ event: 'connection-ack', conversationMode: 'stateless' });
    const { chat, view, asked, shown } = await openChat([ack, encodeConnectionFrame({ event: 'capsule-closed' })]);
    await chat.follow();
    await chat.compact();
    view.screen.flush();
    expect(asked.map(({ method }) => method)).toEqual(['stream/watch']);
    const said = (await shown.rows()).join(' ').replaceAll(/\s+/g, ' ');
    expect(said.match(/each message is a conversation of its own/g)).toHaveLength(2);
    expect(said).toContain('there is nothing to sum up: each message');
  });

  it('shows an answer from here before what comes of it, also where the reply to it comes last', async () => {
    const ack = encodeConnectionFrame({ event: 'connection-ack', conversationMode: 'threaded' });
    const closed = encodeConnectionFrame({ event: 'capsule-closed' });
    const settled = encodeLiveEvent({
      event: 'question_settled',
      taskId: taskOf,
      waitId: 'q1',
      end: 'answered',
      answer: 'blue',
    });
    const painted = encodeNumberedFrame(1n, { event: 'text', taskId: taskOf, text: 'Painted.', final: true });
    let reply = (): void => {};
    const { chat, view, shown } = await openChat([ack], (answering) => {
      reply = answering.reply;
      void answering.stream.then((stream) => stream.end(settled + painted + closed));
    });
    const following = chat.follow();
    view.show({ kind: 'task-started', taskId: taskOf });
    view.show({ kind: 'question', taskId: taskOf, waitId: 'q1', prompt: 'Which colour?' });
    const answered = chat.send('blue', view.question);
    await following;
    reply();
    expect(await answered).toBe(true);
    view.screen.flush();
    const rows = await shown.rows();
    expect(rows.slice(rows.indexOf('\u2502 Which colour?') + 1, -1)).toEqual(['answer> blue', '\u2502 Painted.']);
  });

  it('says of an answer of more than 16 MiB that it holds the beginning alone', async () => {
    const text = 'x'.repeat(1024 * 1024);
    const ack = encodeConnectionFrame({ event: 'connection-ack', conversationMode: 'threaded' });
    const closed = encodeConnectionFrame({ event: 'capsule-closed' });
    const end = { event: 'status', taskId: taskOf, state: 'completed', message: '', final: true } as const;
    const answerOf = async (count: number): Promise<readonly [number, boolean]> => {
      const chunks = Array.from({ length: count }, (_, at) =>
        encodeNumberedFrame(BigInt(at + 1), { event: 'text', taskId: taskOf, text, final: false }),
      );
      const { chat } = await openChat([ack, ...chunks, encodeNumberedFrame(99n, end), closed]);
      await chat.follow();
      return [chat.answer.text.length, chat.answer.isCut];
    };
    expect(await answerOf(18)).toEqual([16 * 1024 * 1024, true]);
    expect(await answerOf(2)).toEqual([2 * 1024 * 1024, false]);
  });

  it('sends a capsule without live events no message while a question waits, as that would be the answer', async () => {
    const { chat, view, asked, shown } = await openChat();
    view.show({ kind: 'question', taskId: 'tsk_1', waitId: 'q1', prompt: 'Paint it?' });
    await chat.message('later');
    view.screen.flush();
    expect(asked).toEqual([]);
    expect(await shown.rows()).toContain(
      '! this capsule would take the message for the answer: answer its question first',
    );
  });

  it('says once of tasks from before that earlier messages are missing', async () => {
    const snapshot = encodeLiveEvent({
      event: 'snapshot',
      sessionId: 'ses_1',
      name: 'n',
      version: '1.0.0',
      model: 'm',
      containment: 'sealed',
      methods: [],
      usage: { inputTokens: 0, outputTokens: 0 },
      tasks: [],
      tasksLeftOut: 0,
    });
    const ack = encodeConnectionFrame({ event: 'connection-ack', conversationMode: 'threaded' });
    const closed = encodeConnectionFrame({ event: 'capsule-closed' });
    const text = (id: number, of: string): string =>
      encodeNumberedFrame(BigInt(id), { event: 'text', taskId: of as TaskId, text: 'One.', final: true });
    const other = 'tsk_0190a1b2c3d4e5f60718293a4b5c6d7f';
    const frames = [ack, snapshot, text(1, taskOf), text(2, taskOf), text(3, other), closed];
    const { chat, view, shown } = await openChat(frames);
    await chat.follow();
    view.screen.flush();
    expect(await shown.rows()).toEqual([
      '- earlier messages are not shown: svc trace show ses_1',
      '\u2502 One.',
      '\u2502 One.',
      '\u2502 One.',
    ]);
  });

  it('keeps 16 MiB of results to show again, and the newest whatever its length', async () => {
    const frame = (id: number): string =>
      encodeNumberedFrame(BigInt(id), { ...artifact, content: 'x'.repeat(6 * 1024 * 1024) });
    const ack = encodeConnectionFrame({ event: 'connection-ack', conversationMode: 'threaded' });
    const closed = encodeConnectionFrame({ event: 'capsule-closed' });
    const { chat } = await openChat([ack, frame(1), frame(2), frame(3), frame(4), closed]);
    expect(await chat.follow()).toBe('closed');
    expect(chat.results.map(({ number }) => number)).toEqual([3, 4]);
  });
});
