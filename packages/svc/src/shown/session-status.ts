/** Tracks what a session does now, for the status row. */

import type { Question } from '@svc/protocol/question.ts';
import { firstNames } from '@svc/kit/diagnostics/printable.ts';
import { shownCount, shownDuration } from '@svc/kit/shown-values.ts';
import { inertLine } from '@svc/terminal/screen/inert-text.ts';
import { widthOf } from '@svc/terminal/screen/terminal-kind.ts';
import { cutInMiddle, shownCall } from './call-rows.ts';
import type { SessionEvent } from './session-event.ts';

const spinner = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧'];
const asciiSpinner = ['-', '\\', '|', '/'];
const spinMs = 125;
/** After so long without a sign of life, the row says that svc waits for the model. */
const silenceMs = 10_000;
const maxCall = 40;
/** Limit for the output of a command: a row has no more room. */
const maxLine = 500;
const separator = ' · ';
/** A shorter text would say nothing. */
const fewestCells = 8;
/** Limit for running calls, and for waiting tasks. */
const maxCounted = 1000;

interface RunningCall {
  readonly about: string;
  /** The last line of its output, until its result comes. */
  lastLine: string;
}

interface RunningTask {
  readonly taskId: string;
  readonly startedMs: number;
  turn: number;
  tokens: number;
}

/** Durations are in milliseconds of the clock that is handed in. */
export class SessionStatus {
  readonly #nowMs: () => number;
  readonly #hasUnicode: boolean;
  #task: RunningTask | null = null;
  #ended: RunningTask | null = null;
  #question: (Question & { readonly sinceMs: number }) | null = null;
  readonly #running = new Map<string, RunningCall>();
  /** Until when the model is left alone. */
  #againMs = 0;
  readonly #waiting = new Set<string>();
  #lastHeardMs = 0;
  #isModelAsked = false;

  constructor(nowMs: () => number, hasUnicode: boolean) {
    this.#nowMs = nowMs;
    this.#hasUnicode = hasUnicode;
  }

  get question(): Question | null {
    return this.#question;
  }

  get taskId(): string | null {
    return this.#task?.taskId ?? null;
  }

  /** Whether several tasks of the session are known, so that a question has to say whose it is. */
  get hasQuestionOfOther(): boolean {
    return this.#waiting.size > 0;
  }

  note(event: SessionEvent): void {
    this.#lastHeardMs = this.#nowMs();
    switch (event.kind) {
      case 'said':
        if (event.waiting > 0 && this.#waiting.size < maxCounted) this.#waiting.add(event.taskId);
        return;
      case 'task-started':
        return this.#begin(event.taskId);
      case 'turn':
        if (this.#task?.taskId !== event.taskId) this.#begin(event.taskId);
        if (this.#task !== null) this.#task.turn = event.turn;
        this.#isModelAsked = true;
        return;
      case 'call':
        this.#isModelAsked = false;
        if (event.callId !== null && this.#running.size < maxCounted)
          this.#running.set(event.callId, {
            about: cutInMiddle(shownCall(event.name, event).about, maxCall),
            lastLine: '',
          });
        return;
      case 'output': {
        const call = this.#running.get(event.callId ?? '');
        if (call !== undefined) call.lastLine = lastLineOf(event.text) || call.lastLine;
        return;
      }
      case 'retry':
        this.#againMs = event.wait === null ? 0 : this.#nowMs() + event.wait.waitMs;
        return;
      case 'result':
        if (event.result.callId !== null) this.#running.delete(event.result.callId);
        return;
      case 'usage':
        this.#isModelAsked = false;
        if (this.#task !== null) this.#task.tokens += event.tokens;
        return;
      case 'question':
        this.#question = { ...event, sinceMs: this.#nowMs() };
        return;
      case 'question-settled':
        if (this.#question?.waitId === event.waitId) this.#forgetQuestionOf(event.taskId);
        return;
      case 'task-ended':
        this.#waiting.delete(event.taskId);
        this.#forgetQuestionOf(event.taskId);
        if (this.#task?.taskId === event.taskId) this.#end();
        return;
      default:
        return;
    }
  }

  /** What the task came to that ended last, once. */
  takeEnd(): { readonly tookMs: number; readonly turns: number; readonly tokens: number } | null {
    const task = this.#ended;
    this.#ended = null;
    if (task === null) return null;
    return { tookMs: Math.round(this.#nowMs() - task.startedMs), turns: task.turn, tokens: task.tokens };
  }

  /**
   * Returns null where nothing goes on. Leaves out what does not fit into so many columns: tokens, the share of the context in percent and messages that wait first,
   * then the middle of what goes on. The hint, what can be done, is said at any width that holds it.
   */
  row(hint: string, columns = Infinity, share: number | null = null): string | null {
    const task = this.#task;
    if (task === null) return null;
    const nowMs = this.#nowMs();
    const turning = this.#hasUnicode ? spinner : asciiSpinner;
    const sign = turning[Math.floor(nowMs / spinMs) % turning.length] ?? '';
    const doing = `${sign} ${this.#doing(nowMs)}`;
    const hints = hint === '' ? [] : [hint];
    const tokens = task.tokens > 0 ? [`${shownCount(task.tokens)} tokens`] : [];
    const waiting = this.#waiting.size > 0 ? [waitingOf(this.#waiting.size)] : [];
    const context = share === null || share === 0 ? [] : [shareOf(share)];
    for (const between of [[...tokens, ...context, ...waiting], [...context, ...waiting], waiting, []]) {
      const row = [doing, ...between, ...hints].join(separator);
      if (widthOf(row) <= columns) return row;
    }
    const end = [separator, ...hints].join('');
    const room = columns - widthOf(end);
    return hints.length > 0 && room >= fewestCells ? cutInMiddle(doing, room) + end : cutInMiddle(doing, columns);
  }

  #doing(nowMs: number): string {
    const task = this.#task;
    if (task === null) return '';
    if (this.#question !== null) return `waiting for you, ${seconds(nowMs - this.#question.sinceMs)}`;
    const running = Array.from(this.#running.values(), ({ about }) => about);
    const took = seconds(nowMs - task.startedMs);
    if (running.length > 0) return `${firstNames(running, 1)}, ${took}`;
    if (this.#againMs > nowMs) return `asking the model again in ${Math.ceil((this.#againMs - nowMs) / 1000)} s`;
    const silentMs = nowMs - this.#lastHeardMs;
    if (this.#isModelAsked && silentMs >= silenceMs) return `waiting for the model, ${seconds(silentMs)}`;
    return `turn ${Math.max(1, task.turn)}, ${took}`;
  }

  /** The last line that a running command has written, of several the one that began first; null where none has. */
  get lastLine(): string | null {
    for (const { lastLine } of this.#running.values()) if (lastLine !== '') return lastLine;
    return null;
  }

  #begin(taskId: string): void {
    this.#waiting.delete(taskId);
    this.#task = { taskId, startedMs: this.#nowMs(), turn: 0, tokens: 0 };
    this.#ended = null;
  }

  #end(): void {
    this.#ended = this.#task;
    this.#task = null;
    this.#running.clear();
    this.#againMs = 0;
    this.#isModelAsked = false;
  }

  /** The question of a child is asked while another task runs, and may outlast that. */
  #forgetQuestionOf(taskId: string): void {
    if (this.#question?.taskId === taskId) this.#question = null;
  }
}

/** The last state of a line that is written over and over, as a progress bar is. */
function lastLineOf(text: string): string {
  const lines = text.split(/[\r\n]+/);
  return inertLine(lines.findLast((line) => line.trim() !== '') ?? '', maxLine);
}

/** How many percent of what a model takes at once these tokens are, at most 100; null where nobody knows what it takes. */
export function percentOf(size: number | null, tokens: number): number | null {
  return size === null ? null : Math.min(100, Math.round((100 * tokens) / size));
}

/** How full the context of the model is. */
export function shareOf(percent: number): string {
  return `${percent} % of the context`;
}

function waitingOf(count: number): string {
  return count === 1 ? '1 message waits' : `${shownCount(count)} messages wait`;
}

/** Whole seconds: the row changes no oftener than that for it. */
function seconds(ms: number): string {
  return ms < 60_000 ? `${Math.floor(ms / 1000)} s` : shownDuration(Math.round(ms));
}
