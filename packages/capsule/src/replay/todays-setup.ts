/** Works out what a session of a project would begin with now, without starting anything or asking a host. */

import { lower } from '@svc/artifacts/grants/effective-grants.ts';
import { encodeScope, type ScopeObject } from '@svc/artifacts/grants/scope-object.ts';
import { chosenTools, serverToolName } from '@svc/artifacts/manifest/chosen-tools.ts';
import { loadWorkspaceConfig } from '@svc/artifacts/manifest/config.ts';
import { declaredArtifacts } from '@svc/artifacts/manifest/declared-artifacts.ts';
import type { KeyPath } from '@svc/artifacts/manifest/key-path.ts';
import { loadCapsuleManifest } from '@svc/artifacts/manifest/load.ts';
import type { LoadedManifest } from '@svc/artifacts/manifest/loaded-manifest.ts';
import { withDiscovered } from '@svc/artifacts/store/discovered-skills.ts';
import { readLock } from '@svc/artifacts/store/lockfile.ts';
import type { StorePlaces } from '@svc/artifacts/store/store-places.ts';
import { resolveArtifacts } from '@svc/artifacts/store/resolve.ts';
import type { Diagnostic } from '@svc/kit/diagnostics/diagnostic.ts';
import type { Environment } from '@svc/kit/environment.ts';
import { recordRedaction } from '@svc/kit/diagnostics/handle-id.ts';
import { redactedJson } from '@svc/record/trace/file-trace.ts';
import { effectiveFloor } from '@svc/sandbox/floor.ts';
import { unheld } from '@svc/sandbox/limits/held-limits.ts';
import type { Setup } from '@svc/session/replay/recorded-history.ts';
import { declaredTools, type ToolSources } from '../stage/declared-tools.ts';
import { manifestScope } from '../launch/manifest-scope.ts';
import { listenerTokenOf, sessionRedactor } from '../launch/session-secrets.ts';
import { headerSecrets } from '../launch/telemetry-secrets.ts';
import { hookSetups, type KeptWhere, type SettingsSetup, type ToolSetup, toolSetup } from '../stage/session-setup.ts';

interface ProjectRequest {
  /** The path of the manifest, as messages name it. */
  readonly file: string;
  readonly env: Environment;
  readonly places: StorePlaces;
}

/** A project as it is now. */
export interface TodaysProject extends ToolSources {
  /** The scope, without anything that the host decides. */
  readonly scope: ScopeObject;
  readonly warnings: readonly Diagnostic[];
  /** Takes current secrets out of a text, as a session would now. */
  readonly redact: (text: string) => string;
}

/**
 * Reads manifest, system prompt, configuration, lock and artifacts. Throws the refusals of `svc run`, except for a missing key of
 * the provider and for variables that only serve to reach a model. Writes nothing: a missing `svc.lock` stays missing.
 */
export async function readProject({ file, env, places }: ProjectRequest): Promise<TodaysProject> {
  const lock = readLock(places.manifestDir);
  const { loaded, warnings: leftOut } = await withDiscovered(
    loadCapsuleManifest({ file, env, purpose: 'replay', needs: decidesReplay }),
    places,
    lock ?? [],
  );
  const workspace = loadWorkspaceConfig({ directory: loaded.directory, env });
  const { grants, warnings } = lower(loaded);
  const artifacts = await resolveArtifacts({
    ...places,
    entries: declaredArtifacts(loaded.manifest),
    manifestFile: file,
    lock: lock === null ? 'ignore' : 'hold',
  });
  const declared = effectiveFloor({
    manifest: grants.containmentFloor ?? undefined,
    workspace: workspace.containment,
    flag: undefined,
  });
  const host = { declared, achieved: declared, floorMet: true, mechanism: '', usernsGrant: '' } as const;
  const listenerToken = listenerTokenOf(env);
  const redact = recordRedaction(
    await sessionRedactor({
      apiKey: loaded.apiKey ?? null,
      ...(loaded.credentials === undefined ? {} : { credentials: loaded.credentials }),
      listenerToken,
      grants,
      references: loaded.references,
      env,
      headers: headerSecrets(env),
    }),
  );
  return {
    loaded,
    grants,
    artifacts,
    redact,
    scope: redactedJson(
      { ...encodeScope(grants, host, unheld(grants.resources).limits), ...manifestScope(loaded) },
      redact,
    ) as ScopeObject,
    warnings: [...loaded.warnings, ...leftOut, ...workspace.warnings, ...warnings],
  };
}

/** Keys of `inference` that only serve to reach the provider: no request holds them, and a replay asks no provider. */
const ofProvider: ReadonlySet<string> = new Set(['endpoint', 'api_key', 'driver']);

function decidesReplay([block, key]: KeyPath): boolean {
  return block !== 'inference' || !ofProvider.has(String(key));
}

/**
 * What a session like `recorded` would begin with in this project now, as its journal would have it: without secrets. The tools of MCP servers
 * are the recorded ones, and a conversation goes on where it did.
 */
export function setupToday(project: TodaysProject, recorded: Setup): Setup {
  const { loaded, artifacts, scope, redact } = project;
  const { inference, lifecycle } = loaded.manifest;
  const before = JSON.parse(recorded.tools) as readonly ToolSetup[];
  const tools = declaredTools(project, (name) => {
    const names = namesToday(artifacts, name);
    return before.filter(({ artifact }) => artifact === name).map((tool) => renamed(tool, name, names));
  });
  const settings: SettingsSetup = {
    inference,
    lifecycle,
    conversations: keptWhere(loaded, recorded),
    ...projectTextOf(loaded, recorded),
  };
  return {
    manifest: redact(loaded.text),
    system: redact(loaded.systemPrompt),
    tools: JSON.stringify(redactedJson(tools.map(toolSetup), redact)),
    grants: JSON.stringify(scope),
    hooks: JSON.stringify(redactedJson(hookSetups(artifacts), redact)),
    settings: JSON.stringify(redactedJson(settings, redact)),
  };
}

function namesToday(artifacts: ToolSources['artifacts'], name: string): ReadonlyMap<string, string> {
  const of = artifacts.find(({ manifest }) => manifest.name === name);
  return of === undefined ? new Map() : chosenTools(of.entry).names;
}

function renamed({ listedAs, ...tool }: ToolSetup, artifact: string, names: ReadonlyMap<string, string>): ToolSetup {
  const own = listedAs ?? tool.name.slice(serverToolName(artifact, '').length);
  const name = names.get(own) ?? own;
  return { ...tool, name: serverToolName(artifact, name), ...(name === own ? {} : { listedAs: own }) };
}

/** The recorded file: that of today is no part of the capsule. */
function projectTextOf({ manifest }: LoadedManifest, recorded: Setup): Pick<SettingsSetup, 'projectText'> {
  const { projectText } = JSON.parse(recorded.settings) as SettingsSetup;
  return manifest.inference.project_text === undefined || projectText === undefined ? {} : { projectText };
}

function keptWhere({ manifest }: LoadedManifest, recorded: Setup): KeptWhere {
  if (manifest.lifecycle.conversation === 'stateless') return 'nowhere';
  const { conversations } = JSON.parse(recorded.settings) as SettingsSetup;
  return conversations === 'nowhere' ? 'in the session' : conversations;
}
