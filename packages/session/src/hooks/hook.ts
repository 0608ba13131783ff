/** What a hook is, and how one is called. */

import { ComponentFault, type Component } from '@svc/components/component.ts';
import { offeredInterface } from '@svc/components/interface-versions.ts';
import type { CallImports } from '@svc/components/import-log.ts';
import type { HookDeclaration } from '@svc/artifacts/manifest/hook-declaration.ts';
import type { HookEvent } from '@svc/artifacts/manifest/hook-events.ts';
import { decodeAnswer, type HookAnswer } from './wit-hook.ts';

/** Its deadline stands still while a hook waits for the model, so what it can ask of it in one call is bounded too. */
const maxCompletions = 16;

const lifecycle = offeredInterface('svc:hook/lifecycle');

/** `callHook`, or what stands for it. */
export type CallHook = typeof callHook;

export interface HookCall {
  readonly event: HookEvent;
  /** The record of the event. */
  readonly argument: object;
  readonly taskId: string | null;
  /** Each ends the call when it is aborted. */
  readonly signals: readonly AbortSignal[];
}

export interface HookSurroundings {
  readonly complete: Complete;
  /** Keeps what a hook writes to stdout and stderr. */
  readonly keepOutput: (hookName: string, bytes: Uint8Array) => void;
  /** Imports, where they are recorded or played. */
  readonly imports?: CallImports;
}

export type HookReply =
  | HookAnswer
  /** Its component broke off or ran out of memory: an error that the session's status shows. */
  | { readonly kind: 'trapped'; readonly error: string }
  /** One of the signals was aborted before it answered. */
  | { readonly kind: 'stopped' };

/** Calls a hook at one event. Rejects only for a bug. */
export async function callHook(hook: Hook, call: HookCall, surroundings: HookSurroundings): Promise<HookReply> {
  return await underSignals(call.signals, async (signal) => {
    try {
      const value = await hook.component.call({
        export: `${lifecycle}#${call.event}`,
        args: [call.argument],
        host: hostFunctions(hook, { ...call, signal }, surroundings),
        deadlineMs: hook.deadlineMs,
        signal,
        ...(surroundings.imports === undefined ? {} : { imports: surroundings.imports }),
      });
      return decodeAnswer(value);
    } catch (error) {
      if (!(error instanceof ComponentFault)) throw error;
      return signal.aborted ? { kind: 'stopped' } : faultReply(error, hook.deadlineMs);
    }
  });
}

function hostFunctions(
  { name }: Hook,
  { taskId, signal }: Pick<HookCall, 'taskId'> & { readonly signal: AbortSignal },
  { complete, keepOutput }: HookSurroundings,
): Record<string, (...args: never[]) => unknown> {
  let completions = 0;
  return {
    'wasi:cli/output#write': (bytes: Uint8Array) => keepOutput(name, bytes),
    [`${offeredInterface('svc:runtime/inference')}#complete`]: async ({
      system = '',
      prompt,
      maxTokens,
    }: {
      readonly system?: string;
      readonly prompt: string;
      readonly maxTokens?: number;
    }) => {
      completions += 1;
      if (completions > maxCompletions) throw new Error(`a hook gets at most ${maxCompletions} completions a call`);
      return await complete({ system, prompt, maxTokens: maxTokens ?? null }, { hookName: name, taskId, signal });
    },
  };
}

function faultReply(fault: ComponentFault, deadlineMs: number): HookReply {
  switch (fault.kind) {
    case 'trap':
      return { kind: 'trapped', error: `it broke off: ${fault.message}` };
    case 'memory':
      return { kind: 'trapped', error: 'it used up its memory' };
    case 'deadline':
      return { kind: 'error', error: `it did not answer within ${deadlineMs / 1000} s` };
    case 'unavailable':
      return { kind: 'error', error: `it cannot be used: ${fault.message}` };
    case 'canceled':
      return { kind: 'error', error: `it was stopped: ${fault.message}` };
  }
}

/** Does `work` under a signal that is aborted with the first of `signals`, and once the work is over; holds on to none of them after it. */
export async function underSignals<T>(
  signals: readonly AbortSignal[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const linked = new AbortController();
  const abort = (): void => linked.abort();
  for (const signal of signals) signal.addEventListener('abort', abort, { once: true });
  if (signals.some((signal) => signal.aborted)) abort();
  try {
    return await work(linked.signal);
  } finally {
    for (const signal of signals) signal.removeEventListener('abort', abort);
    abort();
  }
}

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
  /** With null the model writes as many as the capsule lets it. */
  readonly maxTokens: number | null;
}

/** On whose behalf a completion is made. */
export interface CompletionAsker {
  readonly hookName: string;
  /** It is null outside of a task. */
  readonly taskId: string | null;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** The component of the driver broke off during a completion; the session's status reports it. */
export class DriverTrap extends Error {}

/** One completion through the capsule's driver; rejects with an Error whose message the hook reads. */
export type Complete = (request: CompletionRequest, asker: CompletionAsker) => Promise<string>;
