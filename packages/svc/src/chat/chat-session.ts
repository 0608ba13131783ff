/** One chat: what is typed goes to the capsule, what happens there is shown. */

import { randomUUID } from 'node:crypto';

import { ClientError } from '@svc/client/client-error.ts';
import type { WatchEvent } from '@svc/client/watch-capsule.ts';
import { Diagnostic, DiagnosticList, raise } from '@svc/kit/diagnostics/diagnostic.ts';
import type { QuestionName } from '@svc/protocol/question.ts';
import type { Snapshot } from '@svc/protocol/live-events.ts';
import type { TaskFacts } from '@svc/protocol/task-object.ts';
import type { RunningRecord } from '@svc/record/sessions/running-record.ts';
import type { GivenMessage } from '@svc/record/running/session-tasks.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { renderFailure } from '@svc/terminal/screen/render-failure.ts';
import { inertLine } from '@svc/terminal/screen/inert-text.ts';
import { say, type Shown } from '@svc/terminal/screen/shown.ts';
import type { SessionEvent } from '../shown/session-event.ts';
import type { SessionView } from '../shown/session-view.ts';
import { type OpenCapsule, isLive } from '../sessions/tasks/open-capsule.ts';
import { behindNotes, isTooLong, notesWanted } from './chat-context.ts';
import { FrameEvents, speakerOf } from './frame-events.ts';
import { type KeptAnswer, type KeptResult, lastOf, maxHeld, noAnswer, type SentMessage } from './kept-results.ts';

/** How a chat ended. */
export type ChatEnd = 'left' | 'stopped' | 'closed' | 'lost' | 'again';

/** Tasks whose message is known to have been shown. */
const maxSaid = 1024;

const ownConversations =
  'each message is a conversation of its own, of which the next one knows nothing; lifecycle.conversation: threaded in the manifest changes that';

/** The capsule of the chat. */
export type ChatCapsule = Pick<OpenCapsule, 'client' | 'follower' | 'ask'>;

export interface ChatParts {
  readonly context: CommandContext;
  readonly capsule: ChatCapsule;
  readonly view: SessionView;
  /** What tasks of before were given to do, as far as that is known here: read once, when a frame of one comes. */
  readonly readPast: () => ReadonlyMap<string, GivenMessage>;
  /** Where the capsule runs, once it does; null for one that is no session of this user. */
  readonly record: () => RunningRecord | null;
}

/**
 * Follows a capsule and acts on it for the person who chats. `follow` shows what happens until the capsule ends or `end` is called; every other method
 * says in the transcript what went wrong, and does not throw.
 */
export class ChatSession {
  readonly #context: CommandContext;
  readonly #capsule: ChatCapsule;
  readonly #view: SessionView;
  readonly #events = new FrameEvents();
  readonly #stop = new AbortController();
  #contextId: string;
  readonly #readPast: ChatParts['readPast'];
  readonly #record: ChatParts['record'];
  readonly #said = new Set<string>();
  /** Answers from here that are not shown yet, by their questions. */
  readonly #answers = new Map<string, string>();
  #past: ReadonlyMap<string, GivenMessage> | null = null;
  #isMissingTold = false;
  /** Whether the capsule takes each message as a conversation of its own. */
  #isStateless = false;
  #end: ChatEnd | null = null;
  #snapshot: Snapshot | null = null;
  #tokens = 0;
  #contextTokens = 0;
  /** The task that writes the notes from which the conversation goes on. */
  #noting: string | null = null;
  /** They stand before the next message. */
  #notes: string | null = null;
  /** It was too long with what was said before it, and is sent again behind the notes. */
  #again: SentMessage | null = null;
  /** The task that the model answered last. */
  #answered: string | null = null;
  #resultCount = 0;
  #results: KeptResult[] = [];
  #sent: SentMessage[] = [];
  #answer: KeptAnswer = noAnswer;
  #streamed: KeptAnswer = noAnswer;

  constructor({ context, capsule, view, readPast, record }: ChatParts, contextId: string) {
    this.#context = context;
    this.#capsule = capsule;
    this.#view = view;
    this.#readPast = readPast;
    this.#record = record;
    this.#contextId = contextId;
  }

  get snapshot(): Snapshot | null {
    return this.#snapshot;
  }

  get tokens(): number {
    return this.#tokens;
  }

  /** The tokens of the last request and its answer, which the next one begins with. */
  get contextTokens(): number {
    return this.#contextTokens;
  }

  /** The number of the last result. */
  get resultCount(): number {
    return this.#resultCount;
  }

  get results(): readonly KeptResult[] {
    return this.#results;
  }

  /** Messages from here that wait, in the order in which they will run. */
  get waiting(): readonly SentMessage[] {
    return this.#sent.filter(({ taskId }) => taskId !== this.#view.runningTask);
  }

  /** The last completed task's answer. */
  get answer(): KeptAnswer {
    return this.#answer;
  }

  get capsule(): ChatCapsule {
    return this.#capsule;
  }

  /** Shows the capsule's frames until it closes its stream, the connection is lost for good, or the chat is ended. */
  async follow(): Promise<ChatEnd> {
    try {
      for await (const event of this.#capsule.follower.watch({ signal: this.#stop.signal, events: true }))
        this.#take(event);
      this.#end ??= 'closed';
      return this.#end;
    } catch (error) {
      if (this.#end !== null) return this.#end;
      if (!(error instanceof ClientError)) throw error;
      this.say(say`! the connection to the capsule is lost: ${inertLine(error.message, 400)}\n`);
      return 'lost';
    }
  }

  /** Ends the chat; the first word counts. */
  end(how: ChatEnd): void {
    this.#end ??= how;
    this.#stop.abort();
  }

  /** The process of the capsule has ended. Nothing is said of one that closed its stream. */
  gone(): void {
    if (this.#end !== null) return;
    const session = this.#snapshot === null ? '' : ` ${inertLine(this.#snapshot.sessionId, 100)}`;
    this.say(say`! the capsule is gone: its process has ended; svc trace show${session} shows how far it came\n`);
    this.end('lost');
  }

  say(rows: Shown): void {
    this.#view.say(rows);
  }

  /**
   * Answers the question that waited when the text was written, and no other that has come meanwhile; without one starts a task. False where the capsule
   * has not taken it.
   */
  async send(text: string, question: SessionView['question']): Promise<boolean> {
    if (question === null) return await this.message(text);
    this.#view.answering(question);
    this.#answers.set(keyOf(question), text);
    const isSent = await this.#try(async () => {
      await this.#answerQuestion(question, text);
      this.#sayAnswer(question);
    });
    this.#answers.delete(keyOf(question));
    return isSent;
  }

  /** Says it once: when the session reports it, so that it stands before its effects, or when the capsule says that it has taken it. */
  #sayAnswer(question: QuestionName): void {
    const text = this.#answers.get(keyOf(question));
    if (this.#answers.delete(keyOf(question))) this.say(say`answer> ${text ?? ''}\n`);
  }

  /** A capsule of before knows an answer by the message that it is. */
  async #answerQuestion({ taskId, waitId }: QuestionName, text: string): Promise<void> {
    const { client } = this.#capsule;
    try {
      await client.answer(taskId, waitId, text);
    } catch (error) {
      if (!(error instanceof ClientError) || error.code !== 'not-served') throw error;
      await client.send(text, { contextId: this.#contextId });
    }
  }

  /** Starts a task, which begins with these skills, also while a question waits; false where the capsule has not taken it. */
  async message(text: string, skills: readonly string[] = []): Promise<boolean> {
    if (this.#snapshot === null && this.#view.question !== null) {
      this.say(say`! this capsule would take the message for the answer: answer its question first\n`);
      return false;
    }
    const notes = this.#notes;
    const given = notes === null ? text : behindNotes(notes, text);
    const isTaken = await this.#give({ text, skills }, async () => await this.#send(given, skills));
    if (isTaken) this.#notes = null;
    return isTaken;
  }

  /** Runs a command in the shell of the capsule; with `isTold` the conversation gets what it gives. False where the capsule has not taken it. */
  async command(command: string, isTold: boolean): Promise<boolean> {
    const { runTyped } = await import('./typed-command.ts');
    const give = async (): Promise<TaskFacts> =>
      await runTyped({ command, isTold, contextId: this.#contextId }, this.#context.home, this.#record());
    return await this.#give({ text: `${isTold ? '!!' : '!'}${command}`, skills: [] }, give);
  }

  async #give(sent: Omit<SentMessage, 'taskId'>, give: () => Promise<TaskFacts>): Promise<boolean> {
    let isTaken = false;
    await this.#try(async () => {
      const { id: taskId, state, message } = await give();
      isTaken = state !== 'rejected';
      if (isTaken && isLive(state)) this.#sent = [...this.#sent, { taskId, ...sent }];
      else if (!isTaken)
        this.say(say`! the capsule takes no message now: ${inertLine(message ?? 'it does not say why', 400)}\n`);
    });
    return isTaken;
  }

  async #send(text: string, skills: readonly string[] = []): Promise<TaskFacts> {
    const options = { contextId: this.#contextId, idempotencyKey: randomUUID(), isTask: true, skills };
    return await this.#capsule.client.send(text, options);
  }

  /** Has the next message begin a conversation of its own. */
  beginAnew(): void {
    this.#contextId = `chat-${randomUUID()}`;
    this.#contextTokens = 0;
    this.#notes = null;
  }

  /** Whether the capsule works for this chat, or a message from here waits. */
  get isBusy(): boolean {
    return this.#view.runningTask !== null || this.#sent.length > 0;
  }

  /** Has the model write notes of the conversation. The next message begins one with these alone. */
  async compact(): Promise<void> {
    if (this.isBusy) return this.say(say`a task runs: Esc cancels it\n`);
    if (this.#isStateless) return this.say(say`there is nothing to sum up: ${ownConversations}\n`);
    await this.#try(async () => {
      const task = await this.#send(notesWanted);
      if (isLive(task.state)) this.#noting = task.id;
      else
        this.say(say`! the capsule takes no message now: ${inertLine(task.message ?? 'it does not say why', 400)}\n`);
    });
  }

  #noted({ state }: Extract<SessionEvent, { kind: 'task-ended' }>): void {
    this.#noting = null;
    const again = this.#again;
    this.#again = null;
    const { text, isCut } = this.#streamed;
    if (state !== 'completed' || text.trim() === '' || isCut)
      return this.say(say`! there are no notes: the conversation stays as it is\n`);
    this.beginAnew();
    this.#notes = text.trim();
    const next = again === null ? 'the next message goes on' : 'the message is sent again, and goes on';
    this.say(say`- ${next} from these notes; what was said before them takes no room any more\n`);
    if (again !== null) this.message(again.text, again.skills).catch(raise);
  }

  /** A message from here that its conversation made too long for the model. One whose task had an answer may have done things already. */
  #tooLong({ taskId, reason }: Extract<SessionEvent, { kind: 'task-ended' }>): SentMessage | null {
    if (!isTooLong(reason) || this.#isStateless || this.#contextTokens === 0 || this.#answered === taskId) return null;
    return this.#sent.find((sent) => sent.taskId === taskId) ?? null;
  }

  #makeRoom(message: SentMessage): void {
    if (this.isBusy) return this.say(say`- the conversation is longer than the model takes: /compact sums it up\n`);
    this.say(say`- the conversation is longer than the model takes: it is summed up, and the message sent again\n`);
    this.#again = message;
    this.compact().catch(raise);
  }

  /** Cancels a task; the running one without an id. */
  async cancel(taskId: string | null = this.#view.runningTask): Promise<void> {
    if (taskId === null) return this.say(say`no task runs\n`);
    await this.#try(async () => {
      await this.#capsule.client.cancel(taskId);
      this.#sent = this.#sent.filter((sent) => sent.taskId !== taskId);
    });
  }

  /** Runs what may fail at the other side, and says what it failed of; whether it did not. */
  async #try(action: () => Promise<void>): Promise<boolean> {
    try {
      await this.#capsule.ask(action);
      return true;
    } catch (error) {
      if (!(error instanceof Diagnostic || error instanceof DiagnosticList)) throw error;
      const shown = renderFailure(error, this.#context);
      if (shown !== null) this.say(shown);
      return false;
    }
  }

  #take(event: WatchEvent): void {
    switch (event.kind) {
      case 'connected':
        this.#isStateless = event.conversationMode === 'stateless';
        if (event.isAgain) this.say(say`- the connection stands again\n`);
        else if (this.#isStateless) this.say(say`- ${ownConversations}\n`);
        return;
      case 'gap':
        return this.say(
          say`! some of what happened is not shown: it came before the connection, or was too fast for it\n`,
        );
      case 'frame':
        this.#sayPast(event.frame.taskId);
        return this.#show(this.#events.ofFrame(event.frame));
      case 'event':
        if (event.event.event === 'snapshot') this.#snapshot = event.event;
        if (event.event.event === 'usage') {
          const { total, inputTokens, outputTokens } = event.event;
          this.#tokens = total.inputTokens + total.outputTokens;
          this.#contextTokens = inputTokens + outputTokens;
          this.#answered = event.event.taskId;
        }
        return this.#show(this.#events.ofEvent(event.event));
      case 'closed':
        return;
    }
  }

  /** The frames of a task from before the connection come without what was said. An older capsule sends no tasks. */
  #sayPast(taskId: string): void {
    if (this.#snapshot === null || this.#said.has(taskId)) return;
    this.#noteSaid(taskId);
    this.#past ??= this.#readPast();
    const given = this.#past.get(taskId);
    if (given !== undefined) {
      const { origin, text } = given;
      this.#view.show({ kind: 'said', taskId, text, by: speakerOf(origin), waiting: 0 });
    } else if (!this.#isMissingTold) {
      this.#isMissingTold = true;
      this.say(say`- earlier messages are not shown: svc trace show ${inertLine(this.#snapshot.sessionId, 100)}\n`);
    }
  }

  #noteSaid(taskId: string): void {
    this.#said.add(taskId);
    const [oldest] = this.#said;
    if (this.#said.size > maxSaid && oldest !== undefined) this.#said.delete(oldest);
  }

  #show(events: readonly SessionEvent[]): void {
    for (const event of events) {
      const tooLong = event.kind === 'task-ended' ? this.#tooLong(event) : null;
      this.#note(event);
      this.#view.show(event);
      if (tooLong !== null) this.#makeRoom(tooLong);
    }
  }

  #note(event: SessionEvent): void {
    switch (event.kind) {
      case 'said':
        return this.#noteSaid(event.taskId);
      case 'task-started':
      case 'turn':
        this.#noteSaid(event.taskId);
        this.#streamed = noAnswer;
        return;
      case 'text': {
        const { text, isCut } = this.#streamed;
        const isRoom = text.length + event.text.length <= maxHeld;
        this.#streamed = isRoom && !isCut ? { text: text + event.text, isCut } : { text, isCut: true };
        return;
      }
      case 'result':
        this.#resultCount += 1;
        this.#results = lastOf([...this.#results, { number: this.#resultCount, result: event.result }]);
        return;
      case 'question-settled':
        // Any other answer is of somebody who was faster.
        if (event.end === 'answered' && event.answer === this.#answers.get(keyOf(event))) this.#sayAnswer(event);
        return;
      case 'task-ended':
        this.#sent = this.#sent.filter(({ taskId }) => taskId !== event.taskId);
        if (event.taskId === this.#noting) return this.#noted(event);
        if (event.state === 'completed' && this.#streamed.text !== '') this.#answer = this.#streamed;
        return;
      default:
        return;
    }
  }
}

function keyOf({ taskId, waitId }: QuestionName): string {
  return `${taskId} ${waitId}`;
}
