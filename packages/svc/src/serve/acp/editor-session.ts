/** One session of an editor: its turns, its questions, and the process that runs its capsule. */

import type { AskedApproval } from '@svc/protocol/approval.ts';
import type { Question, QuestionName } from '@svc/protocol/question.ts';
import { asJsonObject } from '@svc/protocol/json-object.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import type { ServedOptions } from '../run-served.ts';
import type { SessionNews, TurnEnd } from './channel.ts';
import type { EditorOutput } from './editor-output.ts';
import type { EditorPeer } from './editor-peer.ts';
import { AcpFault, failed, invalidRequest } from './fault.ts';
import { permissionRequest } from './permission-request.ts';
import type { Prompt } from './prompt.ts';
import { SessionChild } from './session-child.ts';
import { type AcpUpdate, type StopReason, textBlock } from './updates.ts';

/** What the editor can do, as it initialized. */
export interface EditorAbilities {
  /** Puts a form before its user. */
  readonly takesForms: boolean;
}

export interface EditorSessionParts {
  readonly id: string;
  /** Absolute. */
  readonly cwd: string;
  readonly peer: EditorPeer;
  readonly output: EditorOutput;
  readonly abilities: () => EditorAbilities;
  readonly context: CommandContext;
  /** Said with the first prompt. */
  readonly notice: string | null;
  /** Its process has ended without being asked to. */
  readonly onEnd: () => void;
}

interface Turn {
  readonly number: number;
  readonly resolve: (reason: StopReason) => void;
  readonly reject: (fault: AcpFault) => void;
  isCanceled: boolean;
}

/** One prompt at a time. */
export class EditorSession {
  readonly #parts: EditorSessionParts;
  #child: SessionChild | null = null;
  #turn: Turn | null = null;
  #turns = 0;
  #notice: string | null;
  /** A question that was written, as the editor has no form: the next prompt is its answer. */
  #asked: QuestionName | null = null;
  /** The form that is shown. */
  #form: { readonly waitId: string; readonly cancelTimer: AbortController } | null = null;
  /** The last words of an ended process. */
  #lastWords: string | null = null;

  private constructor(parts: EditorSessionParts) {
    this.#parts = parts;
    this.#notice = parts.notice;
  }

  /** Launches the capsule. Throws the fault that the editor is answered with. */
  static async start(parts: EditorSessionParts, options: ServedOptions): Promise<EditorSession> {
    const session = new EditorSession(parts);
    session.#child = await SessionChild.start({ id: parts.id, folder: parts.cwd }, options, parts.context, {
      onNews: (news) => session.#hear(news),
      onEnd: (why) => session.#ended(why),
      output: parts.output,
    });
    if (session.#lastWords !== null) throw failed(endedWith(session.#lastWords));
    return session;
  }

  /** Resolves when the turn is over. Rejects with the fault that it is answered with. */
  async prompt({ text, blocks }: Prompt, traceparent: string | undefined): Promise<StopReason> {
    if (this.#turn !== null) throw invalidRequest('a prompt of this session runs already');
    const child = this.#child;
    if (child === null) throw failed('the capsule of this session has ended');
    const asked = this.#asked;
    this.#asked = null;
    return await new Promise((resolve, reject) => {
      this.#turns += 1;
      const turn = this.#turns;
      this.#turn = { number: turn, resolve, reject, isCanceled: false };
      if (asked !== null) child.send({ kind: 'answer', ...asked, text, blocks, turn });
      else child.send({ kind: 'prompt', turn, text, blocks, ...(traceparent === undefined ? {} : { traceparent }) });
      if (this.#notice !== null) this.#say('notice', this.#notice);
      this.#notice = null;
    });
  }

  /** Cancels also a question that waits for the next prompt. Nothing happens where nothing runs. */
  cancel(): void {
    if (this.#turn !== null) this.#turn.isCanceled = true;
    else if (this.#asked === null) return;
    this.#asked = null;
    this.#form?.cancelTimer.abort();
    this.#child?.send({ kind: 'cancel' });
  }

  /** Cancels what runs, and resolves once the capsule has ended. */
  async close(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    this.cancel();
    await child?.stop();
    this.#settle((turn) => turn.resolve('cancelled'));
  }

  #hear(news: SessionNews): void {
    switch (news.kind) {
      case 'ready':
        return;
      case 'update':
        return this.#update(news.update);
      case 'question':
        return this.#question(news);
      case 'question-over':
        if (this.#asked?.waitId === news.waitId) this.#asked = null;
        if (this.#form?.waitId === news.waitId) this.#form.cancelTimer.abort();
        return;
      case 'end':
      case 'failed':
        // One whose question has ended its turn may end while the next one runs.
        if (news.turn === this.#turn?.number) this.#settle((turn) => endTurn(turn, news));
    }
  }

  #question({ taskId, waitId, prompt, approval }: Question): void {
    if (approval !== undefined) void this.#askPermission(waitId, approval);
    else if (this.#parts.abilities().takesForms) void this.#showForm({ taskId, waitId }, prompt);
    else this.#askInText({ taskId, waitId }, prompt);
  }

  /** The user reads the question, and the turn ends; the next prompt is the answer. */
  #askInText(asked: QuestionName, prompt: string): void {
    this.#say(`${asked.taskId}/${asked.waitId}`, `\n${prompt}`);
    this.#asked = asked;
    this.#settle((turn) => turn.resolve('end_turn'));
  }

  /** Whatever is no choice of an option that was offered denies the call. */
  async #askPermission(waitId: string, approval: AskedApproval): Promise<void> {
    const cancelTimer = new AbortController();
    const form = { waitId, cancelTimer };
    this.#form = form;
    const { id, digest, options } = approval;
    const params = { sessionId: this.#parts.id, ...permissionRequest(approval) };
    try {
      const answer = asJsonObject(await this.#parts.peer.ask('session/request_permission', params, cancelTimer.signal));
      const outcome = asJsonObject(answer?.['outcome']);
      const chosen = outcome?.['outcome'] === 'selected' ? outcome['optionId'] : null;
      // An editor is not asked about other sessions than its own.
      const option = options.find((offered) => offered === chosen && offered !== 'manifest');
      const decision = option === undefined ? 'deny' : 'allow';
      this.#child?.send({ kind: 'decide', id, digest, decision, option: option ?? 'once', note: null });
    } catch (error) {
      if (!(error instanceof AcpFault)) throw error;
      if (cancelTimer.signal.aborted) return;
      this.#child?.send({ kind: 'decide', id, digest, decision: 'deny', option: 'once', note: null });
    } finally {
      if (this.#form === form) this.#form = null;
    }
  }

  async #showForm(asked: QuestionName, message: string): Promise<void> {
    const cancelTimer = new AbortController();
    const form = { waitId: asked.waitId, cancelTimer };
    this.#form = form;
    const params = {
      sessionId: this.#parts.id,
      mode: 'form',
      message,
      requestedSchema: {
        type: 'object',
        properties: { answer: { type: 'string', title: 'Answer' } },
        required: ['answer'],
      },
    };
    try {
      const said = asJsonObject(await this.#parts.peer.ask('elicitation/create', params, cancelTimer.signal));
      const answer = asJsonObject(said?.['content'])?.['answer'];
      if (said?.['action'] === 'accept' && typeof answer === 'string') {
        this.#child?.send({ kind: 'answer', ...asked, text: answer, blocks: [], turn: null });
      } else this.#child?.send({ kind: 'cancel' });
    } catch (error) {
      if (!(error instanceof AcpFault)) throw error;
      // The editor showed no form. An aborted request is one whose question has ended.
      if (!cancelTimer.signal.aborted && this.#child !== null) this.#askInText(asked, message);
    } finally {
      if (this.#form === form) this.#form = null;
    }
  }

  #say(messageId: string, text: string): void {
    const update: AcpUpdate = { sessionUpdate: 'agent_message_chunk', content: textBlock(text), messageId };
    this.#update(update);
    this.#child?.send({ kind: 'keep', update });
  }

  #update(update: AcpUpdate): void {
    this.#parts.peer.notify('session/update', { sessionId: this.#parts.id, update });
  }

  #settle(end: (turn: Turn) => void): void {
    const turn = this.#turn;
    this.#turn = null;
    if (turn !== null) end(turn);
  }

  #ended(lastWords: string): void {
    this.#lastWords = lastWords;
    if (this.#child === null) return;
    this.#child = null;
    this.#form?.cancelTimer.abort();
    const reason = endedWith(lastWords);
    this.#settle((turn) => endTurn(turn, { kind: 'failed', why: reason }));
    this.#parts.onEnd();
  }
}

function endTurn(turn: Turn, end: TurnEnd): void {
  if (turn.isCanceled) turn.resolve('cancelled');
  else if (end.kind === 'end') turn.resolve(end.reason);
  else turn.reject(failed(end.why));
}

function endedWith(lastWords: string): string {
  return `the capsule of this session has ended${lastWords === '' ? '' : `: ${lastWords}`}`;
}
