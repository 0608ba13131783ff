/** Drives Claude Code as the model of a capsule, and reads its output. */

import * as z from 'zod/mini';

import { issueClause } from '@svc/artifacts/manifest/schema-issues.ts';
import { listOf } from '@svc/kit/bounded-lists.ts';
import type { ReportedUsage } from '../driver-notes.ts';
import { describeFirst } from '../driver-lines.ts';
import { addedTokens } from '../spend-meter.ts';
import { serverName, type CliDialect, type CliRequest, type CliDecoder, type CliEvent } from './cli-dialect.ts';

/** Long enough for any tool: how long a call may take is the capsule's to say. */
const toolTimeoutMs = String(24 * 60 * 60 * 1000);

/**
 * Claude Code in print mode, with stream-JSON on both sides. Every flag is one that a version without it refuses: a program that would
 * keep tools or settings of its own does not start.
 */
export const claudeDialect: CliDialect = {
  keyVariable: 'ANTHROPIC_API_KEY',
  loginVariables: ['CLAUDE_CODE_OAUTH_TOKEN'],
  boundsTurns: true,
  start: (request) => ({
    args: [...exchange, ...nothingOfItsOwn, ...choices(request), ...tools(request)],
    env: {
      // Turns off updates and all traffic besides inference.
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(request.maxTokens),
      MCP_TOOL_TIMEOUT: toolTimeoutMs,
      // The model gets all tools at once; the search for more of them is a tool of its own.
      ENABLE_TOOL_SEARCH: 'false',
    },
    stdin: `${JSON.stringify(userMessage(request.prompt))}\n`,
  }),
  decoder: () => new ClaudeDecoder(),
};

const exchange: readonly string[] = [
  '-p',
  '--input-format=stream-json',
  '--output-format=stream-json',
  '--verbose',
  '--include-partial-messages',
];

/** No built-in tools, no settings, hooks or memory of a home that the agent can write, no slash commands; what is not allowed is denied. */
const nothingOfItsOwn: readonly string[] = [
  '--tools=',
  '--setting-sources=',
  '--disable-slash-commands',
  '--permission-mode=dontAsk',
  '--strict-mcp-config',
];

function choices({ model, system, maxTurns, resume }: CliRequest): readonly string[] {
  return [
    `--max-turns=${maxTurns}`,
    ...(model === '' ? [] : [`--model=${model}`]),
    ...(system === '' ? [] : [`--system-prompt=${system}`]),
    ...(resume === null ? [] : [`--resume=${resume}`]),
  ];
}

function tools({ toolsUrl, tokenVariable }: CliRequest): readonly string[] {
  if (toolsUrl === null) return [];
  const headers = { Authorization: `Bearer \${${tokenVariable}}` };
  const config = { mcpServers: { [serverName]: { type: 'http', url: toolsUrl, headers } } };
  return [`--mcp-config=${JSON.stringify(config)}`, `--allowedTools=mcp__${serverName}`];
}

function userMessage(text: string): unknown {
  return { type: 'user', message: { role: 'user', content: [{ type: 'text', text }] } };
}

/** Made when a program is first run: most starts of svc never need them. */
function makeShapes() {
  const typed = z.object({ type: z.string() });

  const init = z.object({
    subtype: z.literal('init'),
    tools: z.nullish(listOf(z.string())),
    mcp_servers: z.nullish(listOf(z.object({ name: z.string(), status: z.string() }))),
  });

  const retry = z.object({ subtype: z.literal('api_retry'), attempt: z.number(), error: z.nullish(z.string()) });

  const partial = z.object({
    parent_tool_use_id: z.nullish(z.string()),
    event: z.object({
      type: z.string(),
      message: z.optional(z.object({ id: z.string() })),
      content_block: z.optional(z.object({ type: z.string() })),
      delta: z.optional(
        z.object({ type: z.optional(z.string()), text: z.optional(z.string()), thinking: z.optional(z.string()) }),
      ),
    }),
  });

  const block = z.object({ type: z.string(), text: z.optional(z.string()), thinking: z.optional(z.string()) });

  const assistant = z.object({
    parent_tool_use_id: z.nullish(z.string()),
    /** Present in a message that the program made up to report a failure. */
    error: z.nullish(z.string()),
    message: z.object({ id: z.string(), content: listOf(block) }),
  });

  const count = z.int().check(z.minimum(0));

  const result = z.object({
    subtype: z.string(),
    is_error: z.boolean(),
    result: z.nullish(z.string()),
    errors: z.nullish(listOf(z.string())),
    stop_reason: z.nullish(z.string()),
    session_id: z.string(),
    usage: z.nullish(
      z.object({
        input_tokens: count,
        output_tokens: count,
        cache_creation_input_tokens: z.nullish(count),
        cache_read_input_tokens: z.nullish(count),
      }),
    ),
  });
  return { typed, init, retry, partial, assistant, result };
}

type Shapes = ReturnType<typeof makeShapes>;
type LineOf<Kind extends keyof Shapes> = z.infer<Shapes[Kind]>;

let made: Shapes | undefined;

function shapes(): Shapes {
  return (made ??= makeShapes());
}

/** Tools of the program that act by themselves: what they do passes no grant, no hook and no trace of the capsule. */
const actingTools: ReadonlySet<string> = new Set(
  'Agent Bash BashOutput Edit Glob Grep KillBash KillShell LS MultiEdit NotebookEdit PowerShell Read Skill SlashCommand Task WebFetch WebSearch Write'.split(
    ' ',
  ),
);

/** One refusal may be a token that the program renews. */
const maxAuthenticationRefusals = 2;

/** Reads what `claude -p --output-format stream-json` writes. */
export class ClaudeDecoder implements CliDecoder {
  /** Messages whose text has come piece by piece; it comes again whole. */
  readonly #streamed = new Set<string>();
  #spoke = false;
  #breaks = false;

  decode(value: unknown): readonly CliEvent[] {
    const typed = shapes().typed.safeParse(value, { error: issueClause });
    if (!typed.success) return [wrong(typed.error)];
    switch (typed.data.type) {
      case 'system':
        return this.#system(value);
      case 'stream_event':
        return read(shapes().partial, value, (line) => this.#partial(line));
      case 'assistant':
        return read(shapes().assistant, value, (line) => this.#assistant(line));
      case 'result':
        return read(shapes().result, value, endOf);
      default:
        return [];
    }
  }

  lastError(): string | null {
    return null;
  }

  #system(value: unknown): readonly CliEvent[] {
    const { subtype } = value as { readonly subtype?: unknown };
    if (subtype === 'init') return read(shapes().init, value, startFault);
    if (subtype === 'api_retry') return read(shapes().retry, value, retryFault);
    return [];
  }

  #partial({ parent_tool_use_id: parent, event }: LineOf<'partial'>): readonly CliEvent[] {
    if (typeof parent === 'string') return [];
    if (event.message !== undefined) this.#streamed.add(event.message.id);
    if (event.type === 'content_block_start' && event.content_block?.type === 'text') this.#breaks = this.#spoke;
    if (event.type !== 'content_block_delta') return [];
    const { type, text, thinking } = event.delta ?? {};
    if (type === 'text_delta') return this.#text(text ?? '');
    return type === 'thinking_delta' ? thought(thinking ?? '') : [];
  }

  #assistant(line: LineOf<'assistant'>): readonly CliEvent[] {
    const { parent_tool_use_id: parent, error, message } = line;
    if (typeof parent === 'string' || typeof error === 'string' || this.#streamed.has(message.id)) return [];
    return message.content.flatMap(({ type, text, thinking }) => {
      if (type === 'thinking') return thought(thinking ?? '');
      if (type !== 'text') return [];
      this.#breaks = this.#spoke;
      return this.#text(text ?? '');
    });
  }

  /** What the model says before a call and after it stands in paragraphs of its own. */
  #text(text: string): readonly CliEvent[] {
    if (text === '') return [];
    const shown = this.#breaks ? `\n\n${text}` : text;
    this.#breaks = false;
    this.#spoke = true;
    return [{ kind: 'text', text: shown }];
  }
}

function thought(text: string): readonly CliEvent[] {
  return text === '' ? [] : [{ kind: 'thinking', text }];
}

function startFault({ tools, mcp_servers: servers }: LineOf<'init'>): readonly CliEvent[] {
  const own = (tools ?? []).filter((name) => actingTools.has(name));
  if (own.length > 0) return [{ kind: 'failed', error: `claude keeps tools of its own: ${own.join(', ')}` }];
  const server = servers?.find(({ name }) => name === serverName);
  if (server === undefined || !['failed', 'needs-auth', 'disabled'].includes(server.status)) return [];
  return [{ kind: 'failed', error: `claude did not reach the tools of the capsule (${server.status})` }];
}

function retryFault({ attempt, error }: LineOf<'retry'>): readonly CliEvent[] {
  if (error !== 'authentication_failed' || attempt < maxAuthenticationRefusals) return [];
  return [{ kind: 'failed', error: 'claude is refused by its provider: authentication_failed' }];
}

function endOf(line: LineOf<'result'>): readonly CliEvent[] {
  const {
    subtype,
    is_error: isError,
    result: text,
    errors,
    stop_reason: stopReason,
    session_id: continuationId,
  } = line;
  const usage = usageOf(line.usage);
  const told = { ...(usage === null ? {} : { usage }), continuationId };
  if (!isError && subtype === 'success') {
    const content = [{ type: 'text', text: text ?? '' }] as const;
    const end = stopReason === 'max_tokens' ? 'max_tokens' : 'end_turn';
    return [{ kind: 'response', response: { content, stopReason: end, ...told } }];
  }
  const said = [...(text ? [text] : []), ...(errors ?? [])].join('; ') || subtype;
  const error =
    subtype === 'error_max_turns' ? `claude used up inference.max_turns: ${said}` : `claude failed: ${said}`;
  return [{ kind: 'response', response: { content: [], stopReason: 'error', error, ...told } }];
}

/** What was read from a cache counts as read. */
function usageOf(usage: LineOf<'result'>['usage']): ReportedUsage | null {
  if (!usage) return null;
  const { cache_creation_input_tokens: written, cache_read_input_tokens: read } = usage;
  return {
    inputTokens: addedTokens(usage.input_tokens, written ?? 0, read ?? 0),
    outputTokens: usage.output_tokens,
    ...(typeof read === 'number' ? { cacheReadTokens: read } : {}),
    ...(typeof written === 'number' ? { cacheWriteTokens: written } : {}),
  };
}

function read<Line>(
  shape: z.ZodMiniType<Line>,
  value: unknown,
  use: (line: Line) => readonly CliEvent[],
): readonly CliEvent[] {
  const parsed = shape.safeParse(value, { error: issueClause });
  return parsed.success ? use(parsed.data) : [wrong(parsed.error)];
}

function wrong(error: z.core.$ZodError): CliEvent {
  return { kind: 'failed', error: `claude wrote a line of another shape: ${describeFirst(error)}` };
}
