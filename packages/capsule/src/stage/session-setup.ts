/** What a session begins with, as its journal keeps it and a replay takes it. */

import type { ArtifactManifest, CapsuleManifest } from '@svc/artifacts/manifest/schema.ts';
import type { InstalledArtifact } from '@svc/artifacts/store/installed-artifact.ts';
import type { Conversations } from '@svc/session/loop/conversations.ts';
import type { Tool } from '@svc/session/tools/tool.ts';

/** Where the conversations of a session are kept. */
export type KeptWhere = 'nowhere' | 'in the session' | 'between sessions' | 'continued';

/** Where these conversations are kept; null for a session that has none. */
export function keptWhere(conversations: Conversations | null): KeptWhere {
  if (conversations === null) return 'nowhere';
  if (conversations.isKept === true) return 'between sessions';
  return conversations.isOfOther === undefined ? 'in the session' : 'continued';
}

/** A tool without what it does. */
export type ToolSetup = Pick<
  Tool,
  'name' | 'description' | 'inputSchema' | 'kind' | 'artifact' | 'listedAs' | 'isOwn' | 'permits' | 'callers'
>;

/** A hook without its component. */
export type HookSetup = { readonly name: string } & Pick<
  ArtifactManifest,
  'binding' | 'execution_mode' | 'commit_policy' | 'on_overflow'
>;

/** What the loop of a session reads of its manifest, and where its conversations are kept. */
export interface SettingsSetup {
  readonly inference: CapsuleManifest['inference'];
  readonly lifecycle: CapsuleManifest['lifecycle'];
  readonly conversations: KeptWhere;
  /** Whether it had a key for its provider. */
  readonly hasKey?: boolean;
  /** What its conversations begin with; absent where that is nothing. */
  readonly projectText?: string;
}

export function toolSetup(tool: ToolSetup): object {
  const { name, description, inputSchema, kind, artifact, listedAs, isOwn, permits, callers } = tool;
  return { name, description, inputSchema, kind, artifact, listedAs, isOwn, permits, callers };
}

/** The hooks among the artifacts of a session, in their order. */
export function hookSetups(artifacts: readonly InstalledArtifact[]): readonly HookSetup[] {
  const hooks = artifacts.filter(({ entry }) => entry.runtime === 'hook');
  return hooks.map(({ entry: { name }, manifest }) => {
    const { binding, execution_mode, commit_policy, on_overflow } = manifest;
    return { name, binding, execution_mode, commit_policy, on_overflow };
  });
}
