/** Puts together, from the frames and events of a running capsule, what it does right now. */

import { inertJson } from '@svc/kit/diagnostics/printable.ts';
import { decodeFrame } from '@svc/protocol/decode-frame.ts';
import { decodeLiveEvent } from '@svc/protocol/decode-live-event.ts';
import type { ReceivedFrame } from '@svc/protocol/frame-reader.ts';
import { asJsonObject } from '@svc/protocol/json-object.ts';
import type { LiveEvent, Snapshot } from '@svc/protocol/live-events.ts';
import type { Question } from '@svc/protocol/question.ts';
import type { LiveCall, LiveNow } from '@svc/protocol/viewed-session.ts';
import { askerOf, firstEffectRows } from '@svc/session/approvals/asked-effect.ts';
import { capsuleGone } from './event-relay.ts';

const maxCalls = 64;
/** Limit for the text that is being written; the rest is in the journal soon. */
const maxText = 16 * 1024;
const maxTail = 2048;
const [maxName, maxAbout, maxReason, maxModel] = [60, 160, 500, 100];

type OpenCall = Omit<LiveCall, 'ms'> & { readonly task: string; readonly since: number };

/** The state of one capsule, over all connections to it. */
export class LiveState {
  #now: Omit<LiveNow, 'calls'> = {
    question: null,
    task: null,
    turn: 0,
    text: '',
    thinking: false,
    retry: '',
    model: '',
  };
  readonly #calls = new Map<string, OpenCall>();
  /** The relay waits for the capsule to be there again. */
  #isGone = false;

  /** Returns null while the capsule is gone. `at` are milliseconds of the clock that `take` is given. */
  now(at: number): LiveNow | null {
    if (this.#isGone) return null;
    const calls = [...this.#calls.values()].map(({ key, name, about, tail, since }) => ({
      key,
      name,
      about,
      tail,
      ms: at - since,
    }));
    return { ...this.#now, calls };
  }

  /** Passes over what it does not know. `at` are milliseconds of any one clock. */
  take(received: ReceivedFrame, at: number): void {
    this.#isGone = received.event === capsuleGone;
    const event = decodeLiveEvent(received);
    if (event !== null) return this.#event(event, at);
    const frame = decodeFrame(received);
    if (frame?.event !== 'text' && frame?.event !== 'thinking') return;
    // The trace has this text by now. A connection that begins later gets the frames of all turns so far.
    if (frame.final) return this.#set({ text: '' });
    const thinking = frame.event === 'thinking';
    const before = thinking === this.#now.thinking ? this.#now.text : '';
    this.#set({ text: (before + frame.text).slice(-maxText), thinking, task: frame.taskId });
  }

  #set(change: Partial<LiveNow>): void {
    this.#now = { ...this.#now, ...change };
  }

  #event(event: LiveEvent, at: number): void {
    switch (event.event) {
      case 'snapshot':
        return this.#snapshot(event);
      case 'task_started':
        return this.#set({ task: event.taskId, turn: 0, text: '' });
      case 'waiting_for_model':
        return this.#set({ task: event.taskId, turn: event.turn, text: '', thinking: false, retry: '' });
      case 'retry':
        return this.#set({ retry: event.reason.slice(0, maxReason) });
      case 'usage':
        return this.#set({ text: '', retry: '', model: event.model.slice(0, maxModel) });
      case 'call_start':
        return this.#called(event, at);
      case 'output': {
        const call = this.#calls.get(keyOf(event));
        if (call !== undefined) this.#calls.set(call.key, { ...call, tail: (call.tail + event.text).slice(-maxTail) });
        return;
      }
      case 'call_end':
        this.#calls.delete(keyOf(event));
        return;
      case 'question':
        return this.#set({ question: questionOf(event) });
      case 'question_settled':
        // Two tasks may have a question of the same name.
        if (this.#now.question?.task === event.taskId && this.#now.question.wait === event.waitId)
          this.#set({ question: null });
        return;
      case 'task_settled':
        return this.#settled(event.taskId);
      case 'task_received':
      case 'refusal':
    }
  }

  #called(event: Extract<LiveEvent, { readonly event: 'call_start' }>, since: number): void {
    if (this.#calls.size >= maxCalls) return;
    const key = keyOf(event);
    const about = aboutOf(event.argumentsText ?? event.arguments);
    const name = event.toolName.slice(0, maxName);
    this.#calls.set(key, { key, task: event.taskId, name, about, tail: '', since });
  }

  #snapshot({ tasks, model }: Snapshot): void {
    this.#calls.clear();
    const asking = tasks.find(({ question }) => question !== null);
    const question = asking?.question == null ? null : questionOf(asking.question);
    const running = tasks.find(({ state }) => state !== 'submitted');
    this.#set({ question, task: running?.taskId ?? null, text: '', model: model.slice(0, maxModel) });
  }

  #settled(task: string): void {
    for (const [key, call] of this.#calls) if (call.task === task) this.#calls.delete(key);
    const question = this.#now.question?.task === task ? null : this.#now.question;
    this.#set(this.#now.task === task ? { question, task: null, text: '', turn: 0 } : { question });
  }
}

function questionOf({ taskId: task, waitId: wait, prompt, approval }: Question): NonNullable<LiveNow['question']> {
  if (approval === undefined) return { task, wait, prompt };
  const { id, digest, options, capsule } = approval;
  const asker = askerOf(approval).slice(0, maxReason);
  const of = capsule.length > 1 ? inertJson(capsule.at(-1)).slice(1, -1).slice(0, maxName) : null;
  return { task, wait, prompt, approval: { id, digest, asker, of, rows: firstEffectRows(approval), options } };
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

/** The text, when the arguments are one text; else their JSON. */
function aboutOf(given: unknown): string {
  const [only, ...others] = Object.values(asJsonObject(given) ?? { given });
  const text = typeof only === 'string' && others.length === 0 ? only : JSON.stringify(given);
  return text.slice(0, maxAbout);
}
