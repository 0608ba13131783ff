/** Drives Claude Code as the model of a capsule. */

import { ClaudeDecoder } from './claude-decoder.ts';
import { serverName, type CliDialect, type CliRequest } from './cli-dialect.ts';

/** Long enough for any tool: how long a call may take is the capsule's to say. */
const toolTimeoutMs = String(24 * 60 * 60 * 1000);

/**
 * Claude Code in print mode, with stream-JSON on both sides. Every flag is one that a version without it refuses: a program that would
 * keep tools or settings of its own does not start.
 */
export const claudeDialect: CliDialect = {
  program: 'claude',
  keyVariable: 'ANTHROPIC_API_KEY',
  loginVariables: ['CLAUDE_CODE_OAUTH_TOKEN'],
  boundsTurns: true,
  start: (request) => ({
    args: [...exchange, ...nothingOfItsOwn, ...choices(request), ...tools(request)],
    env: {
      // What is looked up, sent or fetched beside the inference is nobody's wish here.
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(request.maxTokens),
      MCP_TOOL_TIMEOUT: toolTimeoutMs,
      // All tools are told at once; the search for more of them is a tool of its own.
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
