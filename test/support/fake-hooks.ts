/** Stands in for the hooks of a session. */

import { EndBudget } from '@svc/session/hooks/blocking-hooks.ts';
import { callHook } from '@svc/session/hooks/hook.ts';
import { realTimer } from './quiet-calls.ts';
import type { Component } from '@svc/components/component.ts';
import type { Complete, Hook } from '@svc/session/hooks/hook.ts';
import { HookSet, type HookSetDeps } from '@svc/session/hooks/hook-set.ts';
import type { HookedTask, JudgedCall } from '@svc/session/hooks/session-hooks.ts';
import { hookDeclaration } from '@svc/artifacts/manifest/hook-declaration.ts';
import type { ArtifactManifest } from '@svc/artifacts/manifest/schema.ts';
import type { TraceEvent } from '@svc/record/trace/events.ts';
import { fakeComponent, type Guest } from '../../packages/components/test/fake-component.ts';

/** What a hook of a test does, and what it declares. */
export interface FakeHook extends Partial<
  Pick<ArtifactManifest, 'binding' | 'execution_mode' | 'commit_policy' | 'on_overflow'>
> {
  readonly name: string;
  /** Given the event's name and record; to throw is to trap, a ComponentFault is passed on. */
  readonly does?: (event: string, argument: unknown, complete: (prompt: string) => Promise<string>) => unknown;
  readonly component?: Component;
}

const quiet: Readonly<Record<string, unknown>> = {
  'on-stage': { tag: 'observed' },
  'on-inference': { tag: 'observed' },
  'on-tool-call': { tag: 'proceed' },
  'on-shell': { tag: 'proceed' },
  'on-compaction': { tag: 'unchanged' },
  'on-task-end': { tag: 'accepted' },
};

/** Hooks whose guests are functions of the test, what they heard, and what was traced of them. */
export class FakeHooks {
  /** `<hook> <event>`, in the order in which guests were called. */
  readonly heard: string[] = [];
  /** `<hook> <event>: <error>` */
  readonly errors: string[] = [];
  readonly stop = new AbortController();
  readonly set: HookSet;

  constructor(
    hooks: readonly FakeHook[],
    { stopBudgetMs = 20_000, ...over }: Partial<HookSetDeps> & { readonly stopBudgetMs?: number } = {},
  ) {
    this.set = new HookSet({
      hooks: hooks.map((hook) => this.#hookOf(hook)),
      session: { sessionId: 'ses_1', capsule: 'demo', version: '1.0.0' },
      complete: refuse,
      call: callHook,
      timer: realTimer,
      record: (event: TraceEvent) => {
        if (event.event_type !== 'hook_error') return;
        this.errors.push(`${event.hook_name} ${event.event}: ${event.error}`);
      },
      keepOutput: () => {},
      writeManifests: async () => null,
      budget: new EndBudget(this.stop.signal, stopBudgetMs),
      drainMs: 20_000,
      ...over,
    });
  }

  #hookOf(hook: FakeHook): Hook {
    const { name, does, component = fakeComponent(this.#guestOf(name, does)) } = hook;
    return { name, declaration: hookDeclaration(hook), component, deadlineMs: 20_000 };
  }

  #guestOf(name: string, does: FakeHook['does'] = () => undefined): Guest {
    return async ({ export: exported, args, imports }) => {
      const event = exported.replace('svc:hook/lifecycle@0.1.0#', '');
      this.heard.push(`${name} ${event}`);
      const complete = async (prompt: string): Promise<string> =>
        (await imports('svc:runtime/inference@0.1.0#complete')({ prompt })) as string;
      return (await does(event, args[0], complete)) ?? quiet[event];
    };
  }
}

const refuse: Complete = () => Promise.reject(new Error('there is no model'));

/** A running task, and what cancels it. */
export function hookedTask(): HookedTask & { readonly cancel: () => void } {
  const controller = new AbortController();
  return {
    id: 'tsk_1',
    contextId: 'ctx_1',
    origin: 'user',
    trusted: true,
    attempt: 1,
    signal: controller.signal,
    cancel: () => controller.abort(),
  };
}

export function judgedCall(kind: 'wasm' | 'shell'): JudgedCall {
  return { toolName: 'git', kind, callId: 'c1', arguments: { command: 'log' }, turn: 1 };
}

/** A guest that never returns. */
export function hang(): Promise<never> {
  return new Promise(() => {});
}
