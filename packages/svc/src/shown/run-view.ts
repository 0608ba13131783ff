/** The view of `svc run` on a terminal: shows the session, and lets the person answer its questions. */

import { createInterface, type Interface } from 'node:readline';

import type { RunningCapsule, RunOutcome, Steering } from '@svc/capsule/launch/running-capsule.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import type { Activity } from '@svc/session/task/activity.ts';
import { type OutputPiece, OutputTails } from '@svc/session/stream/output-tails.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { isInForeground } from '@svc/terminal/keyboard/foreground.ts';
import type { Key } from '@svc/terminal/keyboard/key.ts';
import { LineEditor } from '@svc/terminal/keyboard/line-editor.ts';
import { RawTerminal } from '@svc/terminal/keyboard/raw-terminal.ts';
import { usesColor } from '@svc/terminal/screen/render-failure.ts';
import { say, type Shown } from '@svc/terminal/screen/shown.ts';
import type { LiveRows } from '@svc/terminal/screen/live-screen.ts';
import type { AskedApproval } from '@svc/protocol/approval.ts';
import { approvalAnswer, approvalPrompt, readingMs } from './approval-rows.ts';
import { eventsOf } from './activity-events.ts';
import { logsCommandOf } from './cut-output.ts';
import { inputRows } from './input-rows.ts';
import type { SessionEvent, ShownResult } from './session-event.ts';
import { percentOf } from './session-status.ts';
import { SessionView } from './session-view.ts';

const maxInputRows = 5;
/** What shows that the text before it was not the answer. */
const goesOn: ReadonlySet<SessionEvent['kind']> = new Set([
  'said',
  'task-started',
  'turn',
  'call',
  'result',
  'retry',
  'question',
]);

/**
 * Shows the work of this process's session below what `svc run` prints. Where standard input is the terminal too, keys are read: a line answers the question
 * that waits, Esc cancels the task, Ctrl+C is the signal that it always is. `close` gives the terminal back.
 */
export class RunView {
  readonly #context: CommandContext;
  readonly #readsKeys: boolean;
  readonly #editor = new LineEditor();
  #view: SessionView | null = null;
  #keyboard: RawTerminal | null = null;
  /** Read instead of keys, where nothing is drawn twice. */
  #lines: Interface | null = null;
  /** The question that waited when the line was begun, which alone it answers without being asked for again. */
  #begunFor: string | null = null;
  #steering: Steering | null = null;
  /** When the last approval was shown. */
  #askedMs = -Infinity;
  #session = '';
  /** Tasks that came to no answer, by what they came to. */
  readonly #unanswered = { failed: 0, canceled: 0 };
  #endOutput = (): void => {};
  /** What the model takes at once; null where nobody knows. */
  readonly #contextTokens: number | null;
  /** What its last answer and all before it took of that. */
  #usedTokens = 0;
  /** The text that may be the answer; null where every text is shown. */
  #held: SessionEvent[] | null;

  /** `readsKeys` is false where standard input is for something else. With `isAnswerElsewhere` the last text of the model is not shown here. */
  constructor(
    context: CommandContext,
    readsKeys: boolean,
    isAnswerElsewhere = false,
    contextTokens: number | null = null,
  ) {
    this.#context = context;
    this.#readsKeys = readsKeys;
    this.#contextTokens = contextTokens;
    this.#held = isAnswerElsewhere ? [] : null;
  }

  /** Called once the capsule listens. */
  open({ sessionId }: Pick<RunningCapsule, 'sessionId'>, steering: Steering): void {
    this.#session = sessionId.slice(-4);
    this.#steering = steering;
    this.#view = this.#newView();
    this.#showOutput(steering);
    if (!this.#readsKeys) return;
    if (this.#view.screen.isLive) this.#readKeys(this.#view);
    else if (process.stdin.isTTY && isInForeground()) this.#readLines();
  }

  /** What a command that runs writes, as those see it who watch through the door. */
  #showOutput(steering: Steering): void {
    const tell = ({ call: { callId }, text, leftOutBytes }: OutputPiece): void =>
      this.#view?.show({ kind: 'output', callId, text, leftOutBytes });
    const tails = new OutputTails({ clock: systemClock, redact: steering.redact, tell });
    const leave = steering.hearOutput(tails);
    this.#endOutput = () => {
      leave();
      tails.close();
    };
  }

  #readKeys(view: SessionView): void {
    this.#keyboard = RawTerminal.open({
      stdin: process.stdin,
      output: this.#context.stderr,
      onKeys: (keys) => this.#press(keys),
      onSuspend: () => view.screen.suspend(),
      onResume: () => view.screen.resume(),
    });
    view.input = () => this.#inputRows();
  }

  #readLines(): void {
    this.#lines = createInterface({ input: process.stdin, terminal: false });
    this.#lines.on('line', (line) => {
      this.#editor.set(line);
      this.#begunFor = this.#waiting;
      this.#submit();
      this.#editor.set('');
    });
  }

  /** The same for a session that nobody can do anything to, such as a replay. */
  openUnsteered(session: string): void {
    this.#session = session.slice(-4);
    this.#view = this.#newView();
  }

  note(activity: Activity, isReasonTold = true): void {
    for (const event of eventsOf(activity, isReasonTold)) {
      if (event.kind === 'usage') this.#usedTokens = event.tokens;
      if (event.kind === 'question' && event.approval !== undefined) this.#forgetTyped();
      this.#show(event);
      if (event.kind === 'question' && event.approval !== undefined && this.#lines !== null) {
        this.say(say`${approvalPrompt(event.approval)}\n`);
      }
    }
    if (activity.kind !== 'task-settled') return;
    const { state } = activity.task;
    if (state === 'failed' || state === 'canceled') this.#unanswered[state] += 1;
  }

  #forgetTyped(): void {
    this.#editor.set('');
    this.#askedMs = systemClock.monotonicMs();
  }

  #show(event: SessionEvent): void {
    if (this.#held !== null && (event.kind === 'text' || event.kind === 'text-ended')) {
      this.#held.push(event);
      return;
    }
    if (goesOn.has(event.kind)) for (const held of this.#held?.splice(0) ?? []) this.#view?.show(held);
    this.#view?.show(event);
  }

  /** Rows of `svc`, between those of the session once it is shown. */
  say(rows: Shown): void {
    if (this.#view === null) this.#context.stderr.write(rows);
    else this.#view.say(rows);
  }

  /** Says last why a session counts as failed although it was stopped while no task ran. */
  async close(outcome: Pick<RunOutcome, 'status' | 'stoppedIdle'> | null = null): Promise<void> {
    if (outcome?.status === 'failed' && outcome.stoppedIdle) this.#sayWhyFailed();
    const [view, keyboard] = [this.#view, this.#keyboard];
    this.#view = this.#keyboard = null;
    this.#endOutput();
    this.#endOutput = () => {};
    view?.close();
    this.#lines?.close();
    await keyboard?.close();
  }

  #sayWhyFailed(): void {
    const { failed, canceled } = this.#unanswered;
    this.say(say`the status is failed for what tasks came to before: ${failed} failed, ${canceled} canceled\n`);
  }

  #newView(): SessionView {
    const { stderr } = this.#context;
    return new SessionView(stderr, {
      useColor: usesColor(this.#context),
      nowMs: () => systemClock.monotonicMs(),
      keysHint: () => (this.#keyboard === null ? '' : 'Esc cancels'),
      answerHint: () => {
        if (this.isAnswering) return '';
        return this.#view?.question?.approval === undefined ? `svc answer ${this.#session}` : 'svc approve';
      },
      wholeOutput: ({ step }: ShownResult) => `svc trace show ${this.#session}${step === null ? '' : ` ${step}`}`,
      keptOutput: (result) => logsCommandOf(this.#session, result),
      contextPercent: () => percentOf(this.#contextTokens, this.#usedTokens),
    });
  }

  #press(keys: readonly Key[]): void {
    for (const key of keys) this.#pressOne(key);
    this.#view?.draw();
  }

  get #waiting(): string | null {
    const question = this.#view?.question ?? null;
    return question === null ? null : `${question.taskId} ${question.waitId}`;
  }

  #pressOne(key: Key): void {
    if (this.#view?.question?.approval !== undefined && this.#isTooEarly && key.kind !== 'press') return;
    if (this.#editor.isEmpty) this.#begunFor = this.#waiting;
    switch (this.#editor.press(key)) {
      case 'submit':
        return this.#submit();
      case 'full':
        return this.say(say`! the line is full: what was typed last is left out\n`);
      case 'unknown':
        return this.#command(key);
      default:
        return;
    }
  }

  #command(key: Key): void {
    if (key.kind !== 'press') return;
    if (key.ctrl && key.name === 'c') process.kill(process.pid, 'SIGINT');
    else if (key.ctrl && key.name === 'l') this.#view?.screen.redraw();
    else if (key.name === 'escape') this.#escape();
  }

  #escape(): void {
    if (!this.#editor.isEmpty) return this.#editor.set('');
    const task = this.#view?.runningTask ?? null;
    if (task !== null) this.#steering?.cancel(task);
  }

  /** Whether a person can answer here. */
  get isAnswering(): boolean {
    return this.#keyboard !== null || this.#lines !== null;
  }

  /** `Enter` alone is a no. What was typed before the call was shown answers nothing. */
  #decide(text: string, asked: AskedApproval): void {
    this.#editor.set('');
    if (this.#isTooEarly) return;
    const answer = approvalAnswer(text, asked);
    if (answer === null) return this.say(say`! ${approvalPrompt(asked)}\n`);
    const question = this.#view?.question ?? null;
    if (question !== null) this.#view?.answering(question);
    const why = this.#steering?.decide(answer) ?? null;
    this.say(say`${why ?? (answer.decision === 'allow' ? 'allowed' : 'denied')}\n`);
  }

  get #isTooEarly(): boolean {
    return systemClock.monotonicMs() - this.#askedMs < readingMs;
  }

  #submit(): void {
    const { text } = this.#editor;
    const question = this.#view?.question ?? null;
    if (question?.approval !== undefined) return this.#decide(text, question.approval);
    if (text.trim() === '') return;
    if (question === null)
      return this.say(say`nothing waits for an answer; svc chat ${this.#session} talks to the capsule\n`);
    if (this.#begunFor !== this.#waiting) {
      this.#begunFor = this.#waiting;
      return this.say(
        say`! the question came after this line was begun: Enter again answers it, Esc clears the line\n`,
      );
    }
    this.#editor.set('');
    this.#view?.answering(question);
    if (this.#steering?.answer(question, text) === true) this.say(say`answer> ${text}\n`);
    else this.say(say`that question does not wait any more\n`);
  }

  #inputRows(): LiveRows | null {
    if (this.#keyboard === null || this.#view === null) return null;
    const { question } = this.#view;
    if (question === null && this.#editor.isEmpty) return null;
    const { liveColumns: columns, maxLiveRows } = this.#view.screen;
    const most = Math.min(maxInputRows, Math.max(1, maxLiveRows - 1));
    const asked = question?.approval === undefined ? 'answer> ' : approvalPrompt(question.approval);
    const prompt = question === null ? '> ' : asked;
    return inputRows(prompt, (wide, high) => this.#editor.layout(wide, high), { columns, most });
  }
}
