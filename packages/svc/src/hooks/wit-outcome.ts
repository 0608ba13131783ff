import * as z from 'zod/mini';

import { decodeMessage, message } from '../inference/wit-driver.ts';
import type { Message } from '../inference/driver.ts';
import { holdsFewItems } from '@svc/kit/bounded-lists.ts';
import { longestList } from '@svc/protocol/json-object.ts';
import type { Hook } from './hook.ts';
import type { HookArtifact } from './session-hooks.ts';

/** A file that a hook puts beside the trace. */
export interface ManifestFile {
  readonly name: string;
  readonly content: string;
}

/** What a hook answers: nothing, or one thing of the policy it is named after. */
export type HookOutcome =
  | { readonly kind: 'observed' }
  | { readonly kind: 'write-manifests'; readonly files: readonly ManifestFile[] }
  | { readonly kind: 'artifact'; readonly content: string }
  | { readonly kind: 'deny'; readonly reason: string }
  | { readonly kind: 'replace-context'; readonly messages: readonly Message[] }
  | { readonly kind: 'reopen-task'; readonly feedback: string };

export type HookAnswer =
  | HookOutcome
  /** The hook's own failure, in its words or about them. */
  | { readonly kind: 'error'; readonly error: string };

const outcome = z.lazy(() =>
  z.discriminatedUnion('tag', [
    z.object({ tag: z.enum(['observed', 'proceed', 'unchanged', 'accepted']) }),
    z.object({
      tag: z.literal('write-manifests'),
      val: z.array(z.object({ name: z.string(), content: z.string() })),
    }),
    z.object({ tag: z.literal('artifact'), val: z.object({ content: z.string() }) }),
    z.object({ tag: z.literal('deny'), val: z.string() }),
    z.object({ tag: z.literal('replace-context'), val: z.array(message) }),
    z.object({ tag: z.literal('reopen-task'), val: z.string() }),
    z.object({ tag: z.literal('err'), val: z.optional(z.unknown()) }),
  ]),
);

/** The most characters that a hook may commit at once. More than that is an error of the hook, never cut. */
const mostCharacters = {
  'write-manifests': 16 * 1024 * 1024,
  artifact: 256 * 1024,
  deny: 8 * 1024,
  'replace-context': 16 * 1024 * 1024,
  'reopen-task': 64 * 1024,
} as const;

/** Of a failure in a hook's own words, in characters: each event that it fails of is a line of the trace. */
const longestError = 16 * 1024;

/** What a function of `svc:hook/lifecycle` gave. */
export function decodeAnswer(value: unknown): HookAnswer {
  if (value === undefined) return { kind: 'observed' };
  if (!holdsFewItems(value)) return { kind: 'error', error: `it answered lists of more than ${longestList} items` };
  const parsed = outcome.safeParse(value);
  if (!parsed.success) return { kind: 'error', error: 'it answered something that is no outcome' };
  const { data } = parsed;
  switch (data.tag) {
    case 'err':
      return { kind: 'error', error: reasonOf(data.val) };
    case 'write-manifests':
      return bounded(
        { kind: data.tag, files: data.val },
        data.val.reduce((sum, file) => sum + file.content.length, 0),
      );
    case 'artifact':
      return bounded({ kind: data.tag, content: data.val.content }, data.val.content.length);
    case 'deny':
      return bounded({ kind: data.tag, reason: data.val }, data.val.length);
    case 'replace-context':
      return bounded({ kind: data.tag, messages: data.val.map(decodeMessage) }, JSON.stringify(data.val).length);
    case 'reopen-task':
      return bounded({ kind: data.tag, feedback: data.val }, data.val.length);
    default:
      return { kind: 'observed' };
  }
}

function bounded(given: Exclude<HookOutcome, { kind: 'observed' }>, characters: number): HookAnswer {
  const most = mostCharacters[given.kind];
  if (characters <= most) return given;
  return { kind: 'error', error: `its ${given.kind} is of ${characters} characters, ${most} is the most` };
}

function reasonOf(said: unknown): string {
  if (typeof said !== 'string' || said === '') return 'it gave no reason';
  return said.length <= longestError ? said : `${said.slice(0, longestError)}…`;
}

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
