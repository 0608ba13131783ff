/** Puts together, from the frames and events of a running capsule, what it does right now. */

import { decodeFrame } from '@svc/protocol/decode-frame.ts';
import { decodeLiveEvent } from '@svc/protocol/decode-live-event.ts';
import type { ReceivedFrame } from '@svc/protocol/frame-reader.ts';
import type { LiveEvent, Snapshot } from '@svc/protocol/live-events.ts';
import type { LiveCall, LiveNow, LiveQuestion } from '../messages.ts';
import { preview } from '../trace/checked.ts';

const mostCalls = 64;
/** Of the text that is being written; the rest is in the journal soon. */
const longestText = 16 * 1024;
const longestTail = 2048;

const idle = {
  isConnected: false,
  question: null,
  calls: [],
  taskId: null,
  turn: 0,
  text: '',
  isThinking: false,
  retry: '',
  waitingTasks: 0,
  model: '',
} as const satisfies LiveNow;

/** Frames of one capsule, over all connections to it. */
export class LiveState {
  #now: LiveNow = idle;
  readonly #calls = new Map<string, LiveCall>();
  #lastId: string | undefined;
  #hasClosed = false;

  get now(): LiveNow {
    return { ...this.#now, calls: [...this.#calls.values()] };
  }

  /** The id to go on from after a lost connection. */
  get lastId(): string | undefined {
    return this.#lastId;
  }

  /** The capsule has said that nothing more comes. */
  get hasClosed(): boolean {
    return this.#hasClosed;
  }

  connected(isConnected: boolean): void {
    this.#now = isConnected ? { ...this.#now, isConnected } : idle;
    if (!isConnected) this.#calls.clear();
  }

  /** `at` are milliseconds of any one clock. */
  take(received: ReceivedFrame, at: number): void {
    if (received.id !== undefined && /^\d{1,20}$/.test(received.id)) this.#lastId = received.id;
    const event = decodeLiveEvent(received);
    if (event !== null) {
      this.#event(event, at);
      return;
    }
    const frame = decodeFrame(received);
    if (frame?.event === 'capsule-closed') this.#hasClosed = true;
    if (frame?.event !== 'text' && frame?.event !== 'thinking') return;
    const isThinking = frame.event === 'thinking';
    const before = isThinking === this.#now.isThinking ? this.#now.text : '';
    this.#set({ text: (before + frame.text).slice(-longestText), isThinking, taskId: frame.taskId });
  }

  #set(change: Partial<LiveNow>): void {
    this.#now = { ...this.#now, ...change };
  }

  #event(event: LiveEvent, at: number): void {
    switch (event.event) {
      case 'snapshot':
        this.#snapshot(event);
        return;
      case 'task_started':
        this.#set({ taskId: event.taskId, turn: 0, text: '', waitingTasks: Math.max(0, this.#now.waitingTasks - 1) });
        return;
      case 'task_received':
        this.#set({ waitingTasks: this.#now.waitingTasks + (event.queued > 0 ? 1 : 0) });
        return;
      case 'waiting_for_model':
        this.#set({ taskId: event.taskId, turn: event.turn, text: '', isThinking: false, retry: '' });
        return;
      case 'retry':
        this.#set({ retry: event.reason.slice(0, 500) });
        return;
      case 'usage':
        this.#set({ text: '', retry: '', model: event.model });
        return;
      case 'call_start': {
        if (this.#calls.size >= mostCalls) return;
        const about = preview(event.argumentsText ?? event.arguments);
        const key = keyOf(event);
        this.#calls.set(key, {
          key,
          taskId: event.taskId,
          name: event.toolName.slice(0, 60),
          about,
          tail: '',
          since: at,
        });
        return;
      }
      case 'output': {
        const call = this.#calls.get(keyOf(event));
        if (call !== undefined)
          this.#calls.set(call.key, { ...call, tail: (call.tail + event.text).slice(-longestTail) });
        return;
      }
      case 'call_end':
        this.#calls.delete(keyOf(event));
        return;
      case 'question':
        this.#set({ question: event });
        return;
      case 'question_settled':
        if (this.#now.question?.waitId === event.waitId) this.#set({ question: null });
        return;
      case 'task_settled':
        this.#settled(event.taskId);
        return;
      case 'refusal':
    }
  }

  #snapshot({ tasks, model }: Snapshot): void {
    this.#calls.clear();
    const asking = tasks.find(({ question }) => question !== null);
    const question: LiveQuestion | null =
      asking?.question == null ? null : { taskId: asking.taskId, ...asking.question };
    const running = tasks.find(({ state }) => state !== 'submitted');
    this.#set({
      question,
      taskId: running?.taskId ?? null,
      text: '',
      model,
      waitingTasks: tasks.filter(({ state }) => state === 'submitted').length,
    });
  }

  #settled(taskId: string): void {
    for (const [key, call] of this.#calls) if (call.taskId === taskId) this.#calls.delete(key);
    const question = this.#now.question?.taskId === taskId ? null : this.#now.question;
    this.#set(this.#now.taskId === taskId ? { question, taskId: null, text: '', turn: 0 } : { question });
  }
}

function keyOf({
  taskId,
  callId,
  toolName,
}: {
  readonly taskId: string;
  readonly callId: string | null;
  readonly toolName: string;
}): string {
  return callId === null ? `${taskId} ${toolName}` : `${taskId}/${callId}`;
}
