import type { Hook } from './hook.ts';
import type { HookArtifact } from './session-hooks.ts';

/** Of one hook in one attempt at a task. */
const mostOfAHook = 64;

interface Pending extends HookArtifact {
  readonly hook: Hook;
}

/** What hooks have committed to be shown with the result of a task. */
export class PendingArtifacts {
  readonly #byTask = new Map<string, Pending[]>();

  /** Gives why it is not kept. */
  keep(taskId: string, hook: Hook, content: string): string | null {
    const kept = this.#byTask.get(taskId) ?? [];
    if (kept.filter((artifact) => artifact.hook === hook).length >= mostOfAHook) {
      return `a hook commits at most ${mostOfAHook} artifacts a task`;
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
