/** Lists the tools of a capsule as its model sees them, without making any of them. */

import type { EffectiveGrants } from '@svc/artifacts/grants/effective-grants.ts';
import type { LoadedManifest } from '@svc/artifacts/manifest/loaded-manifest.ts';
import type { InstalledArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import { systemClock } from '@svc/kit/system-clock.ts';
import { delegateTaskDeclaration } from '@svc/session/delegation/delegate-task-tool.ts';
import { fetchPeerFileDeclaration } from '@svc/session/files/fetch-peer-file-tool.ts';
import { shareFileDeclaration } from '@svc/session/files/share-file-tool.ts';
import { createSubmitPlanTool } from '@svc/session/tools/plan/submit-plan-tool.ts';
import type { ToolSetup } from './session-setup.ts';
import { folderSkills, skillsName } from '../launch/skill-folders.ts';
import { limitSkills } from './skill-lists.ts';
import { skillDeclarations } from './session-skills.ts';
import { commandDeclarations } from './stage-parts.ts';

/** What decides on the tools of a capsule. */
export interface ToolSources {
  readonly loaded: LoadedManifest;
  readonly grants: EffectiveGrants;
  readonly artifacts: readonly InstalledArtifact[];
}

/**
 * The tools of a session, in its order. `listed` gives those of an MCP server, whose list only a server that runs could give. A test holds this to
 * what a session is staged with.
 */
export function declaredTools(
  { loaded, grants, artifacts }: ToolSources,
  listed: (artifact: string) => readonly ToolSetup[],
): readonly ToolSetup[] {
  const [spawned, ...moreSpawned] = grants.spawnAllow;
  const tools: readonly ToolSetup[] = [
    ...artifacts.flatMap((artifact) => ofArtifact(artifact, listed)),
    ...commandDeclarations(grants, loaded.manifest.lifecycle),
    ...(grants.planSubmit ? [submitPlan()] : []),
    ...(spawned === undefined ? [] : [delegateTaskDeclaration([spawned, ...moreSpawned])]),
    ...(loaded.manifest.exports.peer_files === undefined ? [] : [shareFileDeclaration()]),
    ...(grants.peerFetchAllow.length === 0 ? [] : [fetchPeerFileDeclaration()]),
  ];
  return limitSkills(tools, folderSkills(artifacts), (name) => `${skillsName}/${name}/`).tools;
}

function ofArtifact(
  artifact: InstalledArtifact,
  listed: (artifact: string) => readonly ToolSetup[],
): readonly ToolSetup[] {
  const { entry, manifest } = artifact;
  if (entry.runtime === 'skill') {
    const [folder] = folderSkills([artifact]);
    if (folder !== undefined) return skillDeclarations(folder);
    const { name, description } = manifest;
    return [{ name, description, kind: 'skill', inputSchema: { type: 'object', properties: {} } }];
  }
  if (entry.runtime !== 'tool') return [];
  const { implementation: kind, name, description, input_schema: inputSchema = { type: 'object' } } = manifest;
  return kind === 'mcp' ? listed(name) : [{ name, description, inputSchema, kind }];
}

function submitPlan(): ToolSetup {
  const runCapsuleStep = (): Promise<never> => Promise.reject(new Error('a declared tool is never called'));
  return createSubmitPlanTool({ sessionDirectory: '', redact: (text) => text, runCapsuleStep, clock: systemClock });
}
