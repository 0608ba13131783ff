/** Reads the output of Codex. */

import * as z from 'zod/mini';

import { issueClause } from '@svc/artifacts/manifest/schema-issues.ts';
import { describeFirst } from '../driver-lines.ts';
import type { CliDecoder, CliEvent } from './cli-dialect.ts';

/** Made when a program is first run: most starts of svc never need them. */
function makeShapes() {
  const typed = z.object({ type: z.string() });
  const count = z.int().check(z.minimum(0));

  const lines = z.discriminatedUnion('type', [
    z.object({ type: z.literal('thread.started'), thread_id: z.string() }),
    z.object({ type: z.literal('item.completed'), item: z.object({ type: z.string(), text: z.optional(z.string()) }) }),
    z.object({
      type: z.literal('turn.completed'),
      usage: z.nullish(z.object({ input_tokens: count, output_tokens: count })),
    }),
    z.object({ type: z.literal('turn.failed'), error: z.object({ message: z.string() }) }),
    z.object({ type: z.literal('error'), message: z.string() }),
  ]);
  return { typed, lines };
}

let made: ReturnType<typeof makeShapes> | undefined;

function shapes(): ReturnType<typeof makeShapes> {
  return (made ??= makeShapes());
}

type Line = z.infer<ReturnType<typeof makeShapes>['lines']>;
type LineOf<Type extends Line['type']> = Extract<Line, { readonly type: Type }>;

const knownTypes: ReadonlySet<string> = new Set<Line['type']>([
  'thread.started',
  'item.completed',
  'turn.completed',
  'turn.failed',
  'error',
]);

/** What the program did by itself, with a tool that its flags leave it. Shown, since nothing else of the capsule tells of it. */
const ownActs: Readonly<Record<string, string>> = {
  command_execution: 'ran a command of its own',
  file_change: 'changed files by itself',
  web_search: 'searched the web by itself',
  collab_tool_call: 'asked another agent of its own',
};

/** Reads what `codex exec --json` writes. An `error` is not its end: it tells of each new attempt to reach the model by one. */
export class CodexDecoder implements CliDecoder {
  #thread: string | null = null;
  #reply = '';
  #spoke = false;
  #error: string | null = null;

  decode(value: unknown): readonly CliEvent[] {
    const typed = shapes().typed.safeParse(value, { error: issueClause });
    if (!typed.success) return [wrong(typed.error)];
    if (!knownTypes.has(typed.data.type)) return [];
    const parsed = shapes().lines.safeParse(value, { error: issueClause });
    return parsed.success ? this.#line(parsed.data) : [wrong(parsed.error)];
  }

  lastError(): string | null {
    return this.#error;
  }

  #line(line: Line): readonly CliEvent[] {
    switch (line.type) {
      case 'thread.started':
        this.#thread = line.thread_id;
        return [];
      case 'item.completed':
        return this.#item(line);
      case 'turn.completed':
        return [this.#end(line)];
      case 'turn.failed':
        return [{ kind: 'response', response: this.#failure(line.error.message) }];
      case 'error':
        this.#error = line.message;
        return [];
    }
  }

  #item({ item: { type, text = '' } }: LineOf<'item.completed'>): readonly CliEvent[] {
    const act = ownActs[type];
    if (act !== undefined) return [{ kind: 'thinking', text: `[codex ${act}]` }];
    if (type === 'reasoning') return text === '' ? [] : [{ kind: 'thinking', text }];
    if (type !== 'agent_message') return [];
    const shown = this.#spoke ? `\n\n${text}` : text;
    this.#spoke = true;
    // Messages before the last lead to a call; the last is the answer.
    this.#reply = text;
    return text === '' ? [] : [{ kind: 'text', text: shown }];
  }

  #end({ usage }: LineOf<'turn.completed'>): CliEvent {
    const told = usage ? { usage: { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens } } : {};
    const content = [{ type: 'text', text: this.#reply }] as const;
    return { kind: 'response', response: { content, stopReason: 'end_turn', ...told, ...this.#continuation() } };
  }

  #failure(message: string): Extract<CliEvent, { readonly kind: 'response' }>['response'] {
    return { content: [], stopReason: 'error', error: `codex failed: ${message}`, ...this.#continuation() };
  }

  #continuation(): { readonly continuationId?: string } {
    return this.#thread === null ? {} : { continuationId: this.#thread };
  }
}

function wrong(error: z.core.$ZodError): CliEvent {
  return { kind: 'failed', error: `codex wrote a line of another shape: ${describeFirst(error)}` };
}
