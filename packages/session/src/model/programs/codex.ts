/** Drives Codex as the model of a capsule, and reads its output. */

import * as z from 'zod/mini';

import { issueClause } from '@svc/artifacts/manifest/schema-issues.ts';
import type { ReportedUsage } from '../driver-notes.ts';
import { describeFirst } from '../driver-lines.ts';
import { serverName, type CliDialect, type CliRequest, type CliDecoder, type CliEvent } from './cli-dialect.ts';

/**
 * Codex in its non-interactive mode, with events as JSON lines. It has no flag for all of its tools: each that acts is switched off by name, and
 * a sandbox of its own that writes nothing is around whatever a version keeps.
 */
export const codexDialect: CliDialect = {
  keyVariable: 'CODEX_API_KEY',
  loginVariables: ['CODEX_HOME'],
  boundsTurns: false,
  start: (request) => ({
    args: [
      'exec',
      '--json',
      '--color=never',
      '--skip-git-repo-check',
      '--sandbox=read-only',
      // HOME is one that the agent can write; Codex finds who is signed in all the same.
      '--ignore-user-config',
      '--ignore-rules',
      ...(request.model === '' ? [] : [`--model=${request.model}`]),
      ...settingsOf(request).flatMap((setting) => ['-c', setting]),
      ...(request.resume === null ? [] : ['resume', request.resume]),
      '-',
    ],
    env: {},
    stdin: request.prompt,
  }),
  decoder: () => new CodexDecoder(),
};

/** A version passes over a name that it does not know. */
const actingFeatures: readonly string[] = [
  'apply_patch_freeform',
  'apps',
  'browser_use',
  'browser_use_external',
  'code_mode',
  'computer_use',
  'goals',
  'hooks',
  'image_generation',
  'in_app_browser',
  'js_repl',
  'memories',
  'multi_agent',
  'plugins',
  'shell_tool',
  'skill_mcp_dependency_install',
  'skill_search',
  'sleep_tool',
  'tool_suggest',
  'unified_exec',
  'view_image',
  'workspace_dependencies',
];

const toolTimeoutSecs = 24 * 60 * 60;

function settingsOf({ system, toolsUrl, tokenVariable }: CliRequest): readonly string[] {
  return [
    'approval_policy="never"',
    'web_search="disabled"',
    // No instructions from files that the agent can write.
    'project_doc_max_bytes=0',
    // A host that is not granted stays so.
    'features.unbounded_connection_retries=false',
    ...actingFeatures.map((name) => `features.${name}=false`),
    ...(system === '' ? [] : [`developer_instructions=${tomlText(system)}`]),
    ...(toolsUrl === null ? [] : serverSettings(toolsUrl, tokenVariable)),
  ];
}

/** Without its tools the program does not start; a call of them needs nobody's word but the capsule's. */
function serverSettings(url: string, tokenVariable: string): readonly string[] {
  const settings = [
    `url=${tomlText(url)}`,
    `bearer_token_env_var=${tomlText(tokenVariable)}`,
    'required=true',
    'default_tools_approval_mode="approve"',
    `tool_timeout_sec=${toolTimeoutSecs}`,
  ];
  return settings.map((setting) => `mcp_servers.${serverName}.${setting}`);
}

/** A basic string of TOML: one of JSON, except for DEL, which only TOML escapes, and for halves of characters. */
function tomlText(text: string): string {
  return JSON.stringify(Buffer.from(text).toString()).replaceAll('\u007f', String.raw`\u007f`);
}

/** Made when a program is first run: most starts of svc never need them. */
function makeShapes() {
  const typed = z.object({ type: z.string() });
  const count = z.int().check(z.minimum(0));

  const lines = z.discriminatedUnion('type', [
    z.object({ type: z.literal('thread.started'), thread_id: z.string() }),
    z.object({ type: z.literal('item.completed'), item: z.object({ type: z.string(), text: z.optional(z.string()) }) }),
    z.object({
      type: z.literal('turn.completed'),
      usage: z.nullish(z.object({ input_tokens: count, output_tokens: count, cached_input_tokens: z.nullish(count) })),
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

/** What the program did by itself, with a tool that its flags leave it. Shown, since nothing else of the capsule reports it. */
const ownActs: Readonly<Record<string, string>> = {
  command_execution: 'ran a command of its own',
  file_change: 'changed files by itself',
  web_search: 'searched the web by itself',
  collab_tool_call: 'asked another agent of its own',
};

/** Reads what `codex exec --json` writes. An `error` is not its end: it announces each new attempt to reach the model by one. */
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
    const told = usage ? { usage: usageOf(usage) } : {};
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

/** What was read from a cache is part of the input. */
function usageOf(usage: NonNullable<LineOf<'turn.completed'>['usage']>): ReportedUsage {
  const { input_tokens: inputTokens, output_tokens: outputTokens, cached_input_tokens: read } = usage;
  return { inputTokens, outputTokens, ...(typeof read === 'number' ? { cacheReadTokens: read } : {}) };
}
