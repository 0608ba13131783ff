/** Drives Codex as the model of a capsule. */

import { serverName, type CliDialect, type CliRequest } from './cli-dialect.ts';
import { CodexDecoder } from './codex-decoder.ts';

/**
 * Codex in its non-interactive mode, with events as JSON lines. It has no flag for all of its tools: each that acts is switched off by name, and
 * a sandbox of its own that writes nothing is around whatever a version keeps.
 */
export const codexDialect: CliDialect = {
  program: 'codex',
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
      // Of a home that the agent can write; who is signed in is read all the same.
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

/** A name that a version does not know is passed over by it. */
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

/** A basic string of TOML: one of JSON, but for a character that only TOML escapes and for halves of characters. */
function tomlText(text: string): string {
  return JSON.stringify(Buffer.from(text).toString()).replaceAll('\u007f', String.raw`\u007f`);
}
