/** Goes on with an ended session: its transcript stands above the prompt, and another session is started for what comes. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { mintSessionId } from '@svc/protocol/ids.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { type LocatedCapsule } from '@svc/record/running/approach-capsule.ts';
import { locateRunning, whenEnded } from '@svc/record/running/locate-running.ts';
import { continuedContext } from '@svc/record/sessions/session-names.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import type { History } from '@svc/terminal/keyboard/history.ts';
import { say, type Shown } from '@svc/terminal/screen/shown.ts';
import { OpenCapsule } from '../sessions/tasks/open-capsule.ts';
import { ChatInput } from './chat-input.ts';
import { type ChatCapsule, ChatSession } from './chat-session.ts';
import { contextPercent } from './chat-context.ts';
import { chatView } from './chat-view.ts';
import { type ChangedModel, ModelChange } from './change-model.ts';
import type { EndedSession } from './ended-session.ts';
import { type OwnCapsule, startCapsule } from './own-capsule.ts';

interface GoingOn {
  readonly context: CommandContext;
  readonly history: History;
  /** Said below the transcript. */
  readonly notes: Shown;
  /** Is sent as soon as the session is there. */
  readonly message: string | null;
  /** Whether it was a task without a manifest, whose model may change. */
  readonly isTask: boolean;
}

/**
 * Shows the transcript and the prompt at once, and starts the session meanwhile: what is typed before it is there waits for it. Resolves with the exit code
 * of the chat, or with that of a session that does not start.
 */
export async function goOn(
  ended: EndedSession,
  { context, history, notes, message, isTask }: GoingOn,
): Promise<number | ChangedModel> {
  const sessionId = mintSessionId(systemClock);
  const capsule = new LateCapsule();
  let located: LocatedCapsule | null = null;
  const view = chatView(context, {
    session: sessionId.slice(-4),
    resultCount: () => chat.resultCount,
    hasLogs: () => true,
    contextPercent: () => contextPercent(located?.record ?? null, chat.contextTokens),
  });
  const chat: ChatSession = new ChatSession(
    { context, capsule, view, readPast: () => new Map(), record: () => located?.record ?? null },
    continuedContext(sessionId),
  );
  let starting: Promise<OwnCapsule | { readonly exit: number }> | null = null;
  let isStopping = false;
  const stop = async (): Promise<void> => {
    isStopping = true;
    chat.say(say`stopping the capsule\n`);
    const own = await starting;
    if (own !== null && 'stop' in own) await own.stop();
  };
  const change = new ModelChange({ chat, context, isOwnTask: isTask });
  const input = new ChatInput({
    context,
    chat,
    view,
    get record() {
      return located?.record ?? null;
    },
    history,
    isOwn: true,
    stop,
    changeModel: change.to,
  });
  let endWatch = (): void => {};
  let own: OwnCapsule | null = null;
  try {
    view.screen.append(ended.transcript);
    view.say(notes);
    view.say(say`goes on with …${ended.suffix} as …${sessionId.slice(-4)} \u00B7 Ctrl+D leaves, /help says the rest\n`);
    input.open();
    if (message !== null) input.send(message);
    view.screen.flush();
    const args = [...(await ended.args()), '--continues', ended.id, '--session-id', sessionId];
    starting = startCapsule(args, { ...context, cwd: ended.cwd }, (rows) => view.say(rows));
    const started = await starting;
    if ('exit' in started) return started.exit;
    own = started;
    located = await locateRunning(context, sessionId);
    capsule.open(await OpenCapsule.open(context, sessionId, { method: 'stream/watch' }));
    if (located.record !== null) endWatch = whenEnded(located.record, () => chat.gone());
    own.attend();
    const end = await chat.follow();
    if (end !== 'again') return await input.ended(end);
    await own.stop();
    return change.of(sessionId);
  } catch (error) {
    // It may have ended before it was asked for anything.
    if (isStopping && error instanceof Diagnostic) return await input.ended('closed');
    await own?.stop();
    throw error;
  } finally {
    endWatch();
    view.close();
    await input.close();
    own?.leave();
  }
}

/** A capsule that is being started: what is asked of it waits until it is there. */
class LateCapsule implements ChatCapsule {
  #opened: OpenCapsule | null = null;
  readonly #ready: Promise<OpenCapsule>;
  #resolve: (capsule: OpenCapsule) => void = () => {};

  constructor() {
    this.#ready = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  open(capsule: OpenCapsule): void {
    this.#opened = capsule;
    this.#resolve(capsule);
  }

  get client(): OpenCapsule['client'] {
    return this.#there.client;
  }

  get follower(): OpenCapsule['follower'] {
    return this.#there.follower;
  }

  get #there(): OpenCapsule {
    if (this.#opened === null) throw new Error('the capsule of this chat is asked before it is there');
    return this.#opened;
  }

  readonly ask: OpenCapsule['ask'] = async (call, method) => await (await this.#ready).ask(call, method);
}
