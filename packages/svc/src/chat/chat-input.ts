/** Turns what a person types into a chat into what the chat does. */

import type { AskedApproval } from '@svc/protocol/approval.ts';
import type { Question } from '@svc/protocol/question.ts';
import { createInterface, type Interface } from 'node:readline';

import { raise } from '@svc/kit/diagnostics/diagnostic.ts';
import { readPersonKey } from '@svc/record/running/person-key-file.ts';
import type { RunningRecord } from '@svc/record/sessions/running-record.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import type { History } from '@svc/terminal/keyboard/history.ts';
import type { Key, Press } from '@svc/terminal/keyboard/key.ts';
import { LinePrompt } from '@svc/terminal/keyboard/line-prompt.ts';
import { RawTerminal } from '@svc/terminal/keyboard/raw-terminal.ts';
import { render, renderFailure } from '@svc/terminal/screen/render-failure.ts';
import type { LiveRows } from '@svc/terminal/screen/live-screen.ts';
import { cutToWidth } from '@svc/terminal/screen/terminal-kind.ts';
import { inertLine } from '@svc/terminal/screen/inert-text.ts';
import { say } from '@svc/terminal/screen/shown.ts';
import { approvalAnswer, approvalPrompt, readingMs } from '../shown/approval-rows.ts';
import { inputRows } from '../shown/input-rows.ts';
import type { SessionView } from '../shown/session-view.ts';
import { completeLine } from './complete-line.ts';
import { ChatPrompts } from './chat-prompts.ts';
import type { ChatEnd, ChatSession } from './chat-session.ts';
import type { SentMessage } from './kept-results.ts';
import { chatWords, type CommandScope, lineOf, runSlashCommand } from './slash-commands.ts';

const maxInputRows = 5;
const maxCommand = 400;
/** Ctrl+C twice, or Esc twice, within this time. */
const twiceMs = 1000;
/** A connection whose answers take longer gets fewer frames. */
const farMs = 80;
const farFrameMs = 100;

interface InputParts {
  readonly context: CommandContext;
  readonly chat: ChatSession;
  readonly view: SessionView;
  /** It is null for a capsule that is no session of this user, and for one that is being started. */
  readonly record: RunningRecord | null;
  readonly history: History;
  /** Whether the capsule was started for this chat. */
  readonly isOwn: boolean;
  /** Ends the capsule. */
  readonly stop: () => Promise<void>;
  /** Has the chat go on with another model, or says why not. */
  readonly changeModel: (name: string) => Promise<void>;
}

/**
 * Reads what a person types into a chat: keys on a terminal that can be redrawn, whole lines elsewhere. `ended` returns the exit code, `close` gives
 * the terminal back.
 */
export class ChatInput {
  readonly #parts: InputParts;
  readonly #prompts: ChatPrompts;
  readonly #scope: CommandScope;
  #keyboard: RawTerminal | null = null;
  #lines: Interface | null = null;
  /** Whether the chat asks now if it should stop the capsule or keep it running. */
  #isLeaving = false;
  #lastInterruptMs = -twiceMs;
  #lastEscapeMs = -twiceMs;
  /** The last message that waited when Esc was pressed first. The cancel of the task before it may have started it. */
  #lastWaiting: SentMessage | null = null;
  #askedPositionMs = 0;
  /** The question whose answer is typed, and since when it is shown. */
  #shown: Question | null = null;
  #shownMs = 0;
  #isPerson: boolean | null = null;
  /** Resolves when all work that was begun is done. The chat waits for it before it ends. */
  #work: Promise<void> = Promise.resolve();

  constructor(parts: InputParts) {
    this.#parts = parts;
    const { context, chat, view } = parts;
    // Commands start in the folder that the capsule was given, so its paths mean there what they mean here.
    const complete = async (text: string, cursor: number) =>
      await completeLine(text, cursor, {
        words: chatWords(chat.snapshot),
        folder: parts.record?.project_folder ?? parts.record?.workdir ?? null,
      });
    const prompt = (): LinePrompt => new LinePrompt({ history: parts.history, complete });
    this.#prompts = new ChatPrompts(prompt(), prompt());
    this.#scope = {
      chat,
      context,
      get record() {
        return parts.record;
      },
      quote: (text) => view.quote(text),
      clear: () => view.screen.append(Array.from({ length: rowsOf(context) }, () => '')),
      leave: () => this.#leave(),
      changeModel: parts.changeModel,
      stop: async () => await this.#stop(),
    };
  }

  /** Begins to read what is typed. */
  open(): void {
    const { context, view } = this.#parts;
    const { stdin } = process;
    if (view.screen.isLive) {
      this.#keyboard = RawTerminal.open({
        stdin,
        output: context.stdout,
        onKeys: (keys) => this.#press(keys),
        onSuspend: () => view.screen.suspend(),
        onResume: () => view.screen.resume(),
        onEnd: () => this.#onSignal(),
      });
      view.input = () => this.#rows();
      this.#askedPositionMs = performance.now();
      if (this.#keyboard !== null) view.screen.askPosition();
    } else {
      this.#lines = createInterface({ input: stdin, terminal: false });
      this.#lines.on('line', (line) => this.#submit(line, view.question));
      this.#lines.on('close', () => this.#leave());
      view.onCall = (asked) => {
        if (!this.#mayDecide) return;
        // From now on a line is an answer.
        this.#prompt.set('');
        this.#parts.chat.say(say`${approvalPrompt(asked)}\n`);
      };
    }
    for (const signal of endings) process.on(signal, this.#onSignal);
  }

  /** Waits for the work that was begun, prints how the chat ended, and returns the exit code. */
  async ended(end: ChatEnd): Promise<number> {
    const { chat, record } = this.#parts;
    await this.#work;
    if (end === 'closed') chat.say(say`- the capsule has ended\n`);
    if (end === 'left' && record === null) chat.say(say`- the capsule keeps running\n`);
    else if (end === 'left') {
      const session = record?.session_id.slice(-4) ?? '';
      chat.say(say`- it keeps running: svc chat ${session} joins it, svc stop ${session} ends it\n`);
    }
    return end === 'lost' ? 1 : 0;
  }

  async close(): Promise<void> {
    for (const signal of endings) process.off(signal, this.#onSignal);
    this.#lines?.removeAllListeners('close');
    this.#lines?.close();
    await this.#keyboard?.close();
  }

  /** When the terminal is closed or a signal comes, stops a capsule that was started for this chat: nobody would know that it still runs. */
  readonly #onSignal = (): void => {
    if (this.#parts.isOwn) this.#stopUnasked();
    else this.#parts.chat.end('left');
  };

  /** Leaves the chat even when the capsule does not stop, as nobody is there to choose. */
  #stopUnasked(): void {
    this.#do(async () => await this.#stop());
    this.#do(async () => this.#parts.chat.end('left'));
  }

  #press(keys: readonly Key[]): void {
    for (const key of keys) {
      if (key.kind === 'cursor-position') this.#heardPosition();
      else if (this.#isLeaving) this.#decide(key);
      else this.#edit(key);
    }
    this.#parts.view.draw();
  }

  #heardPosition(): void {
    if (performance.now() - this.#askedPositionMs > farMs) this.#parts.view.screen.frameMs = farFrameMs;
  }

  /** The line that is typed into now. */
  get #prompt(): LinePrompt {
    const { question } = this.#parts.view;
    this.#prompts.turnTo(question?.approval === undefined || this.#mayDecide ? question : null);
    const { asked } = this.#prompts;
    if (asked !== this.#shown) this.#shownMs = performance.now();
    this.#shown = asked;
    return this.#prompts.current;
  }

  #edit(key: Key): void {
    const { chat, view } = this.#parts;
    const prompt = this.#prompt;
    if (this.#isTooEarly && key.kind !== 'press') return;
    const edit = prompt.press(key);
    if (typeof edit !== 'string') return void edit.candidates.then((candidates) => view.note(candidates), raise);
    switch (edit) {
      case 'submit':
        view.note([]);
        return this.#submitLine();
      case 'full':
        return chat.say(say`! the line is full: what was typed last is left out\n`);
      case 'unknown':
        if (key.kind === 'press') this.#command(key);
        return;
      case 'changed':
        return view.note([]);
      case 'nothing':
        return;
    }
  }

  /** Whether the calls of this capsule are approved here: its key shows that the person started it. */
  get #mayDecide(): boolean {
    const { record, context } = this.#parts;
    this.#isPerson ??= record === null ? null : readPersonKey(context.home, record) !== null;
    return this.#isPerson === true;
  }

  /** A call has to be read before its answer counts. */
  get #isTooEarly(): boolean {
    return this.#shown?.approval !== undefined && performance.now() - this.#shownMs < readingMs;
  }

  /** `Enter` alone is a no. */
  #decideCall(text: string, asked: Question, approval: AskedApproval): void {
    const { chat, view, context, record } = this.#parts;
    this.#prompt.set('');
    if (this.#isTooEarly || record === null) return;
    const answer = approvalAnswer(text, approval);
    if (answer === null) return chat.say(say`! ${approvalPrompt(approval)}\n`);
    this.#prompts.answered(asked);
    view.answering(asked);
    this.#do(async () => {
      const { decided } = await import('./decide-call.ts');
      chat.say(
        await decided(answer, context.home, record).catch((error: unknown) => {
          this.#giveBack('', asked);
          throw error;
        }),
      );
    });
  }

  #submitLine(): void {
    const prompt = this.#prompt;
    const { text } = prompt;
    const { asked } = this.#prompts;
    if (asked?.approval !== undefined && !isCommand(text)) return this.#decideCall(text, asked, asked.approval);
    const { context, chat, view, history } = this.#parts;
    const isText = text.trim() !== '' && !isCommand(text);
    if (isText && asked !== null && view.question?.waitId !== asked.waitId)
      return chat.say(say`that question does not wait any more; Ctrl+C clears the line\n`);
    if (isText && asked !== null) this.#prompts.answered(asked);
    else prompt.set('');
    // A question may ask for a secret, and the history is a file.
    const warning = asked === null || isCommand(text) ? history.add(text) : null;
    if (warning !== null) chat.say(render([warning], context));
    this.#submit(text, asked);
  }

  #command(key: Press): void {
    const { view } = this.#parts;
    if (key.name === 'escape') return this.#escape();
    if (!key.ctrl) return;
    if (key.name === 'c') this.#interrupt();
    else if (key.name === 'd') this.#leave();
    else if (key.name === 'l') view.screen.redraw();
  }

  /** Cancels the task that runs. The second Esc takes back into the line the last message that waited at the first Esc. */
  #escape(): void {
    const { chat, view } = this.#parts;
    const nowMs = performance.now();
    const isSecond = nowMs - this.#lastEscapeMs < twiceMs;
    this.#lastEscapeMs = isSecond ? -twiceMs : nowMs;
    const waited = this.#lastWaiting;
    this.#lastWaiting = isSecond ? null : (chat.waiting.at(-1) ?? null);
    if (isSecond && waited !== null) {
      this.#do(async () => {
        await chat.cancel(waited.taskId);
        this.#giveBack(lineOf(waited), null);
      });
    } else if (view.runningTask !== null) this.#do(async () => await chat.cancel());
  }

  #giveBack(text: string, question: Question | null): void {
    this.#prompts.giveBack(text, question);
    this.#parts.view.draw();
  }

  #interrupt(): void {
    const nowMs = performance.now();
    const isSecond = nowMs - this.#lastInterruptMs < twiceMs;
    this.#lastInterruptMs = nowMs;
    if (!this.#prompt.isEmpty) this.#prompt.set('');
    else if (isSecond) this.#leave();
    else if (this.#parts.view.runningTask !== null) this.#escape();
    else this.#parts.chat.say(say`Ctrl+C once more, or Ctrl+D, leaves the chat\n`);
  }

  #submit(typed: string, question: Question | null): void {
    const { chat, view } = this.#parts;
    if (this.#isLeaving) return this.#decideWord(typed.trim());
    if (question?.approval !== undefined && this.#mayDecide && !isCommand(typed))
      return this.#decideCall(typed, question, question.approval);
    if (typed.trim() === '') return;
    if (isCommand(typed)) {
      // Without this, the transcript would have the output of the command and not the command. Whole lines have been echoed by the terminal.
      if (view.screen.isLive) chat.say(say`${inertLine(typed, maxCommand)}\n`);
      return this.#do(async () => await runSlashCommand(typed, this.#scope));
    }
    if (typed.startsWith('!') && question === null) return this.#run(typed);
    this.send(typed.startsWith('//') ? typed.slice(1) : typed, typed, question);
  }

  /** Runs `!<command>`; with `!!` the model reads what it gives. */
  #run(typed: string): void {
    const { chat, view } = this.#parts;
    const command = typed.replace(/^!!?/, '');
    if (command.trim() === '')
      return chat.say(say`run what: !<command>, or !!<command> for the model to read it too\n`);
    this.#do(async () => {
      if (!(await chat.command(command, typed.startsWith('!!'))) && view.screen.isLive) this.#giveBack(typed, null);
    });
  }

  /** Sends a text; what the capsule does not take comes back into the line. */
  send(text: string, typed: string = text, question: Question | null = null): void {
    const { chat, view } = this.#parts;
    this.#do(async () => {
      if (!(await chat.send(text, question)) && view.screen.isLive) this.#giveBack(typed, question);
    });
  }

  /** Leaves a capsule that the chat has joined at once. Asks whether to stop a capsule that was started for the chat. */
  #leave(): void {
    const { chat, isOwn } = this.#parts;
    if (!isOwn) return chat.end('left');
    this.#isLeaving = true;
    chat.say(say`? stop the capsule, or keep it running?\n`);
    // At the end of the input nobody can answer.
    if (this.#lines !== null && process.stdin.readableEnded) this.#stopUnasked();
    else if (this.#lines !== null) chat.say(say`  type stop, keep or back\n`);
  }

  #decide(key: Key): void {
    if (key.kind === 'text') return this.#decideWord(key.text);
    if (key.kind !== 'press') return;
    if (key.name === 'escape') this.#isLeaving = false;
    // A person who presses Ctrl+C or Ctrl+D again wants to leave at once.
    else if (key.ctrl && (key.name === 'c' || key.name === 'd')) this.#do(async () => await this.#stop());
  }

  #decideWord(word: string): void {
    if (/^s/i.test(word)) this.#do(async () => await this.#stop());
    else if (/^k/i.test(word)) this.#parts.chat.end('left');
    else if (/^b/i.test(word)) this.#isLeaving = false;
  }

  async #stop(): Promise<void> {
    await this.#parts.stop();
    this.#parts.chat.end('stopped');
  }

  /** Does one piece of work after the other, in order. A failure is printed, and the chat goes on; a bug ends the process. */
  #do(work: () => Promise<void>): void {
    this.#work = this.#work.then(work).catch((error: unknown) => {
      const failure = renderFailure(error, this.#parts.context);
      if (failure === null) raise(error);
      else this.#parts.chat.say(failure);
    });
  }

  #rows(): LiveRows {
    const { view } = this.#parts;
    const { liveColumns: columns, maxLiveRows } = view.screen;
    if (this.#isLeaving) return { rows: ['  s stop   k keep it running   Esc back'], cursor: { row: 0, column: 0 } };
    const prompt = this.#prompt;
    const { asked, isSetAside } = this.#prompts;
    const labelOf = ({ approval }: Question): string =>
      approval === undefined ? 'answer> ' : approvalPrompt(approval);
    const label = prompt.isSearching ? '' : asked === null ? '> ' : labelOf(asked);
    const above = isSetAside && !view.screen.isSmall ? [cutToWidth(setAside, columns)] : [];
    const most = Math.min(maxInputRows, Math.max(1, maxLiveRows - 1 - above.length));
    const { rows, cursor } = inputRows(label, (wide, high) => prompt.layout(wide, high), { columns, most });
    if (cursor === null) return { rows: [...above, ...rows], cursor };
    return { rows: [...above, ...rows], cursor: { ...cursor, row: cursor.row + above.length } };
  }
}

/** Shown while a question takes the place of a message that was being typed. */
const setAside = '  the message that was begun comes back after the answer';

/** A text that begins with two slashes is a message that begins with one slash. */
function isCommand(typed: string): boolean {
  return /^\/(?!\/)/.test(typed);
}

const endings = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;
const usualRows = 24;

function rowsOf({ stdout }: CommandContext): number {
  return (stdout.stream as { readonly rows?: number }).rows ?? usualRows;
}
