/** Asks hooks one after another and collects what they may change. */

import { mayCommit } from '@svc/artifacts/manifest/hook-declaration.ts';
import type { HookEvent } from '@svc/artifacts/manifest/hook-events.ts';
import { CallDeadline } from '@svc/components/call-deadline.ts';
import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { CallHook, HookReply, HookSurroundings, Hook } from './hook.ts';
import type { HookAnswer, HookOutcome } from './wit-hook.ts';
import type { HookArtifact } from './session-hooks.ts';

/** One event, for whichever hook is asked. */
export interface AskedEvent {
  readonly event: HookEvent;
  readonly argument: () => object;
  readonly taskId: string | null;
  /** Aborted when nobody waits for an answer any more; null when only the end of the session's time ends the waiting. */
  readonly canceled: AbortSignal | null;
  /** Aborted when the time is over that a cancel leaves to the hooks; absent where it leaves none. */
  readonly grace?: AbortSignal;
}

export type Asked =
  | { readonly hook: Hook; readonly kind: 'answered'; readonly outcome: HookOutcome }
  /** The failure has been reported. */
  | { readonly hook: Hook; readonly kind: 'failed'; readonly error: string }
  /** The task was canceled while the hook thought. */
  | { readonly hook: Hook; readonly kind: 'canceled' };

interface HookReports {
  /** One `hook_error` line. Throws the Diagnostic of a trace that cannot be written. */
  readonly failed: (hookName: string, event: HookEvent, error: string) => void;
  readonly trapped: () => void;
  /** A trace that could not be written where nobody waits for it. */
  readonly lost: (diagnostic: Diagnostic) => void;
}

/** Calls back once after `ms`; the returned function cancels the call. */
export type HookTimer = (name: string, ms: number, callback: () => void) => () => void;

export interface AskDeps {
  readonly call: CallHook;
  readonly surroundings: HookSurroundings;
  readonly budget: EndBudget;
  readonly timer: HookTimer;
  readonly reports: HookReports;
}

/** Asks the hooks one after another, and no further once the caller is done with what it has. */
export async function* askInOrder(hooks: readonly Hook[], asked: AskedEvent, deps: AskDeps): AsyncGenerator<Asked> {
  for (const hook of hooks) {
    const answer = await ask(hook, asked, deps);
    yield answer;
    if (answer.kind === 'canceled') return;
  }
}

async function ask(hook: Hook, asked: AskedEvent, deps: AskDeps): Promise<Asked> {
  const { event, argument, taskId, canceled, grace } = asked;
  const { budget, call, reports, surroundings } = deps;
  const signals = [budget.signal, canceled, grace].filter((signal) => signal instanceof AbortSignal);
  const reply = await budget.during(() => call(hook, { event, argument: argument(), taskId, signals }, surroundings));
  if (reply.kind === 'stopped' && canceled?.aborted === true) return { hook, kind: 'canceled' };
  if (reply.kind === 'trapped') reports.trapped();
  const isLate = reply.kind === 'stopped' && grace?.aborted === true && !budget.signal.aborted;
  const answer = isLate ? lateAfterCancel : judged(hook, event, reply);
  if (answer.kind !== 'error') return { hook, kind: 'answered', outcome: answer };
  reports.failed(hook.name, event, answer.error);
  return { hook, kind: 'failed', error: answer.error };
}

/** What hooks have together from the cancel on where they hear of a canceled task (docs/hooks.md "When a hook fails"). */
const cancelGraceMs = 10_000;
const lateAfterCancel: HookAnswer = {
  kind: 'error',
  error: `it did not answer within ${cancelGraceMs / 1000} s of the cancel`,
};

/** Runs from the moment at which `canceled` is aborted, and aborts `signal` when it is over. Nothing is left of it after `end`. */
export function graceAfter(canceled: AbortSignal, timer: HookTimer): { readonly signal: AbortSignal; end(): void } {
  const over = new AbortController();
  let cancelTimer = (): void => {};
  const begin = (): void => {
    cancelTimer = timer('hooks/cancel', cancelGraceMs, () => over.abort());
  };
  if (canceled.aborted) begin();
  else canceled.addEventListener('abort', begin, { once: true });
  const end = (): void => {
    canceled.removeEventListener('abort', begin);
    cancelTimer();
  };
  return { signal: over.signal, end };
}

/** What a reply comes to at its event, held to what the hook declares to commit (docs/hooks.md "What a hook declares"). */
export function judged({ declaration }: Hook, event: HookEvent, reply: HookReply): HookAnswer {
  if (reply.kind === 'stopped') return { kind: 'error', error: 'it did not answer before the session had to end' };
  if (reply.kind === 'trapped') return { kind: 'error', error: reply.error };
  if (reply.kind === 'error' || reply.kind === 'observed' || mayCommit(declaration, reply.kind, event)) return reply;
  const why =
    declaration.mode === 'async' ? ', and an async hook commits nothing' : ', which its commit_policy does not allow';
  return { kind: 'error', error: `it answered ${reply.kind}${why}` };
}

/**
 * The time that hooks have together once the session is to stop: it runs while at least one of them is waited for, and when it is
 * used up, `signal` is aborted for good, after a call of `onOver`. Before the stop nothing is counted.
 */
export class EndBudget {
  readonly #stop: AbortSignal;
  readonly #left: CallDeadline;
  readonly #over = new AbortController();
  #waited = 0;
  #listens = false;

  constructor(stop: AbortSignal, budgetMs: number, onOver: () => void = () => {}) {
    this.#stop = stop;
    this.#left = new CallDeadline(budgetMs, () => {
      onOver();
      this.#end();
    });
  }

  /** The budget of a session that is run again. `keep` gets the function that ends the budget, to be called when it was over in the recording. */
  static ofRecording(keep: (end: () => void) => void): EndBudget {
    const budget = new EndBudget(new AbortController().signal, 0);
    keep(budget.#end);
    return budget;
  }

  readonly #end = (): void => this.#over.abort(new Error('the session had to end'));

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Awaits `work`, whose time counts. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#waited += 1;
    if (!this.#listens) {
      this.#listens = true;
      this.#stop.addEventListener('abort', () => this.#waited > 0 && this.#left.run(), { once: true });
    }
    if (this.#waited === 1 && this.#stop.aborted) this.#left.run();
    try {
      return await work();
    } finally {
      this.#waited -= 1;
      if (this.#waited === 0 && this.#stop.aborted) this.#left.pause();
    }
  }
}

/** How many artifacts one hook may commit in one attempt at a task. */
const maxOfAHook = 64;

interface Pending extends HookArtifact {
  readonly hook: Hook;
}

/** What hooks have committed to be shown with the result of a task. */
export class PendingArtifacts {
  readonly #byTask = new Map<string, Pending[]>();

  /** Gives why it is not kept. */
  keep(taskId: string, hook: Hook, content: string): string | null {
    const kept = this.#byTask.get(taskId) ?? [];
    if (kept.filter((artifact) => artifact.hook === hook).length >= maxOfAHook) {
      return `a hook commits at most ${maxOfAHook} artifacts a task`;
    }
    this.#byTask.set(taskId, [...kept, { hook, hookName: hook.name, content }]);
    return null;
  }

  /** Hands out those of a task, in the order of `hooks`, and forgets them. */
  take(taskId: string, hooks: readonly Hook[]): readonly HookArtifact[] {
    const kept = this.#byTask.get(taskId) ?? [];
    this.#byTask.delete(taskId);
    return hooks.flatMap((hook) => kept.filter((artifact) => artifact.hook === hook));
  }

  forget(taskId: string): void {
    this.#byTask.delete(taskId);
  }
}
