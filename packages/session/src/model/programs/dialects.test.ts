import { describe, expect, it } from 'vitest';

import { claudeDialect } from './claude.ts';
import type { CliRequest } from './cli-dialect.ts';
import { codexDialect } from './codex.ts';

const request: CliRequest = {
  model: 'm-1',
  system: 'You "count".\u007f',
  prompt: 'How many?',
  maxTurns: 7,
  maxTokens: 900,
  resume: null,
  toolsUrl: 'http://127.0.0.1:4711/mcp/abc',
  tokenVariable: 'SVC_MCP_TOKEN',
};
const bare: CliRequest = { ...request, model: '', system: '', toolsUrl: null, resume: 'ses-1' };

describe('a run of claude', () => {
  it('has no tools, settings or commands of its own, and finds those of the capsule with a token that is not in its words', () => {
    expect(claudeDialect.start(request)).toEqual({
      args: [
        '-p',
        '--input-format=stream-json',
        '--output-format=stream-json',
        '--verbose',
        '--include-partial-messages',
        '--tools=',
        '--setting-sources=',
        '--disable-slash-commands',
        '--permission-mode=dontAsk',
        '--strict-mcp-config',
        '--max-turns=7',
        '--model=m-1',
        '--system-prompt=You "count".\u007f',
        '--mcp-config={"mcpServers":{"svc":{"type":"http","url":"http://127.0.0.1:4711/mcp/abc","headers":{"Authorization":"Bearer ${SVC_MCP_TOKEN}"}}}}',
        '--allowedTools=mcp__svc',
      ],
      env: {
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
        CLAUDE_CODE_MAX_OUTPUT_TOKENS: '900',
        MCP_TOOL_TIMEOUT: '86400000',
        ENABLE_TOOL_SEARCH: 'false',
      },
      stdin: '{"type":"user","message":{"role":"user","content":[{"type":"text","text":"How many?"}]}}\n',
    });
  });

  it('goes on with a conversation of its own, and leaves out what the manifest does not say', () => {
    expect(claudeDialect.start(bare).args.slice(5)).toEqual([
      '--tools=',
      '--setting-sources=',
      '--disable-slash-commands',
      '--permission-mode=dontAsk',
      '--strict-mcp-config',
      '--max-turns=7',
      '--resume=ses-1',
    ]);
  });
});

describe('a run of codex', () => {
  it('has every acting tool switched off by name, and needs those of the capsule', () => {
    const { args, env, stdin } = codexDialect.start(request);
    const settings = args.filter((_, index) => args[index - 1] === '-c');
    expect(args.filter((word) => word !== '-c' && !settings.includes(word))).toEqual([
      'exec',
      '--json',
      '--color=never',
      '--skip-git-repo-check',
      '--sandbox=read-only',
      '--ignore-user-config',
      '--ignore-rules',
      '--model=m-1',
      '-',
    ]);
    expect(settings.filter((setting) => !setting.startsWith('features.'))).toEqual([
      'approval_policy="never"',
      'web_search="disabled"',
      'project_doc_max_bytes=0',
      String.raw`developer_instructions="You \"count\".\u007f"`,
      'mcp_servers.svc.url="http://127.0.0.1:4711/mcp/abc"',
      'mcp_servers.svc.bearer_token_env_var="SVC_MCP_TOKEN"',
      'mcp_servers.svc.required=true',
      'mcp_servers.svc.default_tools_approval_mode="approve"',
      'mcp_servers.svc.tool_timeout_sec=86400',
    ]);
    expect(settings).toEqual(
      expect.arrayContaining([
        'features.shell_tool=false',
        'features.unified_exec=false',
        'features.unbounded_connection_retries=false',
      ]),
    );
    expect({ env, stdin }).toEqual({ env: {}, stdin: 'How many?' });
  });

  it('goes on with a thread of its own', () => {
    const { args } = codexDialect.start(bare);
    expect(args.slice(-3)).toEqual(['resume', 'ses-1', '-']);
    expect(args.filter((word) => word.includes('mcp_servers'))).toEqual([]);
    expect(args.filter((word) => word.startsWith('--model'))).toEqual([]);
  });
});
