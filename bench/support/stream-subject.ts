// The product's own event streams behind its own listener, in the place of a capsule whose driver would stream its reply. No task is ever
// run: the frames come from the producer that every server here has. A2A clients follow the task by its activity, whose frames
// the event stream has as well.

import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

import { systemClock } from '@svc/kit/system-clock.ts';
import { capsuleRoutes } from '@svc/doors/capsule-listener.ts';
import { emptyReply } from '@svc/kit/http/reply.ts';
import { answerBudget } from '@svc/kit/http/byte-budget.ts';
import { HttpServer } from '@svc/kit/http/server.ts';
import { SessionActivity } from '@svc/session/task/activity.ts';
import { EventIdCounter, EventStream } from '@svc/session/stream/event-stream.ts';
import { passThrough } from '@svc/session/recorder/recorder.ts';
import { Session } from '@svc/session/session.ts';
import { SpendMeter } from '@svc/session/model/spend-meter.ts';
import { noHooks } from '@svc/session/hooks/session-hooks.ts';
import { TaskBoard } from '@svc/session/loop/task-board.ts';
import { Inventory } from '@svc/session/tools/inventory.ts';
import type { PreparedText } from '@svc/record/trace/events.ts';
import { agentCard } from '@svc/protocol/agent-card.ts';
import { mintContextId, mintSessionId } from '@svc/protocol/ids.ts';
import { Task } from '@svc/session/task/task.ts';
import { benchTaskId } from './bench-task.ts';
import { takeOrders } from './producer.mjs';
import { roomyWorkdir } from '../../test/support/roomy-workdir.ts';

const clock = systemClock;
const stream = new EventStream();
const activity = new SessionActivity();
const recorder = passThrough(clock);
const prepare = async (text: string): Promise<PreparedText> => ({ text, json: Buffer.from(JSON.stringify(text)) });
const acceptance = { taskAcceptance: 'queue', queueDepth: 1, afterTask: 'sleep' } as const;

const session = new Session({
  id: mintSessionId(clock),
  events: stream,
  board: new TaskBoard({ acceptance, clock, activity, recorder, prepare }),
  background: { stop: async () => {} },
  runner: {
    approvals: null,
    projectText: null,
    onFailed: () => {},
    driver: {
      label: 'none',
      openTask: () => {
        throw new Error('no task is run here');
      },
      close: async () => {},
    },
    inventory: new Inventory([], clock),
    inference: { model: '', system: '', maxTurns: 1, maxTokens: 1, context: { maxTokens: null, threshold: 1 } },
    maxReopens: 0,
    spend: new SpendMeter(null),
    activity,
    recorder,
    clock,
    workdirSize: roomyWorkdir,
    conversations: { has: () => false, history: () => [], save: () => {} },
    hooks: noHooks,
    inputTimeoutMs: null,
    writeResult: () => {},
  },
});

const card = agentCard({
  name: 'bench',
  version: '1.0.0',
  url: 'localhost:1',
  sessionId: session.id,
  tools: [],
  shellAllow: [],
  networkAllow: [],
  taskAcceptance: acceptance.taskAcceptance,
  exports: { files: false, peer_files: false },
});
const door = {
  facts: async () => ({ publicUrl: 'http://localhost:1', description: null, asksForToken: false, skills: [] }),
  session,
  card,
  principal: 'local',
  conversationMode: 'stateless',
  containment: 'sealed',
  redact: (text: string) => text,
  delegation: { open: () => null },
  residue: () => [],
  resources: { answer: () => emptyReply(404), refused: () => {}, counted: () => {} },
} as const;

const answers = answerBudget();
const server = new HttpServer({
  routes: capsuleRoutes(Promise.resolve(door), { serve: ['a2a'], answers }),
  token: null,
  answers,
  onBug: (bug) => {
    throw bug;
  },
});
const bound = await server.bind({ address: '127.0.0.1', port: 0 });
if (bound.kind !== 'bound') throw new Error('the server has no port');

const { task } = session.board.submit({
  id: benchTaskId,
  contextId: mintContextId(clock),
  text: 'stream',
  origin: 'user',
  trust: 'trusted',
});
const counter = new EventIdCounter(0n);
let turn = 0;
let open = 0;

/** What one round has said must not be what the next one begins with. */
function beginTurn(of: Task): void {
  turn += 1;
  const event = { kind: 'turn-started', turn } as const;
  activity.emit({
    kind: 'state-changed',
    task: of,
    event,
    announcement: { state: 'working', message: '', final: false },
  });
  activity.emit({ kind: 'text', task: of, text: '.' });
}
subscribe('net.server.socket', (message) => {
  const { socket } = message as { readonly socket: Socket };
  open += 1;
  socket.once('close', () => {
    open -= 1;
    if (open > 0) return;
    // What a turn said is a message of the task, unless it is too long for one.
    activity.emit({ kind: 'text', task, text: '#'.repeat(64 * 1024) });
    beginTurn(task);
  });
});

takeOrders({
  port: bound.port,
  publish: (text) => {
    stream.publish(counter.next(), { event: 'text', taskId: task.id, text, final: false });
    activity.emit({ kind: 'text', task, text });
  },
});
