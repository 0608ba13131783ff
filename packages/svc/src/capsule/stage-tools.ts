import type { InstalledArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import { createShellTools } from '../tools/shell-tool.ts';
import { createSkillTool } from '../tools/skill-tool.ts';
import type { Tool } from '../tools/tool.ts';
import { createWasmTool } from '../tools/wasm-tool.ts';
import { capsuleProcesses, grantsOf, type StageParts } from './stage-parts.ts';

/** What the model of a session can call: artifacts of role `tool` and `skill`, the commands of the shell grant, and what `svc` itself offers. */
export async function stageTools(parts: StageParts): Promise<readonly Tool[]> {
  const tools: Tool[] = [];
  for (const artifact of parts.launch.artifacts) tools.push(...(await toolsOf(artifact, parts)));
  return [...tools, ...shellTools(parts), ...(await planTools(parts)), ...(await delegationTools(parts))];
}

async function toolsOf(artifact: InstalledArtifact, parts: StageParts): Promise<readonly Tool[]> {
  const { runtime } = artifact.entry;
  if (runtime === 'skill') {
    const { name, description } = artifact.manifest;
    return [createSkillTool({ name, description, text: artifact.skillText ?? '' })];
  }
  if (runtime !== 'tool') return [];
  switch (artifact.manifest.implementation) {
    case 'wasm':
      return [wasmTool(artifact, parts)];
    case 'native':
      return [await (await import('./stage-programs.ts')).nativeTool(artifact, parts)];
    case 'mcp':
      return await (await import('./stage-programs.ts')).mcpTools(artifact, parts);
  }
}

function wasmTool(artifact: InstalledArtifact, { launch, components }: StageParts): Tool {
  const { name, description, input_schema: inputSchema = anyObject } = artifact.manifest;
  const grants = grantsOf(launch, name);
  const component = components.open(artifact, grants);
  return createWasmTool({ name, description, inputSchema, component, deadlineMs: grants.deadlineSecs * 1000 });
}

function shellTools({ launch, directories, logs, processes, background }: StageParts): readonly Tool[] {
  const { shellAllow, envAllow } = launch.grants;
  if (shellAllow.length === 0) return [];
  return createShellTools(shellAllow, {
    launcher: processes.launcher(capsuleProcesses(launch.grants)),
    env: processes.environment(envAllow),
    sessionDirectory: directories.session,
    logs,
    background,
  });
}

async function planTools(parts: StageParts): Promise<readonly Tool[]> {
  if (!parts.launch.grants.planSubmit) return [];
  return [(await import('./stage-plan.ts')).planTool(parts)];
}

/** Only where there is a capsule to delegate to (D2 "`delegate-task` tool"). */
async function delegationTools({ launch, delegations }: StageParts): Promise<readonly Tool[]> {
  const [first, ...more] = launch.grants.spawnAllow;
  if (delegations === null || first === undefined) return [];
  const { createDelegateTaskTool } = await import('../delegation/delegate-task-tool.ts');
  return [createDelegateTaskTool([first, ...more], delegations)];
}

const anyObject = { type: 'object' } as const;
