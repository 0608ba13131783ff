import type { Component } from '@svc/components/component.ts';
import type { HookDeclaration } from '@svc/artifacts/manifest/hook-declaration.ts';

/** A hook of the session: a component of the world `svc:worlds/hook` and what it declares. */
export interface Hook {
  readonly name: string;
  readonly declaration: HookDeclaration;
  readonly component: Component;
  /** `capabilities.limits.deadline` of the artifact, 30 s where it declares none. */
  readonly deadlineMs: number;
}

export interface CompletionRequest {
  readonly system: string;
  readonly prompt: string;
  /** Null for as many as the capsule lets its model write. */
  readonly maxTokens: number | null;
}

/** On whose behalf a completion is made. */
export interface CompletionAsker {
  readonly hookName: string;
  /** Null outside of a task. */
  readonly taskId: string | null;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** The component of the driver broke off during a completion, which the session's status tells of. */
export class DriverTrap extends Error {}

/** One completion through the capsule's driver; rejects with an Error whose message the hook reads. */
export type Complete = (request: CompletionRequest, asker: CompletionAsker) => Promise<string>;
