import { ComponentFault } from '@svc/components/component.ts';
import type { HookEvent } from '@svc/artifacts/manifest/hook-declaration.ts';
import type { Complete, Hook } from './hook.ts';
import { underSignals } from './linked-signal.ts';
import { decodeAnswer, type HookAnswer } from './wit-outcome.ts';

/** Its deadline stands still while a hook waits for the model, so what it can ask of it in one call is bounded too. */
const mostCompletions = 16;

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
}

export type HookReply =
  | HookAnswer
  /** Its component broke off or ran out of memory: an error that the session's status tells of. */
  | { readonly kind: 'trapped'; readonly error: string }
  /** One of the signals was aborted before it answered. */
  | { readonly kind: 'stopped' };

/** Calls a hook at one event. Rejects only for a bug. */
export async function callHook(hook: Hook, call: HookCall, surroundings: HookSurroundings): Promise<HookReply> {
  return await underSignals(call.signals, async (signal) => {
    try {
      const value = await hook.component.call({
        export: `svc:hook/lifecycle@0.1.0#${call.event}`,
        args: [call.argument],
        host: hostFunctions(hook, { ...call, signal }, surroundings),
        deadlineMs: hook.deadlineMs,
        signal,
      });
      return decodeAnswer(value);
    } catch (error) {
      if (!(error instanceof ComponentFault)) throw error;
      return signal.aborted ? { kind: 'stopped' } : faultReply(error, hook.deadlineMs);
    }
  });
}

interface WitCompletion {
  readonly system?: string;
  readonly prompt: string;
  readonly maxTokens?: number;
}

function hostFunctions(
  { name }: Hook,
  { taskId, signal }: Pick<HookCall, 'taskId'> & { readonly signal: AbortSignal },
  { complete, keepOutput }: HookSurroundings,
): Record<string, (...args: never[]) => unknown> {
  let completions = 0;
  return {
    'wasi:cli/output#write': (bytes: Uint8Array) => keepOutput(name, bytes),
    'svc:runtime/inference@0.1.0#complete': async ({ system = '', prompt, maxTokens }: WitCompletion) => {
      completions += 1;
      if (completions > mostCompletions) throw new Error(`a hook gets at most ${mostCompletions} completions a call`);
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
