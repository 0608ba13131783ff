/** What a hook declares: the events it wants and what it may change at them. */

import { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { ArtifactManifest } from './schema.ts';
import { hookEvents, type HookEvent, hookPolicies, type HookPolicy } from './hook-events.ts';

/** The declaration in the manifest of a hook, with the defaults of missing keys. */
export interface HookDeclaration {
  readonly events: ReadonlySet<HookEvent>;
  readonly mode: 'blocking' | 'async';
  readonly policies: ReadonlySet<HookPolicy>;
  /** What happens to an event when the queue of an async hook is full. */
  readonly onOverflow: 'wait' | 'drop';
}

type Declared = Pick<ArtifactManifest, 'binding' | 'execution_mode' | 'commit_policy' | 'on_overflow'>;

export function hookDeclaration(manifest: Declared): HookDeclaration {
  const { binding = hookEvents, execution_mode: mode = 'blocking', on_overflow: onOverflow = 'wait' } = manifest;
  const { commit_policy: policies = [] } = manifest;
  return { events: new Set(listOf(binding)), mode, policies: new Set(listOf(policies)), onOverflow };
}

/** Whether the session waits for a hook at this event and needs it at no other. */
export function hearsOnly({ events, mode }: HookDeclaration, event: HookEvent): boolean {
  return mode === 'blocking' && events.size === 1 && events.has(event);
}

/** Whether a hook may commit something at an event: both have to be declared, and belong together. */
export function mayCommit({ policies }: HookDeclaration, policy: HookPolicy, event: HookEvent): boolean {
  return policies.has(policy) && (hookPolicies[policy] as readonly HookEvent[]).includes(event);
}

/**
 * Returns why a hook cannot be staged as it is declared (docs/hooks.md "What a hook declares"): `E-ART-009` for a policy that belongs to none of its events or to
 * an async hook, `E-ART-010` for a hook that is a program, `E-ART-012` for `on_overflow` of a blocking hook, which has no queue. Returns null for other artifacts.
 */
export function hookProblem(manifest: ArtifactManifest): Diagnostic | null {
  const { name, runtime, implementation } = manifest;
  if (runtime !== 'hook') return null;
  if (implementation === 'native') {
    const hint = 'build it as a component, in component.wasm';
    return new Diagnostic('E-ART-010', `the hook ${name} declares implementation: native`, { hint });
  }
  const { events, mode, policies } = hookDeclaration(manifest);
  if (mode === 'blocking' && manifest.on_overflow !== undefined) {
    const hint = 'remove on_overflow, or set execution_mode: async';
    const message = `the hook ${name} is blocking and declares on_overflow: the session waits for it at each event`;
    return new Diagnostic('E-ART-012', message, { hint });
  }
  for (const policy of policies) {
    const allowed: readonly HookEvent[] = hookPolicies[policy];
    if (mode === 'async') {
      const hint = 'remove commit_policy, or set execution_mode: blocking';
      const message = `the hook ${name} is async and declares commit_policy ${policy}: an async hook commits nothing`;
      return new Diagnostic('E-ART-009', message, { hint });
    }
    if (allowed.some((event) => events.has(event))) continue;
    const bound = `the hook ${name} declares commit_policy ${policy}, but is bound to ${[...events].join(', ')}`;
    const message = `${bound}; ${policy} is committed at ${allowed.join(' or ')} alone`;
    return new Diagnostic('E-ART-009', message, { hint: `add ${allowed[0]} to binding, or remove ${policy}` });
  }
  return null;
}

function listOf<T extends string>(value: T | readonly T[]): readonly T[] {
  return typeof value === 'string' ? [value] : value;
}
