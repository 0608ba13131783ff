/** Puts together, from the frames and events of a running capsule, what it does right now. */

import { mostFrameValues } from '@svc/protocol/decode-frame.ts';
import type { ReceivedFrame } from '@svc/protocol/frame-reader.ts';
import { asJsonObject, type JsonObject } from '@svc/protocol/json-object.ts';
import { parseJsonText } from '@svc/protocol/json-text.ts';
import type { LiveCall, LiveNow, LiveQuestion } from '../messages.ts';
import { countIn, objectIn, objectsIn, preview, textIn, wholeOrNull } from '../trace/checked.ts';

const mostCalls = 64;
/** Of the text that is being written; the rest is in the journal soon. */
const longestText = 16 * 1024;
const longestTail = 2048;
/** An event that is longer is passed over, but for the one that says how everything is. */
const [longestEvent, longestSnapshot] = [256 * 1024, 8 * 1024 * 1024];
/** Of the ids of what is asked and called, and of tasks that frames name. */
const [longestId, longestFrameId] = [1024, 256];
const mostTasks = 10_000;

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
  take({ id, event, data }: ReceivedFrame, at: number): void {
    if (id !== undefined && /^\d{1,20}$/.test(id)) this.#lastId = id;
    if (event === 'capsule-closed') this.#hasClosed = true;
    // The server waits for it to be there again.
    if (event === 'capsule-gone') return this.connected(false);
    if (!this.#now.isConnected) this.connected(true);
    if (data.length > (event === 'snapshot' ? longestSnapshot : longestEvent)) return;
    const parsed = parseJsonText(data, mostFrameValues);
    const said = parsed.kind === 'json' ? asJsonObject(parsed.value) : null;
    if (said === null) return;
    if (event === 'snapshot') this.#snapshot(said);
    else if (event === 'text' || event === 'thinking') this.#wrote(event === 'thinking', said);
    else {
      const taskId = idIn(said['task_id']);
      if (taskId !== null) this.#event(event, taskId, said, at);
    }
  }

  #set(change: Partial<LiveNow>): void {
    this.#now = { ...this.#now, ...change };
  }

  #wrote(isThinking: boolean, said: JsonObject): void {
    const taskId = idIn(said['id'], longestFrameId);
    if (taskId === null) return;
    const before = isThinking === this.#now.isThinking ? this.#now.text : '';
    this.#set({ text: (before + textIn(said['text'], longestEvent)).slice(-longestText), isThinking, taskId });
  }

  #event(event: string, taskId: string, said: JsonObject, at: number): void {
    const { question, waitingTasks } = this.#now;
    const name = textIn(said['tool_name'], 60);
    const callId = idIn(said['call_id']);
    const key = callId === null ? `${taskId} ${name}` : `${taskId}/${callId}`;
    const call = this.#calls.get(key);
    switch (event) {
      case 'task_started':
        return this.#set({ taskId, turn: 0, text: '', waitingTasks: Math.max(0, waitingTasks - 1) });
      case 'task_received':
        return this.#set({ waitingTasks: waitingTasks + (countIn(wholeOrNull(said['queued'])) > 0 ? 1 : 0) });
      case 'waiting_for_model':
        return this.#set({ taskId, turn: countIn(wholeOrNull(said['turn'])), text: '', isThinking: false, retry: '' });
      case 'retry':
        return this.#set({ retry: textIn(said['reason'], 500) });
      case 'usage':
        return this.#set({ text: '', retry: '', model: textIn(said['model'], 100) });
      case 'call_start':
        if (this.#calls.size < mostCalls) {
          const about = preview(said['arguments_text'] ?? said['arguments']);
          this.#calls.set(key, { key, taskId, name, about, tail: '', since: at });
        }
        return;
      case 'output':
        if (call !== undefined) {
          const tail = (call.tail + textIn(said['text'], longestEvent)).slice(-longestTail);
          this.#calls.set(key, { ...call, tail });
        }
        return;
      case 'call_end':
        this.#calls.delete(key);
        return;
      case 'question':
        return this.#set({ question: questionIn(taskId, said) ?? question });
      case 'question_settled':
        if (question?.waitId === said['wait_id']) this.#set({ question: null });
        return;
      case 'task_settled':
        this.#settled(taskId);
    }
  }

  #snapshot(said: JsonObject): void {
    this.#calls.clear();
    const tasks = objectsIn(said['tasks'], mostTasks).filter((task) => idIn(task['task_id']) !== null);
    const running = tasks.find(({ state }) => state !== 'submitted');
    this.#set({
      question:
        tasks
          .map((task) => questionIn(idIn(task['task_id']), objectIn(task['question'])))
          .find((question) => question !== null) ?? null,
      taskId: idIn(running?.['task_id']),
      text: '',
      model: textIn(said['model'], 100),
      waitingTasks: tasks.filter(({ state }) => state === 'submitted').length,
    });
  }

  #settled(taskId: string): void {
    for (const [key, call] of this.#calls) if (call.taskId === taskId) this.#calls.delete(key);
    const question = this.#now.question?.taskId === taskId ? null : this.#now.question;
    this.#set(this.#now.taskId === taskId ? { question, taskId: null, text: '', turn: 0 } : { question });
  }
}

/** An id is never cut: the beginning of one is another. */
function idIn(value: unknown, longest = longestId): string | null {
  return typeof value === 'string' && value.length <= longest ? value : null;
}

function questionIn(taskId: string | null, said: JsonObject): LiveQuestion | null {
  const waitId = idIn(said['wait_id']);
  return taskId === null || waitId === null ? null : { taskId, waitId, prompt: textIn(said['prompt'], longestEvent) };
}
