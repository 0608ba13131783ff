/** Turns events and answers of hooks into the records of their WIT interface and back. */

import { isAnything, isListOf, isObjectOf, isText, isVariantOf } from '@svc/kit/guards.ts';
import { shortened } from '@svc/kit/diagnostics/printable.ts';
import { withDigits } from '@svc/kit/exact-json.ts';
import { holdsFewItems, maxList } from '@svc/protocol/json-object.ts';
import { decodeMessage, encodeBlock, encodeMessage, isWitMessage } from '../model/wit-driver.ts';
import type { Message, ToolDefinition } from '../model/driver.ts';
import { commandWords } from '../tools/shell-command.ts';
import type { FinishedTurn, FullContext, HookedTask, JudgedCall, TaskEnd } from './session-hooks.ts';

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

const isOutcome = isVariantOf({
  observed: isAnything,
  proceed: isAnything,
  unchanged: isAnything,
  accepted: isAnything,
  'write-manifests': isListOf(isObjectOf({ name: isText, content: isText })),
  artifact: isObjectOf({ content: isText }),
  deny: isText,
  'replace-context': isListOf(isWitMessage),
  'reopen-task': isText,
  err: isAnything,
});

/** The most characters that a hook may commit at once. More than that is an error of the hook, never cut. */
const maxCharacters = {
  'write-manifests': 16 * 1024 * 1024,
  artifact: 256 * 1024,
  deny: 8 * 1024,
  'replace-context': 16 * 1024 * 1024,
  'reopen-task': 64 * 1024,
} as const;

/** How many characters of a failure are kept in the hook's own words: each failure is a line of the trace. */
const maxError = 16 * 1024;

/** What a function of `svc:hook/lifecycle` gave. */
export function decodeAnswer(value: unknown): HookAnswer {
  if (value === undefined) return { kind: 'observed' };
  if (!holdsFewItems(value)) return { kind: 'error', error: `it answered lists of more than ${maxList} items` };
  if (!isOutcome(value)) return { kind: 'error', error: 'it answered something that is not an outcome' };
  switch (value.tag) {
    case 'err':
      return { kind: 'error', error: reasonOf(value.val) };
    case 'write-manifests':
      return bounded(
        { kind: value.tag, files: value.val },
        value.val.reduce((sum, file) => sum + file.content.length, 0),
      );
    case 'artifact':
      return bounded({ kind: value.tag, content: value.val.content }, value.val.content.length);
    case 'deny':
      return bounded({ kind: value.tag, reason: value.val }, value.val.length);
    case 'replace-context':
      return bounded({ kind: value.tag, messages: value.val.map(decodeMessage) }, JSON.stringify(value.val).length);
    case 'reopen-task':
      return bounded({ kind: value.tag, feedback: value.val }, value.val.length);
    default:
      return { kind: 'observed' };
  }
}

function bounded(given: Exclude<HookOutcome, { kind: 'observed' }>, characters: number): HookAnswer {
  const most = maxCharacters[given.kind];
  if (characters <= most) return given;
  return { kind: 'error', error: `its ${given.kind} is of ${characters} characters, ${most} is the most` };
}

function reasonOf(said: unknown): string {
  if (typeof said !== 'string' || said === '') return 'it gave no reason';
  return shortened(said, maxError);
}

/** The session as its hooks see it. */
export interface HookedSession {
  readonly sessionId: string;
  readonly capsule: string;
  readonly version: string;
}

/** What a hook receives, as the records of `svc:hook/types` (packages/guest/wit/deps/svc-hook/hook.wit). */
export class WitEvents {
  readonly session: HookedSession;

  constructor(session: HookedSession) {
    this.session = session;
  }

  stage(tools: readonly ToolDefinition[]): object {
    const definitions = tools.map(({ name, description, inputSchema }) => ({
      name,
      description,
      inputSchema: JSON.stringify(inputSchema),
    }));
    return { session: this.session, tools: definitions };
  }

  taskStart(task: HookedTask, text: string): object {
    return { task: this.#task(task), text };
  }

  inference(task: HookedTask, { turn, model, response, usage }: FinishedTurn): object {
    return {
      task: this.#task(task),
      turn,
      model,
      content: response.content.map(encodeBlock),
      stopReason: response.stopReason,
      usage: { inputTokens: BigInt(usage.inputTokens), outputTokens: BigInt(usage.outputTokens) },
    };
  }

  toolCall(task: HookedTask, call: JudgedCall): object {
    return {
      task: this.#task(task),
      turn: call.turn,
      tool: call.toolName,
      callId: call.callId ?? undefined,
      arguments: withDigits(call.arguments, call.digits),
    };
  }

  /** A command that cannot be split into words never runs; its hooks see it as one word. */
  shell(task: HookedTask, call: JudgedCall): object {
    const command = String(call.arguments['command']);
    const split = commandWords(call.toolName, command);
    const args = split.kind === 'words' ? split.words : [command];
    return { task: this.#task(task), turn: call.turn, command: call.toolName, args };
  }

  compaction(task: HookedTask, { messages, estimatedTokens, maxTokens }: FullContext): object {
    return {
      task: this.#task(task),
      messages: messages.map(encodeMessage),
      estimatedTokens: BigInt(estimatedTokens),
      maxTokens: BigInt(maxTokens),
    };
  }

  taskEnd(task: HookedTask, { state, text }: TaskEnd): object {
    return { task: this.#task(task), state, text: text ?? undefined };
  }

  sessionEnd(status: 'ok' | 'failed' | 'trapped'): object {
    return { session: this.session, status };
  }

  #task({ id, contextId, origin, trusted, attempt }: HookedTask): object {
    return { session: this.session, taskId: id, contextId, origin, trusted, attempt };
  }
}
