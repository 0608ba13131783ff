/** Shows the work of a session on a terminal while it happens. */

import type { AskedApproval } from '@svc/protocol/approval.ts';
import type { Question, QuestionName } from '@svc/protocol/question.ts';
import pc from 'picocolors';

import { redactHandles } from '@svc/kit/diagnostics/handle-id.ts';
import { shownCount, shownDuration } from '@svc/kit/shown-values.ts';
import { backgroundEnd } from '@svc/session/loop/background-ends.ts';
import type { LiveRows } from '@svc/terminal/screen/live-screen.ts';
import type { Output } from '@svc/terminal/screen/output.ts';
import { openScreen, type Screen } from '@svc/terminal/screen/screen.ts';
import { exact, say, Shown } from '@svc/terminal/screen/shown.ts';
import { inert, inertLine } from '@svc/terminal/screen/inert-text.ts';
import { cutToWidth, terminalOf } from '@svc/terminal/screen/terminal-kind.ts';
import { approvalRows } from './approval-rows.ts';
import { type CallBody, callBody, callHead, cutInMiddle, headRow, shownCall } from './call-rows.ts';
import { LastLines } from './cut-output.ts';
import type { SessionEvent, ShownResult } from './session-event.ts';
import { SessionStatus, shareOf } from './session-status.ts';
import { Transcript } from './transcript.ts';

const maxReason = 400;
/** Calls that run, and messages that wait; of more, and of longer ones, less is shown at their end. */
const maxKept = 256;
const maxRowLength = 400;
/** Limit for what a person said. */
const maxSaidLines = 10;
/** The last lines of what a command gave that a person typed. */
const maxTypedLines = 200;
/** A spinner turns, and seconds pass. */
const tickMs = 125;
/** Where nothing is drawn twice, what goes on for long is said again this often. */
const plainStatusMs = 30_000;

export interface ViewSettings {
  readonly useColor: boolean;
  /** The clock, which only rises. */
  readonly nowMs: () => number;
  /** What keys do, for the end of the status row. */
  readonly keysHint: () => string;
  /** How a question is answered, for the same place; empty where a line to type in says it. */
  readonly answerHint: () => string;
  /** How a person sees the whole output of a call: `/show 7`; null where that is impossible. */
  readonly wholeOutput: (result: ShownResult) => string | null;
  /** The same of an output that its result does not hold whole: `svc logs 4f1a 7`. */
  readonly keptOutput: (result: ShownResult) => string | null;
  /** How many percent of the model's context are used, for the status row and the end of a task; null where nobody knows. */
  readonly contextPercent?: () => number | null;
}

/**
 * Shows the events of a session: each call with what came of it, the answer as it streams, questions, ends (docs/cli.md "svc run"). What others wrote stands
 * behind the gutter. Below it, where the terminal can, what goes on now, and a line of input. `close` gives the terminal back.
 */
export class SessionView {
  readonly screen: Screen;
  readonly #settings: ViewSettings;
  readonly #transcript: Transcript;
  readonly #color: ReturnType<typeof pc.createColors>;
  readonly #status: SessionStatus;
  /** The rows of the calls that run, by their ids. */
  readonly #calls = new Map<string, string>();
  readonly #lastLines = new LastLines();
  #input: () => LiveRows | null = () => null;
  /** How the messages that wait begin, by their tasks: said again when their turn has come. */
  readonly #waiting = new Map<string, string>();
  /** Rows between transcript and status, such as what could be completed. */
  #notes: readonly string[] = [];
  /** Questions that the person at this terminal answers: that is shown as it is typed. */
  readonly #answered = new Set<string>();
  /** Tasks that are a command which a person typed, by the `!` before it. */
  readonly #typed = new Set<string>();
  /** Hears of a call that waits for approval, once it is shown. */
  onCall: (asked: AskedApproval) => void = () => {};
  #isRetryTold = false;
  #timer: NodeJS.Timeout | undefined;
  #saidMs = 0;

  /** `page` takes the rows where nothing goes on. */
  constructor(output: Output, settings: ViewSettings, page?: Screen) {
    this.#settings = settings;
    const terminal = output.terminal ?? terminalOf({});
    this.screen =
      page ??
      openScreen(
        output,
        () => this.#liveRows(),
        () => this.#transcript.resized(),
      );
    this.#color = pc.createColors(settings.useColor);
    this.#transcript = new Transcript(this.screen, terminal, this.#color);
    this.#status = new SessionStatus(settings.nowMs, terminal.hasUnicode);
  }

  /** What the person types, drawn with every frame. */
  set input(rows: () => LiveRows | null) {
    this.#input = rows;
    this.draw();
  }

  /** Whether a question waits, and the task that asks it. */
  get question(): Question | null {
    return this.#status.question;
  }

  /** The person answers a question here, so that its end is not shown as somebody else's. Called before the answer is given. */
  answering({ taskId, waitId }: QuestionName): void {
    if (this.#answered.size < maxKept) this.#answered.add(`${taskId} ${waitId}`);
  }

  /** The task that runs; null between tasks. */
  get runningTask(): string | null {
    return this.#status.taskId;
  }

  show(event: SessionEvent): void {
    this.#status.note(event);
    this.#tell(event);
    this.draw();
  }

  /** Rows of `svc` between those of the view; an answer that streams goes on behind them. */
  say(rows: Shown): void {
    this.#transcript.beside(rows);
    this.draw();
  }

  /** A whole text of others, in the same place. */
  quote(text: string): void {
    this.#transcript.quoteBeside(text);
    this.draw();
  }

  /** Rows above the status until the next ones. */
  note(rows: readonly string[]): void {
    this.#notes = rows.map((row) => exact(row));
    this.draw();
  }

  /** Something below the transcript has changed. */
  draw(): void {
    this.screen.changed();
    this.#tickWhile(this.#status.taskId !== null);
  }

  #liveRows(): LiveRows {
    const rows: string[] = [];
    this.#transcript.layOut();
    if (!this.screen.isSmall) rows.push(...this.#transcript.openRows, ...this.#notes);
    const { lastLine } = this.#status;
    if (!this.screen.isSmall && lastLine !== null) {
      const quoted = this.#transcript.quotedRow(lastLine);
      rows.push(this.#color.dim(cutToWidth(quoted, this.screen.liveColumns)));
    }
    const { keysHint, answerHint } = this.#settings;
    const hint = this.question === null ? keysHint() : answerHint();
    const status = this.#status.row(hint, this.screen.liveColumns, this.#percent);
    if (status !== null) rows.push(this.#color.dim(this.#transcript.drawable(status)));
    const input = this.#input();
    const cursor = input?.cursor ?? null;
    return {
      rows: [...rows, ...(input?.rows ?? [])],
      cursor: cursor === null ? null : { row: rows.length + cursor.row, column: cursor.column },
    };
  }

  /** Ends the text that is open and takes the live rows away. */
  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#transcript.endQuote();
    this.screen.close();
  }

  #tickWhile(isBusy: boolean): void {
    if (isBusy && this.#timer === undefined) {
      this.#timer = setInterval(() => this.#tick(), tickMs);
      this.#timer.unref();
      this.#saidMs = this.#settings.nowMs();
    } else if (!isBusy) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }

  /** Without live rows, a status that lasts is said every 30 s. */
  #tick(): void {
    if (this.screen.isLive) return this.screen.changed();
    const hint = this.question === null ? '' : this.#settings.answerHint();
    const status = this.#status.row(hint, Infinity, this.#percent);
    const nowMs = this.#settings.nowMs();
    if (status === null || nowMs - this.#saidMs < plainStatusMs) return;
    this.#saidMs = nowMs;
    this.#transcript.own(say`${status}`);
  }

  #tell(event: SessionEvent): void {
    switch (event.kind) {
      case 'said':
        return this.#said(event);
      case 'text':
      case 'thinking':
        return this.#transcript.quote(event.kind, event.text);
      case 'text-ended':
        return this.#transcript.endQuote();
      case 'call':
        return this.#began(event);
      case 'result':
        return this.#result(event.result);
      case 'shown-by-hook':
        this.#own(say`* ${inertLine(event.name, maxReason)}`);
        return this.#transcript.aside(event.content);
      case 'shortened':
        return this.#own(say`- ${inertLine(event.by, maxReason)} has shortened the conversation for the model`);
      case 'retry':
        return this.#retry(event);
      case 'question':
        if (event.approval !== undefined) {
          this.#own(approvalRows(event.approval), 'yellow');
          return this.onCall(event.approval);
        }
        this.#own(
          say`? ${this.#status.hasQuestionOfOther ? `${event.taskId.slice(-8)} asks:` : 'asked for:'}`,
          'yellow',
        );
        return this.#transcript.asked(event.prompt);
      case 'question-settled':
        return this.#settled(event);
      case 'task-ended':
        return this.#ended(event);
      case 'task-started':
        return this.#sayAgain(event.taskId);
      case 'output':
        return this.#lastLines.add(event.callId, event.text, event.leftOutBytes);
      case 'turn':
      case 'usage':
        return;
    }
  }

  /** A repetition that was shown as its wait began is not shown again when it comes. */
  #retry({ reason, wait }: Extract<SessionEvent, { readonly kind: 'retry' }>): void {
    const isTold = this.#isRetryTold;
    this.#isRetryTold = wait !== null;
    if (wait === null && isTold) return;
    const why = inertLine(reason, maxReason);
    if (wait === null) return this.#own(say`! asking the model again: ${why}`, 'yellow');
    const seconds = Math.max(1, Math.ceil(wait.waitMs / 1000));
    this.#own(say`! ${why}: again in ${seconds} s (${wait.attempt} of ${wait.of})`, 'yellow');
  }

  #settled({ taskId, waitId, end, answer }: Extract<SessionEvent, { readonly kind: 'question-settled' }>): void {
    if (end === 'timed-out') return this.#own(say`- the question was not answered in time`);
    if (this.#answered.delete(`${taskId} ${waitId}`) || end !== 'answered') return;
    this.#own(say`- answered elsewhere${answer === null ? '' : ':'}`);
    if (answer !== null) this.#transcript.aside(answer);
  }

  /** What was said while another task ran stands far above its answer. */
  #sayAgain(taskId: string): void {
    const row = this.#waiting.get(taskId);
    this.#waiting.delete(taskId);
    if (row !== undefined) this.#own(Shown.cleaned(row), 'bold');
  }

  #said({ taskId, text, by, waiting }: Extract<SessionEvent, { readonly kind: 'said' }>): void {
    const lines = inert(text.slice(0, 64 * 1024))
      .replace(/(?<!\n)\n+$/, '')
      .split('\n');
    const shown = lines.slice(0, maxSaidLines);
    const more = lines.length - shown.length;
    const from = by === 'user' ? '' : by === 'peer' ? '[another capsule] ' : endOf(text);
    const rows = shown.map((line, index) => `${index === 0 ? `> ${from}` : '  '}${exact(line)}`);
    if (more > 0) rows.push(`  … ${linesText(more)} more`);
    if (by === 'user' && text.startsWith('!') && this.#typed.size < maxKept) this.#typed.add(taskId);
    const isWaiting = waiting > 0;
    if (isWaiting) {
      const row = cutToWidth(rows[0] ?? '', maxRowLength);
      if (this.#waiting.size < maxKept) this.#waiting.set(taskId, lines.length > 1 ? `${row} …` : row);
      rows.push(`  waiting (${ordinal(waiting)})`);
    }
    this.#own(Shown.cleaned(rows.join('\n')), by === 'user' ? 'bold' : 'none', isWaiting);
  }

  #began({ callId, name, ...given }: Extract<SessionEvent, { readonly kind: 'call' }>): void {
    if (callId === null || name === questionTool || this.#calls.size >= maxKept) return;
    const { mark, about } = shownCall(name, given);
    this.#calls.set(callId, cutInMiddle(`${mark} ${about}`, maxRowLength));
  }

  #result(result: ShownResult): void {
    if (result.callId !== null) this.#calls.delete(result.callId);
    const written = this.#lastLines.take(result.callId);
    // Its question and its answer are shown as such.
    if (result.name === questionTool && !result.isError) return;
    const call = shownCall(result.name, result);
    const head = callHead(call, result);
    const { red, dim } = this.#color;
    const paint = head.hasFailed ? red : dim;
    this.#transcript.laidOut(redactHandles(headRow(head, this.screen.columns, paint)));
    const isTyped = this.#typed.has(this.#status.taskId ?? '');
    const body = isTyped ? callBody(call, result, null, maxTypedLines) : callBody(call, result, written);
    const lines = this.#bodyLines(result, body);
    if (lines.length > 0) this.#transcript.aside(lines.join('\n'));
  }

  #bodyLines(result: ShownResult, { lines, more, isMoreBefore, cut, isEnd }: CallBody): readonly string[] {
    const { wholeOutput, keptOutput } = this.#settings;
    const rest = more === 0 ? [] : [`… ${linesText(more)} more${place(wholeOutput(result))}`];
    const shown = isMoreBefore ? [...rest, ...lines] : [...lines, ...rest];
    if (cut === null) return shown;
    const kept = cut === 'kept' ? place(keptOutput(result)) : ' is not kept';
    return isEnd ? [`… the whole output${kept}`, ...shown] : [...shown, `… the end${kept}`];
  }

  #ended({ taskId, state, reason }: Extract<SessionEvent, { readonly kind: 'task-ended' }>): void {
    const waited = this.#waiting.get(taskId);
    this.#waiting.delete(taskId);
    this.#typed.delete(taskId);
    if (waited !== undefined && state === 'canceled')
      return this.#own(Shown.cleaned(`- canceled before it began: ${waited.replace(/^> /, '')}`), 'none', true);
    const facts = this.#status.takeEnd();
    if (facts !== null) this.#cutOff();
    const took = facts === null ? '' : ` in ${shownDuration(facts.tookMs)}`;
    const turns =
      facts === null || facts.turns === 0 ? '' : ` · ${facts.turns === 1 ? '1 turn' : `${facts.turns} turns`}`;
    const tokens = facts === null || facts.tokens === 0 ? '' : ` · ${shownCount(facts.tokens)} tokens${this.#share()}`;
    switch (state) {
      case 'completed':
        return this.#own(say`- done${took}${turns}${tokens}`, 'bold');
      case 'canceled':
        return this.#own(say`- canceled${took}${turns}${tokens}`);
      default:
        return this.#own(
          say`✗ ${inertLine(state, maxReason)}${took}${turns}${tokens}${reason === null ? '' : `: ${inertLine(reason, maxReason)}`}`,
          'red',
        );
    }
  }

  get #percent(): number | null {
    return this.#settings.contextPercent?.() ?? null;
  }

  #share(): string {
    return this.#percent === null ? '' : ` · ${shareOf(this.#percent)}`;
  }

  /** Calls that the end of their task has cut off. */
  #cutOff(): void {
    for (const left of this.#calls.values()) {
      const head = { left, right: 'canceled', hasFailed: true };
      this.#transcript.laidOut(redactHandles(headRow(head, this.screen.columns, this.#color.red)));
    }
    this.#calls.clear();
    this.#lastLines.clear();
  }

  #own(rows: Shown, paint: 'red' | 'yellow' | 'bold' | 'none' = 'none', isBeside = false): void {
    const text = Shown.cleaned(paint === 'none' ? rows.text : this.#color[paint](rows.text));
    if (isBeside) this.#transcript.beside(text);
    else this.#transcript.own(text);
  }
}

/** The bundled tool that asks the sender of the task. */
const questionTool = 'svc-tool-request-input';

/** What has ended, in a message of the session's own. */
function endOf(text: string): string {
  return text.startsWith(backgroundEnd) ? '[a background command ended] ' : '[a delegated session ended] ';
}

/** Behind what is not shown, where it is seen. */
function place(command: string | null): string {
  return command === null ? '' : `: ${command}`;
}

function linesText(count: number): string {
  return count === 1 ? '1 line' : `${shownCount(count)} lines`;
}

function ordinal(place: number): string {
  return place === 1 ? '1st' : place === 2 ? '2nd' : place === 3 ? '3rd' : `${place}th`;
}
