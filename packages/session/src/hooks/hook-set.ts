/** Sends what happens in a session to all its hooks, and takes their answers. */

import type { HookEvent } from '@svc/artifacts/manifest/hook-events.ts';
import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import { shortened } from '@svc/kit/diagnostics/printable.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import type { InferenceRequest } from '../model/driver.ts';
import type { CallVerdict } from '../tools/tool.ts';
import { AsyncHooks } from './async-hooks.ts';
import {
  askInOrder,
  type Asked,
  type AskDeps,
  type AskedEvent,
  type EndBudget,
  graceAfter,
  type HookTimer,
  PendingArtifacts,
} from './blocking-hooks.ts';
import { DriverTrap, type CallHook, type Complete, type Hook } from './hook.ts';
import type {
  CompactionVerdict,
  FinishedTurn,
  FullContext,
  HookArtifact,
  HookedTask,
  JudgedCall,
  CapsuleHooks,
  TaskEnd,
  TaskEndVerdict,
} from './session-hooks.ts';
import { type ManifestFile, WitEvents, type HookedSession } from './wit-hook.ts';

export interface HookSetDeps {
  /** In the order of the manifest. */
  readonly hooks: readonly Hook[];
  readonly session: HookedSession;
  readonly complete: Complete;
  readonly call: CallHook;
  readonly timer: HookTimer;
  /** Throws the Diagnostic of a trace that cannot be written. */
  readonly record: (event: TraceEvent) => void;
  readonly keepOutput: (hookName: string, bytes: Uint8Array) => void;
  /** Gives why the files could not be written. */
  readonly writeManifests: (files: readonly ManifestFile[]) => Promise<string | null>;
  /** What all hooks together get to be waited for once the session was asked to stop. */
  readonly budget: EndBudget;
  /** How long async hooks may take at the end of a session to hear what they have not heard yet. */
  readonly drainMs: number;
}

const maxError = 2_000;

/** Each warm component is a thread that holds some 20 MB. */
const maxWarmed = 4;
const duringTurns = ['on-inference', 'on-tool-call', 'on-shell'] as const;

/** The hooks of a session, made of components. */
export class HookSet implements CapsuleHooks {
  readonly #deps: HookSetDeps;
  readonly #events: WitEvents;
  readonly #blocking: readonly Hook[];
  readonly #async: AsyncHooks;
  /** What a task waits for first: made ready while the model thinks. */
  readonly #soon: readonly Hook[];
  readonly #ask: AskDeps;
  readonly #artifacts = new PendingArtifacts();
  /** Who committed last at an event, for what becomes of it. */
  readonly #committed = new Map<HookEvent, string>();
  #trapped = false;
  #lost: Diagnostic | null = null;

  constructor(deps: HookSetDeps) {
    const { budget, call, keepOutput, timer } = deps;
    const complete: Complete = (request, asker) => this.#complete(request, asker);
    this.#deps = deps;
    this.#events = new WitEvents(deps.session);
    this.#ask = {
      call,
      timer,
      surroundings: { complete, keepOutput },
      budget,
      reports: {
        failed: (hookName, event, error) => this.#failed(hookName, event, error),
        trapped: () => (this.#trapped = true),
        lost: (diagnostic) => (this.#lost ??= diagnostic),
      },
    };
    this.#blocking = deps.hooks.filter(({ declaration }) => declaration.mode === 'blocking');
    this.#soon = this.#blocking
      .filter(({ declaration: { events } }) => duringTurns.some((event) => events.has(event)))
      .slice(0, maxWarmed);
    const listeners = deps.hooks.filter(({ declaration }) => declaration.mode === 'async');
    this.#async = new AsyncHooks(listeners, this.#ask);
  }

  get trapped(): boolean {
    return this.#trapped;
  }

  async stage(tools: InferenceRequest['tools']): Promise<void> {
    const asked = this.#atSession('on-stage', () => this.#events.stage(tools));
    for await (const answer of this.#asked(asked)) {
      if (answer.kind !== 'answered' || answer.outcome.kind !== 'write-manifests') continue;
      const refused = await this.#deps.writeManifests(answer.outcome.files);
      if (refused !== null) this.#failed(answer.hook.name, 'on-stage', refused);
    }
  }

  async sessionStarted(): Promise<void> {
    await this.#observe(this.#atSession('on-session-start', () => this.#events.session));
  }

  async sessionEnded(status: 'ok' | 'failed' | 'trapped'): Promise<void> {
    const asked = this.#atSession('on-session-end', () => this.#events.sessionEnd(status));
    const asyncEnd = this.#async.end(asked, this.#deps.drainMs);
    // It may reject while the blocking hooks are asked; whatever it comes to is awaited after them.
    asyncEnd.catch(() => {});
    try {
      for await (const _ of askInOrder(this.#bound('on-session-end'), asked, this.#ask));
    } finally {
      await asyncEnd;
    }
    this.#throwIfLost();
  }

  async taskStarted(task: HookedTask, text: string): Promise<void> {
    await this.#observe(this.#atTask('on-task-start', task, () => this.#events.taskStart(task, text)));
    for (const { component } of this.#soon) component.warm();
  }

  async inferred(task: HookedTask, turn: FinishedTurn): Promise<void> {
    const asked = this.#atTask('on-inference', task, () => this.#events.inference(task, turn));
    for await (const answer of this.#asked(asked)) {
      if (answer.kind !== 'answered' || answer.outcome.kind !== 'artifact') continue;
      const refused = this.#artifacts.keep(task.id, answer.hook, answer.outcome.content);
      if (refused !== null) this.#failed(answer.hook.name, 'on-inference', refused);
    }
  }

  /** Asks `on-tool-call`, and for a command that it lets pass `on-shell` as well. The first refusal is the verdict. */
  async judgeCall(task: HookedTask, call: JudgedCall): Promise<CallVerdict> {
    const { kind } = call;
    const verdict = await this.#recorder(this.#atTask('on-tool-call', task, () => this.#events.toolCall(task, call)));
    if (verdict.kind === 'deny' || kind !== 'shell') return verdict;
    return await this.#recorder(this.#atTask('on-shell', task, () => this.#events.shell(task, call)));
  }

  /** The first hook that replaces the conversation is the last that is asked. */
  async compact(task: HookedTask, context: FullContext): Promise<CompactionVerdict> {
    const event = 'on-compaction';
    let isAsked = false;
    for await (const answer of this.#asked(this.#atTask(event, task, () => this.#events.compaction(task, context)))) {
      isAsked = true;
      const { hook } = answer;
      if (answer.kind === 'failed') return { kind: 'failed', hookName: hook.name, error: answer.error };
      if (answer.kind !== 'answered' || answer.outcome.kind !== 'replace-context') continue;
      this.#committed.set(event, hook.name);
      return { kind: 'replaced', hookName: hook.name, messages: answer.outcome.messages };
    }
    return { kind: isAsked ? 'unchanged' : 'nobody' };
  }

  /** Every hook is asked, also of a canceled task; those that reopen it speak together. After a cancel they have a short time to answer. */
  async taskEnded(task: HookedTask, end: TaskEnd): Promise<TaskEndVerdict> {
    this.#artifacts.forget(task.id);
    const event = 'on-task-end';
    const feedback: string[] = [];
    const argument = (): object => this.#events.taskEnd(task, end);
    const grace = graceAfter(task.signal, this.#deps.timer);
    try {
      const asked = { event, argument, taskId: task.id, canceled: null, grace: grace.signal } as const;
      for await (const answer of this.#asked(asked)) {
        if (answer.kind !== 'answered' || answer.outcome.kind !== 'reopen-task') continue;
        this.#committed.set(event, answer.hook.name);
        feedback.push(answer.outcome.feedback);
      }
    } finally {
      grace.end();
    }
    return feedback.length === 0 ? { kind: 'accepted' } : { kind: 'reopen', feedback: feedback.join('\n\n') };
  }

  get mayReopen(): boolean {
    return this.#bound('on-task-end').some(({ declaration }) => declaration.policies.has('reopen-task'));
  }

  takeArtifacts(taskId: string): readonly HookArtifact[] {
    return this.#artifacts.take(taskId, this.#blocking);
  }

  refused(event: 'on-compaction' | 'on-task-end', reason: string): void {
    this.#failed(this.#committed.get(event) ?? '', event, reason);
  }

  /** Ends what hooks still do. The session closes their components. */
  close(): void {
    this.#async.close();
  }

  #atSession(event: HookEvent, argument: () => object): AskedEvent {
    return { event, argument, taskId: null, canceled: null };
  }

  #atTask(event: HookEvent, task: HookedTask, argument: () => object): AskedEvent {
    return { event, argument, taskId: task.id, canceled: task.signal };
  }

  /** Notifies the async hooks, then asks the blocking ones that are bound to the event. */
  async *#asked(asked: AskedEvent): AsyncGenerator<Asked> {
    this.#throwIfLost();
    if (this.#deps.hooks.length === 0) return;
    await this.#async.tell(asked);
    yield* askInOrder(this.#bound(asked.event), asked, this.#ask);
  }

  #bound(event: HookEvent): readonly Hook[] {
    return this.#blocking.filter(({ declaration }) => declaration.events.has(event));
  }

  async #observe(asked: AskedEvent): Promise<void> {
    for await (const _ of this.#asked(asked));
  }

  async #recorder(asked: AskedEvent): Promise<CallVerdict> {
    for await (const answer of this.#asked(asked)) {
      if (answer.kind === 'canceled') return { kind: 'deny', reason: 'the task was canceled' };
      if (answer.kind === 'failed' && answer.hook.declaration.policies.has('deny')) {
        const { name: by } = answer.hook;
        return { kind: 'deny', reason: `the call was refused: the hook ${by}, which judges it, failed`, by };
      }
      if (answer.kind === 'answered' && answer.outcome.kind === 'deny') {
        return { ...answer.outcome, by: answer.hook.name };
      }
    }
    return { kind: 'proceed' };
  }

  /** A hook takes any failure of what it asks for an answer; one of the trace ends the session. */
  async #complete(...[request, asker]: Parameters<Complete>): Promise<string> {
    try {
      return await this.#deps.complete(request, asker);
    } catch (error) {
      if (error instanceof Diagnostic) this.#lost ??= error;
      if (error instanceof DriverTrap) this.#trapped = true;
      throw error;
    }
  }

  #throwIfLost(): void {
    if (this.#lost !== null) throw this.#lost;
  }

  #failed(hookName: string, event: HookEvent, error: string): void {
    const shown = shortened(error, maxError);
    this.#deps.record({ event_type: 'hook_error', hook_name: hookName, event, error: shown });
  }
}
