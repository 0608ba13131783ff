/** Runs the capsule of one session of an editor, in a process of its own that the process which speaks to the editor has started. */

import { join, resolve } from 'node:path';

import type { CapsuleManifest } from '@svc/artifacts/manifest/schema.ts';
import { Diagnostic, diagnosticOf, raise } from '@svc/kit/diagnostics/diagnostic.ts';
import { isLong } from '@svc/kit/yield-to-loop.ts';
import type { ContextId } from '@svc/protocol/ids.ts';
import type { CapsuleDoor } from '@svc/doors/capsule-listener.ts';
import type { Activity } from '@svc/session/task/activity.ts';
import type { Task, TaskSource } from '@svc/session/task/task.ts';
import { redactedJson } from '@svc/record/trace/file-trace.ts';
import type { CommandContext } from '@svc/terminal/screen/command-context.ts';
import { render } from '@svc/terminal/screen/render-failure.ts';
import { jsonLine, say } from '@svc/terminal/screen/shown.ts';
import { runServed, type ServedOptions, type ServedPaths } from '../run-served.ts';
import { maxOrder, type SessionNews, type SessionOrder } from './channel.ts';
import { type KeptSession, KeptSessions } from './kept-session.ts';
import { Lines } from '../lines.ts';
import { SessionUpdates } from './session-updates.ts';

/** Runs until standard input ends; the exit code. `session` is the 32 hex digits of the editor's session. */
export async function runSessionProcess(
  session: string,
  options: ServedOptions,
  context: CommandContext,
): Promise<number> {
  const contextId = `ctx_${session}` as ContextId;
  let manifest: CapsuleManifest | null = null;
  let acp: AcpSession | null = null;
  const lost = new AbortController();
  // Listens from the start: else the end of standard input would be noticed once the capsule is up.
  listen((order) => acp?.take(order));
  return await runServed(options, context, {
    settle: (read) => {
      manifest = { ...read, lifecycle: { ...read.lifecycle, conversation: 'threaded' } };
      return manifest;
    },
    thread: session,
    clientLost: lost.signal,
    onActivity: (activity) => acp?.note(activity),
    askedAt: 'acp',
    onDoor: (door, paths) => {
      if (manifest === null) throw new Error('a capsule that runs has a manifest');
      const tell = (news: SessionNews): void => {
        if (lost.signal.aborted && news.kind === 'update') return;
        const isCut = lost.signal.aborted && news.kind === 'end';
        const told = isCut ? ({ kind: 'failed', turn: news.turn, why: unread } as const) : news;
        context.stdout.write(jsonLine(redacted(told, door)));
        if (context.stdout.untaken <= maxUntaken || lost.signal.aborted) return;
        context.stderr.write(say`svc: ${unread}\n`);
        lost.abort();
      };
      const folder = resolve(context.cwd, options.folder ?? '.');
      const onLost = (why: Diagnostic): void => void context.stderr.write(render([why], context));
      const sessions = new KeptSessions([paths.state]);
      let kept: KeptSession | null = null;
      const unkept = diagnosticOf(() => (kept = sessions.keep(session, folder, door.redact)));
      if (unkept !== null) onLost(unkept);
      acp = new AcpSession({ door, manifest, paths, contextId, kept, onLost }, tell);
      tell({ kind: 'ready' });
    },
  });
}

/** Bytes that the editor has not taken, beside those of one that is on its way to it. Its model could go on for hours. */
const maxUntaken = 64 * 1024 * 1024;
const unread = `the editor has left more than ${maxUntaken} bytes of its messages unread, so its session ends`;

function redacted(news: SessionNews, { redact }: CapsuleDoor): unknown {
  const encoded = JSON.stringify(news);
  return redact(encoded) === encoded ? news : redactedJson(news, redact);
}

function listen(take: (order: SessionOrder) => void): void {
  const lines = new Lines(maxOrder);
  process.stdin.on('data', (bytes: Buffer) => {
    for (const line of lines.read(bytes)) {
      if (line === 'too-long') throw new Error('an order is shorter');
      take(JSON.parse(line.toString()) as SessionOrder);
    }
  });
}

interface AcpSessionParts {
  readonly door: CapsuleDoor;
  readonly manifest: CapsuleManifest;
  readonly paths: ServedPaths;
  /** All prompts belong to one conversation. */
  readonly contextId: ContextId;
  /** It is null where it cannot be kept. */
  readonly kept: KeptSession | null;
  /** Called once, where it cannot be kept. */
  readonly onLost: (why: Diagnostic) => void;
}

/** What an editor asks of a session goes to its board, what happens there to the editor. */
class AcpSession {
  readonly #parts: AcpSessionParts;
  readonly #updates: SessionUpdates;
  readonly #say: (news: SessionNews) => void;
  /** The task of the last prompt, until it is over. */
  #task: Task | null = null;
  /** The number of that prompt. */
  #turn = 0;
  /** It is null once it could not be written. */
  #kept: KeptSession | null;
  /** A prompt that the board has not taken yet. */
  #arriving: { isCanceled: boolean } | null = null;

  constructor(parts: AcpSessionParts, say: (news: SessionNews) => void) {
    const { door, manifest, paths } = parts;
    const { filesystem, shell } = manifest.capabilities;
    this.#parts = parts;
    this.#kept = parts.kept;
    this.#say = say;
    this.#updates = new SessionUpdates(
      {
        editorRoot: join(paths.workdir, filesystem?.scope ?? '.'),
        project: paths.project,
        commands: new Set(shell?.allow),
        contextTokens: manifest.inference.context.max_tokens ?? null,
      },
      (update) => {
        this.#keeping((kept) => kept.add(update));
        say({ kind: 'update', update });
      },
    );
    door.session.activity.files = (task, change) => {
      if (this.#isOurs(task)) this.#updates.changed(change);
    };
  }

  take(order: SessionOrder): void {
    const { board } = this.#parts.door.session;
    if ('turn' in order && order.turn !== null) this.#prompted(order);
    switch (order.kind) {
      case 'prompt':
        return this.#guarded(async () => await this.#prompt(order));
      case 'answer': {
        const { text, turn, blocks } = order;
        const asked = board.find(order.taskId);
        return this.#guarded(async () => {
          const isTaken = asked !== undefined && board.answer(order, { text, sender: editor() });
          if (turn === null) return;
          if (isTaken) [this.#task, this.#turn] = [asked, turn];
          else await this.#prompt({ kind: 'prompt', turn, text, blocks });
        });
      }
      case 'decide':
        return this.#guarded(async () => this.#parts.door.session.approvals?.answer(order, { principal, way: 'acp' }));
      case 'cancel':
        return this.#cancel();
      case 'keep':
        return this.#keeping((kept) => kept.add(order.update));
    }
  }

  note(activity: Activity): void {
    const { task } = activity;
    if (task === null || !this.#isOurs(task)) return;
    this.#updates.note(activity);
    switch (activity.kind) {
      case 'question': {
        const { question } = activity;
        const { approvals } = this.#parts.door.session;
        if (question.approval !== undefined && approvals?.takes('acp') !== true)
          return this.#updates.say(`${question.taskId}/${question.waitId}`, `\n${question.prompt}`);
        return this.#say({ kind: 'question', ...question, prompt: question.prompt.toWellFormed() });
      }
      case 'question-settled':
        return this.#say({ kind: 'question-over', waitId: activity.question.waitId });
      case 'task-settled':
        return task === this.#task ? this.#over(task) : undefined;
      default:
        return;
    }
  }

  #guarded(work: () => Promise<unknown>): void {
    work().catch((error: unknown) => {
      if (!(error instanceof Diagnostic)) return raise(error);
      // The trace cannot be written: the session cannot go on (D1 "Task states" 2).
      this.#parts.door.session.trap(error);
    });
  }

  #prompted({ text, blocks }: Pick<Extract<SessionOrder, { readonly kind: 'prompt' }>, 'text' | 'blocks'>): void {
    this.#keeping((kept) => {
      kept.begin(text);
      for (const content of blocks) kept.add({ sessionUpdate: 'user_message_chunk', content });
    });
  }

  /** A session that cannot be kept goes on: it cannot be opened again then. */
  #keeping(keep: (kept: KeptSession) => void): void {
    if (this.#kept === null) return;
    try {
      keep(this.#kept);
    } catch (error) {
      if (!(error instanceof Diagnostic)) throw error;
      this.#kept = null;
      this.#parts.onLost(error);
    }
  }

  #over(task: Task): void {
    this.#task = null;
    const end = this.#updates.ended(task);
    this.#keeping((kept) => kept.flush());
    this.#say({ turn: this.#turn, ...end });
  }

  /** The editor does not hear of tasks that other clients give to the capsule, whatever they say of their context. */
  #isOurs({ contextId, sender }: Task): boolean {
    return contextId === this.#parts.contextId && (sender === null || sender.principal === principal);
  }

  async #prompt({ turn, text, traceparent }: Extract<SessionOrder, { readonly kind: 'prompt' }>): Promise<void> {
    const { board } = this.#parts.door.session;
    const arriving = { isCanceled: false };
    this.#arriving = arriving;
    const prepared = isLong(text) ? await board.prepare(text) : undefined;
    this.#arriving = null;
    const source: TaskSource = {
      text,
      origin: 'user',
      trust: 'trusted',
      sender: editor(traceparent),
      contextId: this.#parts.contextId,
      ...(prepared === undefined ? {} : { prepared }),
    };
    const { kind, task } = board.submit(source);
    if (kind === 'rejected') return this.#say({ kind: 'failed', turn, why: 'the queue of the capsule is full' });
    if (kind === 'closed') return this.#say({ kind: 'failed', turn, why: 'the session ends' });
    [this.#task, this.#turn] = [task, turn];
    if (arriving.isCanceled) this.#cancel();
  }

  #cancel(): void {
    const task = this.#task;
    if (this.#arriving !== null) this.#arriving.isCanceled = true;
    else if (task !== null) this.#guarded(async () => await this.#parts.door.session.board.cancel(task, principal));
  }
}

/** The editor's user, as the trace knows them. */
const principal = 'acp';

/** The editor's user has started the capsule. */
function editor(traceparent?: string): NonNullable<TaskSource['sender']> {
  return { principal, tags: traceparent === undefined ? {} : { traceparent } };
}
